"""The events that every part of Relume speaks. Times are UTC int64 microseconds.

Sources parse into these at the border; no code past it sees a raw record. `event_time` is when it
happened (null if unknown), `observed_at` when Relume read it (null in recordings). Texts are valid
Unicode: a source decodes undecodable bytes to U+FFFD. `relume.schemas` has the Arrow form of each
event, `docs/formats/events.md` describes the columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from relume.errors import InputError
from relume.verdict import Health


class Actor(StrEnum):
    """Who brought a node into its state."""

    ADMIN = "admin"
    SLURM = "slurm"
    RELUME = "relume"
    CHECK = "check"
    """A health check: HealthCheckProgram, prolog or epilog, NHC."""


class CheckOutcome(StrEnum):
    """What a node health check said; *unknown* (didn't run, timed out) always has a reason."""

    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class LogLine:
    """One logical line of a log, parsed at the border.

    `line` is the 0-based physical line in `file` (a progress bar redrawn with carriage returns
    gives many logical lines with one number); `offset` is the byte offset of that physical line in
    the uncompressed file. `text[message_start:]` is the message after every known prefix. `task` is
    the `srun --label` number, `local_rank` torchrun's, `rank` the global rank; `gpu` what a prefix
    says.
    """

    text: str
    line: int
    offset: int
    file: str
    message_start: int = 0
    stream: str = "stdout"
    attempt: str | None = None
    node: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None
    gpu: str | None = None
    event_time: int | None = None
    observed_at: int | None = None
    cluster: str = "local"
    source: str = "file"

    @property
    def message(self) -> str:
        """The text after all prefixes."""
        return self.text[self.message_start :]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """What every event but `LogLine` begins with: where it comes from, and when it was."""

    source: str
    cluster: str = "local"
    event_time: int | None = None
    observed_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(_Event):
    """One value of one metric.

    `value` is in the unit that the metric's name ends with; NaN is a value ("no number"), a sample
    that is missing is not an event. `gpu` is the index, UUID or PCI id as printed, `device` another
    part of the node: a NIC with its port (``mlx5_0/1``), an interface, a MIG instance. A null
    `node`, `gpu`, `rank`, `attempt` or `device` means that the series has no such label.
    """

    metric: str
    value: float
    node: str | None = None
    gpu: str | None = None
    rank: int | None = None
    attempt: str | None = None
    device: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerEvent(_Event):
    """What the scheduler says about one attempt at one time.

    `state` is Slurm's word (``RUNNING``, ``NODE_FAIL``). `nodes` is empty when none is allocated or
    known: a requeue empties it. `exit_code` and `signal` are the two halves of Slurm's ``N:S``,
    null before the end. `time_limit_seconds` is null for unlimited or unknown. `requeue` is whether
    the job may be requeued, null if not told. `comment` is the user's, as it was written.
    `exclude_nodes` and `required_nodes` are the job's ``--exclude`` and ``--nodelist`` by then,
    `num_nodes` is how many nodes it has or asks for, `name` is the job's name, `gpus` is how many
    it has or asks for, `eligible_time` is since when it could have started, `partition` where it
    runs. `deadline` is when it has to be over for good, whatever limit a requeue gives it anew
    (``--deadline``): UTC microseconds, null for none or not told.
    """

    attempt: str
    state: str
    nodes: tuple[str, ...] = ()
    exit_code: int | None = None
    signal: int | None = None
    reason: str | None = None
    time_limit_seconds: int | None = None
    requeue: bool | None = None
    comment: str | None = None
    user: str | None = None
    exclude_nodes: tuple[str, ...] = ()
    required_nodes: tuple[str, ...] = ()
    num_nodes: int | None = None
    name: str | None = None
    gpus: int | None = None
    eligible_time: int | None = None
    partition: str | None = None
    deadline: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEvent(_Event):
    """A node changed state, or a health check ran on it.

    `state` is Slurm's words as printed (``idle+drain``), null when only a check spoke. `actor` is
    null when nobody can tell. `check` and `outcome` are null when no check ran; an outcome
    *unknown* needs a `reason`. `partitions` are those the node is in, empty if not told.

    Raises
    ------
    InputError
        For an unknown outcome without a reason.
    """

    node: str
    state: str | None = None
    reason: str | None = None
    actor: Actor | None = None
    check: str | None = None
    outcome: CheckOutcome | None = None
    partitions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.outcome is CheckOutcome.UNKNOWN:
            _require_reason(f"check {self.check} of node {self.node}", self.outcome, self.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessGroup:
    """One process group of a flight-recorder dump, as the dumping rank saw it.

    The three sequence numbers are those of the last collective that was enqueued, started and
    completed; null when there was none.
    """

    name: str
    description: str | None = None
    ranks: tuple[int, ...] = ()
    last_enqueued: int | None = None
    last_started: int | None = None
    last_completed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective:
    """One collective (or point-to-point operation) of a flight-recorder dump.

    `group` is a `ProcessGroup.name`; `sequence_number` counts within the group, for collectives and
    point-to-point apart. `state` is ``scheduled``, ``started`` or ``completed``. The times are null
    for what did not happen, or was not seen to. Sizes are element counts per dimension, one tuple a
    tensor.
    """

    group: str
    sequence_number: int
    operation: str
    state: str
    is_p2p: bool = False
    enqueued_time: int | None = None
    started_time: int | None = None
    completed_time: int | None = None
    timeout_seconds: float | None = None
    input_sizes: tuple[tuple[int, ...], ...] = ()
    output_sizes: tuple[tuple[int, ...], ...] = ()
    input_dtypes: tuple[str, ...] = ()
    output_dtypes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveDump(_Event):
    """The decoded flight-recorder dump of one rank. Collectives are in the order of the dump.

    `version` is the dump's format version as written, null if it has none.
    """

    attempt: str
    rank: int
    version: str | None = None
    groups: tuple[ProcessGroup, ...] = ()
    collectives: tuple[Collective, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatus(_Event):
    """Whether a source delivers: a broken log pipe is never a hung job.

    `lag_seconds` is how far what was read is behind what exists, null if that can't be told.

    Raises
    ------
    InputError
        When the source is not healthy and there is no `reason`.

    Examples
    --------
    >>> SourceStatus(source="kernel", status=Health.UNKNOWN, reason="not read yet").lag_seconds
    """

    status: Health
    lag_seconds: float | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.status is not Health.HEALTHY:
            _require_reason(f"status of source {self.source}", self.status, self.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick(_Event):
    """The only clock that detectors see: all events before `event_time` have been delivered.

    `sources` is the health of sources that is told with it. A source stays as it was last told, by
    a tick or a `SourceStatus`; one that was never told of is unknown.
    """

    event_time: int
    source: str = "clock"
    sources: tuple[SourceStatus, ...] = ()


Event: TypeAlias = (
    LogLine | Sample | SchedulerEvent | NodeEvent | CollectiveDump | Tick | SourceStatus
)


def _require_reason(what: str, value: StrEnum, reason: str | None) -> None:
    if not reason:
        raise InputError(
            what,
            found=f"{value.value!r} without a reason",
            expected="a reason with every value that isn't healthy",
            hint="say what was tried and what happened",
        )
