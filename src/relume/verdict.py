"""What Relume says about one attempt: the closed vocabularies and the verdict record."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from relume.reasons import Reason


class Kind(StrEnum):
    """What happened to the attempt (metrics section 1, plus what a verdict may also say)."""

    CRASH = "crash"
    HANG = "hang"
    STRAGGLER = "straggler"
    NUMERIC = "numeric"
    BENIGN = "benign"
    UNKNOWN = "unknown"

    @property
    def is_failure(self) -> bool:
        """Whether this kind claims that something went wrong with the job itself."""
        return self in {Kind.CRASH, Kind.HANG, Kind.STRAGGLER}


class Domain(StrEnum):
    """Who or what has to change for the failure to go away."""

    WORKLOAD = "workload"
    PLATFORM = "platform"
    HARDWARE = "hardware"
    NETWORK = "network"
    FACILITY = "facility"
    SCHEDULER = "scheduler"
    UNKNOWN = "unknown"


class Retry(StrEnum):
    """Whether the same job can be expected to pass when it is started again."""

    YES = "yes"
    NO = "no"
    UNCLEAR = "unclear"


class Health(StrEnum):
    """The three values of every judgement; *unknown* always carries a reason."""

    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Locator:
    """Where something is: any of node, rank, local rank, GPU, NIC. All null means nowhere known.

    `node` is a host name or a bare IP as printed; `gpu` is the index, UUID or PCI id as printed;
    `nic` is a device name such as ``mlx5_2`` with its port where printed.
    """

    node: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    gpu: str | None = None
    nic: str | None = None

    def __bool__(self) -> bool:
        return any(
            value is not None
            for value in (self.node, self.rank, self.local_rank, self.gpu, self.nic)
        )


@dataclass(frozen=True, slots=True)
class Mention:
    """A locator read in one line, without blame. `line` is 0-based within `file`."""

    where: Locator
    line: int
    file: str


JOB_STREAMS = frozenset({"stdout", "stderr"})
"""Streams of the job itself: the log of a kernel or a controller goes on whatever the job does."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One line that supports the verdict. `event_time` is UTC microseconds, null if unknown.

    `stream` says who wrote the log: ``stdout`` and ``stderr`` are the job's own.
    """

    rule: str
    role: str
    file: str
    line: int
    text: str
    event_time: int | None = None
    stream: str = "stdout"

    @property
    def is_forgeable(self) -> bool:
        """Whether the job itself may have written the line: such a line accuses no node for good.

        Only others feed a ledger of nodes or a drain (DESIGN 4.2).
        """
        return self.stream in JOB_STREAMS


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a detector measured that made it speak, against what it allows.

    Attributes
    ----------
    name
        `silence_seconds` (without a new step), or `slow_ratio` (how many times as long steps take).
    value, limit
        What was measured, and what was allowed at that time.
    since
        When it began, UTC microseconds; null is not known.
    setting
        The setting that, raised (or for a budget lowered), allows more; null where none does.
    """

    name: str
    value: float
    limit: float
    since: int | None = None
    setting: str | None = None


@dataclass(frozen=True, slots=True)
class Unrecognised:
    """One line that no rule knows, shown since it is unusual. It proves nothing, blames nobody.

    `line` is 0-based within `file`. `count` is how many lines like it were looked at,
    `lines_before_end` how many lines its log goes on after it. `why` says in words what is unusual.
    `event_time` is UTC microseconds, null if unknown. `where` is who printed such lines, empty
    where that isn't known or several did; `is_trouble` whether it has words for what goes wrong.
    """

    file: str
    line: int
    text: str
    count: int
    lines_before_end: int
    why: tuple[str, ...]
    event_time: int | None = None
    where: Locator = Locator()
    is_trouble: bool = False


@dataclass(frozen=True, slots=True)
class Stuck:
    """The work that holds up a job, by its collective dumps.

    `pattern` says how (`docs/formats/dumps.md`). `culprits` are all who are named, the most
    suspicious first; `suspects` ranks of which it can't be told which it is. `waiting` are the
    ranks in the work, `absent` those of its group that are not; `waits` says who waits for whom.
    `dumped` counts the ranks with a dump, `missing` are those without.
    """

    pattern: str
    culprits: tuple[Locator, ...] = ()
    suspects: tuple[int, ...] = ()
    group: str | None = None
    sequence: int | None = None
    operation: str | None = None
    waiting: tuple[int, ...] = ()
    absent: tuple[int, ...] = ()
    waits: tuple[str, ...] = ()
    dumped: int = 0
    missing: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The diagnosis of one attempt.

    `root_line` is the 0-based line in `root_file` that best names the cause, null when none does;
    `culprit` is empty when only victims are visible; `raised_in` is the job's own
    code (``path/file.py:function``) in which the exception of the root line was raised, with
    ``" > "`` and the installed code below it that raised it, where that isn't its own; null when it
    is no exception or no traceback shows it;
    `missing_evidence` says which sources would
    have decided the open questions; `unrecognised` are lines that no rule knows, of an attempt of
    which nobody knows why it failed, or whether it did: the most unusual first. One that passes for
    healthy only because its steps advance has those that look like a failure. `reasons` tells how
    the verdict came about, `why` the same in words; `stuck` what collective dumps show, null
    without them; `measured` what a detector measured, null for what lines say.
    """

    attempt: str
    kind: Kind
    cause: str | None
    domain: Domain
    root_line: int | None
    root_file: str | None
    culprit: Locator
    retry: Retry
    operation: str
    confidence: float
    rule: str | None = None
    exclude_nodes: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    missing_evidence: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    files: tuple[str, ...] = field(default=())
    raised_in: str | None = None
    unrecognised: tuple[Unrecognised, ...] = ()
    stuck: Stuck | None = None
    measured: Measurement | None = None

    @property
    def why(self) -> tuple[str, ...]:
        """The reasons in words."""
        return tuple(reason.sentence for reason in self.reasons)
