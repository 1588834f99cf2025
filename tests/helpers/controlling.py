"""Jobs, sightings and Advice made by hand, for tests of the controller."""

from __future__ import annotations

from typing import Any

from relume.advice import Advice, Budget, Mode, Operation, Scope, advice_id, subject
from relume.controller.facts import Action, Deed, Facts, Memory, Outcome, Sighting
from relume.identity import JobKey
from relume.settings import ControllerSettings
from relume.slurm.job import SlurmJob, SlurmNode
from relume.verdict import Domain, Kind

SECOND = 1_000_000
T0 = 1_767_323_045 * SECOND
"""Submit time of the first attempt."""
T1 = T0 + 100 * SECOND
"""Submit time of the second: when the first was requeued."""
NOW = T1 + 5 * SECOND
KEY = JobKey("lab", "7", T0)
COMMENT = '{"relume": {"run": "opus"}}'
HELD = "job_requeued_in_held_state"


def make_settings(**changes: Any) -> ControllerSettings:
    """Return settings of a controller that may act in every partition."""
    return ControllerSettings(**({"mode": "act", "partitions": ["*"]} | changes))


def make_job(**changes: Any) -> SlurmJob:
    """Return the first attempt of job 7, running on node1 and node2."""
    fields: dict[str, Any] = {
        "job_id": "7",
        "raw_job_id": 7,
        "state": "RUNNING",
        "reason": None,
        "user": "ada",
        "partition": "gpu",
        "name": "train",
        "comment": COMMENT,
        "admin_comment": None,
        "submit_time": T0,
        "start_time": T0 + SECOND,
        "end_time": None,
        "restart_count": 0,
        "nodes": ("node1", "node2"),
        "exclude_nodes": (),
        "required_nodes": (),
        "exit_code": None,
        "signal": None,
        "std_out": "/jobs/7.out",
        "std_err": None,
        "work_dir": "/jobs",
        "time_limit_seconds": 3600,
        "requeue": True,
        "priority": 100,
        "num_nodes": 2,
    }
    return SlurmJob(**(fields | changes))


def make_held(**changes: Any) -> SlurmJob:
    """Return the second attempt of job 7, waiting under a requeue-hold."""
    fields: dict[str, Any] = {
        "state": "PENDING",
        "reason": HELD,
        "priority": 0,
        "restart_count": 1,
        "submit_time": T1,
        "start_time": None,
        "nodes": (),
    }
    return make_job(**(fields | changes))


def make_nodes(count: int = 4, **states: str) -> tuple[SlurmNode, ...]:
    """Return idle nodes of the partitions gpu and all; `states` by name."""
    names = [f"node{number}" for number in range(1, count + 1)]
    return tuple(
        SlurmNode(node=one, state=states.get(one, "IDLE"), reason=None, partitions=("gpu", "all"))
        for one in names
    )


def advise(operation: Operation = Operation.RESTART, **changes: Any) -> Advice:
    """Return settled Advice about the first attempt of job 7, valid for an hour from `NOW`."""
    fields: dict[str, Any] = {
        "attempt": f"{KEY}.0",
        "generation": 2 if changes.get("settled", True) else 1,
        "operation": operation,
        "kind": Kind.CRASH,
        "domain": Domain.HARDWARE,
        "cause": "gpu_lost",
        "confidence": 0.9,
        "rule": "xid_79",
        "budget": Budget(0, 3),
        "mode": Mode.ACT,
        "settled": True,
        "created_at": T1,
        "decided_at": None,
        "expires_at": NOW + 3600 * SECOND,
    }
    if operation is Operation.RESTART_EXCLUDING:
        fields["exclude_nodes"] = ("node2",)
    fields |= changes
    about = subject(
        fields["attempt"], fields.get("scope", Scope.ATTEMPT), fields.get("exclude_nodes", ())
    )
    return Advice(advice_id=advice_id(about, fields["generation"]), **fields)


def seen(restart_count: int = 0, **changes: Any) -> Sighting:
    """Return the sighting of an attempt of job 7, as `make_job` and `make_held` show it."""
    first = restart_count == 0
    fields: dict[str, Any] = {
        "key": KEY,
        "restart_count": restart_count,
        "submit_time": T0 if first else T1,
        "user": "ada",
        "run": "opus",
        "nodes": ("node1", "node2") if first else (),
        "running_at": T0 + 2 * SECOND if first else None,
        "held_at": None if first else T1 + SECOND,
    }
    return Sighting(**(fields | changes))


def deed(action: Action, advice: Advice | None = None, **changes: Any) -> Deed:
    """Return a deed about the first attempt of job 7, done two minutes ago."""
    fields: dict[str, Any] = {
        "attempt": f"{KEY}.0",
        "advice_id": None if advice is None else advice.advice_id,
        "action": action,
        "intended_at": NOW - 120 * SECOND,
        "outcome": Outcome.DONE,
    }
    return Deed(**(fields | changes))


def remember(*what: Sighting | Deed, **changes: Any) -> Memory:
    """Return a memory of sightings and deeds; job 7's run used node1 and node2."""
    memory = Memory(**({"run_nodes": {KEY: frozenset({"node1", "node2"})}} | changes))
    for one in what:
        add = memory.with_sighting if isinstance(one, Sighting) else memory.with_deed
        memory = add(one)  # type: ignore[arg-type] # the one that goes with the type
    return memory


def make_facts(*jobs: SlurmJob, **changes: Any) -> Facts:
    """Return facts about jobs on four idle nodes; by default nothing else is known."""
    fields: dict[str, Any] = {
        "cluster": "lab",
        "jobs": {job.job_id: job for job in jobs},
        "nodes": make_nodes(),
    }
    return Facts(**(fields | changes))
