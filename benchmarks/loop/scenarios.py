"""What goes wrong, and what must follow; a verdict on each run in words. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from relume.advice import Operation
from relume.benchmarks.loop.record import Record
from relume.benchmarks.loop.training import XID_79, Fault, FaultKind, Plan, opted_in
from relume.verdict import Kind

FAULT_STEP = 23
"""Between two checkpoints, so that a job that goes on repeats a few steps."""
MAX_RESTARTS = 3
"""The policy's, of the bench's site."""
_STOPPED = frozenset({"CANCELLED", "FAILED"})
_NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Scenario:
    """A kind of failure. `complaints` says what was wrong with a run, nothing if all was well.

    `crash` says whether it is one that must be noticed at once, `recovers` whether the job is to
    come back, `opts_in` whether it asks for that.
    """

    id: str
    shows: str
    fault: Fault
    complaints: Callable[[Record], Iterator[str]]
    crash: bool = True
    recovers: bool = True
    opts_in: bool = True

    def plan(self, number: int) -> Plan:
        """Return the plan of one run."""
        name = f"{self.id}-{number}"
        return Plan(name=name, faults=(self.fault,), comment=opted_in(name) if self.opts_in else "")


def _went_on(record: Record, *, excluded: frozenset[str]) -> Iterator[str]:
    """It was restarted once for each fault, from the checkpoint, and came to its end."""
    if record.state != "COMPLETED" or not record.history.ended:
        yield f"ended {record.state}"
    if record.restarts != len(record.faults) or len(record.faults) < len(record.plan.faults):
        happened, planned = len(record.faults), len(record.plan.faults)
        yield f"{record.restarts} restarts after {happened} of {planned} faults"
    if record.requeues > len(record.faults):
        yield f"{record.requeues} commands to requeue it after {len(record.faults)} faults"
    for attempt, fault in record.faults:
        begin = record.history.began_with(attempt + 1)
        if begin != fault.checkpoint:
            yield f"attempt {attempt + 1} began with step {begin}, not {fault.checkpoint}"
    if record.excluded != excluded:
        yield f"excluded {sorted(record.excluded)}, not {sorted(excluded)}"


def _restarted(record: Record) -> Iterator[str]:
    yield from _went_on(record, excluded=_NOBODY)
    yield from _advised(record, Kind.CRASH, Operation.RESTART)


def _moved(record: Record) -> Iterator[str]:
    faulty = record.history.faulty_nodes(0)
    yield from _went_on(record, excluded=faulty)
    yield from _advised(record, Kind.CRASH, Operation.RESTART_EXCLUDING)
    if record.history.nodes(1) & faulty:
        yield f"it ran again on {sorted(faulty)}"


def _freed(record: Record) -> Iterator[str]:
    yield from _went_on(record, excluded=_NOBODY)
    yield from _advised(record, Kind.HANG, Operation.RESTART)


def _given_up(record: Record) -> Iterator[str]:
    if record.state not in _STOPPED:
        yield f"ended {record.state}"
    if not 1 <= record.restarts <= MAX_RESTARTS:
        yield f"{record.restarts} restarts; allowed are 1 to {MAX_RESTARTS}"
    if record.excluded:
        yield f"excluded {sorted(record.excluded)}"
    last = record.settled(record.history.attempts - 1)
    if last is None or last.operation is not Operation.STOP:
        yield f"the last word is {'none' if last is None else last.operation}, not STOP"


def _left_alone(record: Record) -> Iterator[str]:
    if record.state != "FAILED":
        yield f"ended {record.state}"
    if record.commands:
        yield f"{len(record.commands)} commands that may have changed it"
    if record.restarts or record.excluded or record.marked:
        yield f"{record.restarts} restarts, marked {record.marked}, {sorted(record.excluded)}"


def _advised(record: Record, kind: Kind, operation: Operation) -> Iterator[str]:
    settled = record.settled(0)
    if settled is None:
        yield "no settled Advice"
    elif (settled.kind, settled.operation) != (kind, operation):
        yield f"the Advice is {settled.operation} after a {settled.kind}"


KILLED = Scenario(
    "killed",
    "a rank is SIGKILLed, nothing else is said: restarted, nobody excluded",
    Fault(FaultKind.SIGKILL, FAULT_STEP),
    _restarted,
)
GPU_LOST = Scenario(
    "gpu_lost",
    "a rank is SIGKILLed with Xid 79 in its node's kernel log: restarted without that node",
    Fault(FaultKind.SIGKILL, FAULT_STEP, kernel_text=XID_79),
    _moved,
)
STOPPED = Scenario(
    "stopped",
    "a rank is SIGSTOPped: the hang is found, and the job restarted",
    Fault(FaultKind.SIGSTOP, FAULT_STEP),
    _freed,
    crash=False,
)
PYTHON_ERROR = Scenario(
    "python_error",
    "the same Python error on every rank in each attempt: stopped after the allowed tries",
    Fault(FaultKind.PYTHON, FAULT_STEP, attempt=None, rank=None),
    _given_up,
    recovers=False,
)
STRANGER = Scenario(
    "stranger",
    "a rank of a job that did not opt in is SIGKILLed: not one command",
    Fault(FaultKind.SIGKILL, FAULT_STEP),
    _left_alone,
    recovers=False,
    opts_in=False,
)
OBSERVED = Scenario(
    "observed",
    "a rank is SIGKILLed while the controller is in mode observe: not one command",
    Fault(FaultKind.SIGKILL, FAULT_STEP),
    _left_alone,
    recovers=False,
)


def survivor(number: int) -> Plan:
    """Return a job that fails in three attempts, for the time when Relume itself is killed.

    Each attempt comes further than the one before it, so that no try counts.
    """
    name = f"survivor-{number}"
    steps = (13, 23, 33)
    faults = tuple(Fault(FaultKind.SIGKILL, step, attempt) for attempt, step in enumerate(steps))
    return Plan(name=name, faults=faults, comment=opted_in(name))


def survived(record: Record) -> Iterator[str]:
    """Say what was wrong with a `survivor`."""
    yield from _went_on(record, excluded=_NOBODY)
    for attempt, _ in record.faults:
        if record.settled(attempt) is None:
            yield f"no settled Advice about attempt {attempt}"
