"""Recordings with labels: what a backtest reads, and what it is measured against.

A data set is a list of attempts, each with the logs that it left and, where somebody knows, what
went wrong with it. `docs/formats/dataset.md` describes the files, `relume.ingest.datasets` reads
and writes them. The terms are those of `docs/formats/score.md`. Times are UTC microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from relume.errors import InputError
from relume.identity import AttemptId, JobKey
from relume.verdict import Domain, Kind

LABELLED = frozenset({Kind.CRASH, Kind.HANG, Kind.STRAGGLER, Kind.NUMERIC})
"""What an incident may be; *benign* and *unknown* are verdicts only."""


MAX_GPUS = 10_000_000
"""More than one attempt has anywhere: a larger number is none."""


class Origin(StrEnum):
    """Where a data set comes from. Results of different origins are never pooled."""

    RECORDED = "recorded"
    SIMULATED = "simulated"
    PRODUCTION = "production"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """Something that went wrong with one attempt, by somebody's word.

    Attributes
    ----------
    incident_id
        Unique in the data set.
    kind
        One of `LABELLED`.
    domain, cause
        Null when the label doesn't say.
    culprit_nodes, culprit_ranks
        Empty when nobody is known to be to blame.
    onset
        When it began to cost progress; null without a clock.
    visible
        The first instant at which a configured input shows it; null is not known.
    end
        When it was over: for an attempt that died, the attempt's end. Null is not known.
    label_source
        Who says so: ``diary``, ``injected``, ``reader`` …
    watchdog
        Whether a watchdog of the job itself ended a hang: then a crash is no other finding.

    Raises
    ------
    InputError
        For a kind that is none, and for an end before the onset.
    """

    incident_id: str
    attempt: str
    kind: Kind
    domain: Domain | None = None
    cause: str | None = None
    culprit_nodes: tuple[str, ...] = ()
    culprit_ranks: tuple[int, ...] = ()
    onset: int | None = None
    visible: int | None = None
    end: int | None = None
    severity: str | None = None
    label_source: str | None = None
    watchdog: bool = False

    def __post_init__(self) -> None:
        if self.kind not in LABELLED:
            raise InputError(
                f"incident {self.incident_id}",
                found=f"kind {self.kind.value!r}",
                expected=f"one of {', '.join(sorted(kind.value for kind in LABELLED))}",
                hint="a healthy attempt has an empty list of incidents",
            )
        require_order(f"incident {self.incident_id}", self.onset, self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoreInterval:
    """A time of one attempt that isn't scored: maintenance, or a label that nobody is sure of.

    Raises
    ------
    InputError
        For an end before the start.
    """

    start: int
    end: int
    reason: str

    def __post_init__(self) -> None:
        require_order(f"ignore interval ({self.reason})", self.start, self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """One file that an attempt left; `stream` null is told by the content.

    `path` is absolute, or relative to the data set's folder; `node` is where all of it was written.
    """

    path: str
    stream: str | None = None
    node: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEntry:
    """One attempt of a data set.

    Attributes
    ----------
    attempt
        Text form of its identity.
    name
        What people call it; null for the identity itself.
    run
        All attempts of one user with this name are one run; null for the job's own.
    nodes
        Where it ran, one name each.
    num_nodes
        How many nodes it had, where their names aren't known; null is not known.
    job_name
        What the scheduler calls the job: jobs of one user and name are a family, and teach each
        other how long their pauses are. Null is not known.
    gpus
        How many GPUs it had; null is not known.
    eligible
        Since when it could have started; null is not known.
    start, end
        When it ran; null where neither accounting nor the data set says. The replay then takes the
        clocks of its logs.
    state
        Slurm's word for how it ended; RUNNING for one that was not over when the recording ended;
        null is not known.
    incidents
        What went wrong; empty for a healthy attempt, null where nobody knows: it isn't scored.

    Raises
    ------
    InputError
        For an identity that is none, an end before the start, an incident of another attempt, and
        fewer nodes than are named, or a count of GPUs that is none.
    """

    attempt: str
    name: str | None = None
    run: str | None = None
    user: str | None = None
    nodes: tuple[str, ...] = ()
    num_nodes: int | None = None
    job_name: str | None = None
    gpus: int | None = None
    eligible: int | None = None
    start: int | None = None
    end: int | None = None
    state: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    reason: str | None = None
    comment: str | None = None
    time_limit_seconds: int | None = None
    files: tuple[LogFile, ...] = ()
    incidents: tuple[Incident, ...] | None = None
    ignore: tuple[IgnoreInterval, ...] = ()

    def __post_init__(self) -> None:
        AttemptId.parse(self.attempt)
        require_order(f"attempt {self.attempt}", self.start, self.end)
        if self.num_nodes is not None and self.num_nodes < max(1, len(self.nodes)):
            raise InputError(
                f"attempt {self.attempt}",
                found=f"{self.num_nodes} nodes, of which {len(self.nodes)} are named",
                expected="at least one, and all that are named",
            )
        if self.gpus is not None and not 0 <= self.gpus <= MAX_GPUS:
            raise InputError(
                f"attempt {self.attempt}", found=f"{self.gpus} GPUs", expected=f"0 to {MAX_GPUS:,}"
            )
        for incident in self.incidents or ():
            if incident.attempt != self.attempt:
                raise InputError(
                    f"incident {incident.incident_id}",
                    found=f"attempt {incident.attempt}",
                    expected=self.attempt,
                )

    @property
    def job_key(self) -> JobKey:
        """The job that it is an attempt of."""
        return AttemptId.parse(self.attempt).job_key

    @property
    def size(self) -> int | None:
        """How many nodes it had; null is not known."""
        return len(self.nodes) or self.num_nodes

    @property
    def title(self) -> str:
        """What to call it in a report."""
        return self.name or self.attempt


def require_order(what: str, start: int | None, end: int | None) -> None:
    """Refuse times of which the end is before the start; nulls fit everywhere.

    Raises
    ------
    InputError
        When it is.
    """
    if start is not None and end is not None and end < start:
        raise InputError(what, found=f"its end {start - end} us before its start", expected="after")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetHeader:
    """What is the same for all attempts of a data set.

    Attributes
    ----------
    name
        For reports.
    origin
        Recorded, simulated or from production.
    timezone
        IANA name of the zone of clocks that name none.
    description
        One or two sentences: what it is and where its labels come from.
    node_logs
        Logs of nodes (kernel, system), each with its `node`; attempts on the node read them, too.
    """

    name: str
    origin: Origin = Origin.RECORDED
    timezone: str = "UTC"
    description: str = ""
    node_logs: tuple[LogFile, ...] = ()
