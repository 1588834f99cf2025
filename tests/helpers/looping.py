"""Records of jobs of the bench `loop`, made by hand."""

from __future__ import annotations

from typing import Any

from controlling import advise
from relume.advice import Operation
from relume.benchmarks.loop.asked import Asked
from relume.benchmarks.loop.record import Record
from relume.benchmarks.loop.scenarios import Scenario
from relume.benchmarks.loop.training import Happened, History
from relume.benchmarks.loop.watch import Seen
from relume.verdict import Kind

SECOND = 1_000_000
FAILED_AT = 100 * SECOND
NODES = ("node1", "node2", "node3", "node4")
_ATTEMPT = "lab/7@1767323045"


def happened(what: str, at: float, **changes: Any) -> Happened:
    """Something that rank 0 on node1 wrote down, `at` seconds after the failure."""
    fields: dict[str, Any] = {"attempt": 0, "step": 0, "rank": 0, "node": "node1"}
    return Happened(what, at=FAILED_AT + int(at * SECOND), **(fields | changes))


def begun(attempt: int, at: float, step: int, nodes: tuple[str, ...] = NODES) -> list[Happened]:
    """The begin of an attempt, by all its ranks."""
    return [
        happened("begin", at, attempt=attempt, step=step, rank=rank, node=node)
        for rank, node in enumerate(nodes)
    ]


def came_back(nodes: tuple[str, ...] = NODES, step: int = 20) -> History:
    """A job whose rank 2 on node3 failed at step 23, and that went on from `step` on `nodes`."""
    return History(
        (
            happened("launch", -11),
            *begun(0, -8, 0),
            happened("step", -7),
            happened("fault", 0, step=23, rank=2, node="node3"),
            happened("launch", 12, attempt=1),
            *begun(1, 15, step, nodes),
            happened("step", 15.5, attempt=1, step=step),
            happened("end", 22, attempt=1, step=45),
        )
    )


def seen(at: float, operation: Operation = Operation.RESTART, attempt: int = 0, **kw: Any) -> Seen:
    """Advice about an attempt of job 7, durable `at` seconds after the failure."""
    fields = {"attempt": f"{_ATTEMPT}.{attempt}", "kind": Kind.CRASH} | kw
    return Seen(advise(operation, **fields), FAILED_AT + int(at * SECOND))


def asked(at: float, *argv: str, by: str = "control") -> Asked:
    """A command, `at` seconds after the failure."""
    return Asked(FAILED_AT + int(at * SECOND), by, argv)


RESTARTED = (
    asked(0.2, "scontrol", "requeuehold", "7", by="helper"),
    asked(11, "scontrol", "release", "7"),
)


def make_record(scenario: Scenario, **changes: Any) -> Record:
    """Return the record of a run of `scenario` in which a killed rank was restarted as it should."""
    fields: dict[str, Any] = {
        "plan": scenario.plan(1),
        "job_id": "7",
        "state": "COMPLETED",
        "restarts": 1,
        "excluded": frozenset(),
        "marked": True,
        "history": came_back(),
        "advice": (seen(0.5, settled=False), seen(10.5)),
        "commands": RESTARTED,
    }
    return Record(**(fields | changes))
