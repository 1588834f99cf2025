"""What a live run knows of its cluster: the same after a kill, and in a replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from controlling import SECOND, T0, make_nodes
from living import Live
from relume.advice import Scope, comparable
from relume.clock import to_iso
from relume.events import Actor, NodeEvent
from relume.ingest.lake import LakeReader
from relume.models.lemons.online import SHARED_SECONDS
from relume.models.lemons.quarantine import QuarantineSettings
from relume.models.policy.policy import Policy
from relume.slurm.job import SlurmJob

WINDOW = 20
ONE_RUN_EACH = '{{"relume": {{"run": "run{number}"}}}}'
XID = "kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=77, name=python, GPU has fallen off the bus."


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    live = Live(tmp_path)
    live.options.watch.policy = Policy(breaker_seconds=WINDOW)
    live.options.watch.quarantine = QuarantineSettings(cap=0.5, min_faults=2)
    live.restart()
    yield live
    live.close()


def make_job(live: Live, number: int, **changes: object) -> SlurmJob:
    out = live.path / "logs" / f"{number}.out"
    fields: dict[str, object] = {
        "job_id": str(number),
        "raw_job_id": number,
        "std_out": str(out),
        "name": f"train{number}",
        "comment": ONE_RUN_EACH.format(number=number),
        "nodes": (f"node{number}",),
        "num_nodes": 1,
    }
    return live.job(**(fields | changes))


def say(live: Live, number: int, line: str) -> None:
    with (live.path / "logs" / f"{number}.out").open("a") as file:
        file.write(f"{line}\n")


def six_fail(live: Live, pause: Callable[[], None]) -> None:
    """Six jobs are killed, one every three seconds; nobody carries anything out."""
    jobs = {number: make_job(live, number) for number in range(1, 7)}
    live.tell(*jobs.values(), nodes=make_nodes(6))
    for number in jobs:
        say(live, number, "iter 1: loss 3.9, time 1000.00ms")
    live.tick(3)
    for number, job in jobs.items():
        pause()
        say(live, number, f"srun: error: node{number}: task 0: Killed")
        now = live.clock.now()
        jobs[number] = replace(job, state="FAILED", end_time=now, exit_code=1)
        live.tell(*jobs.values(), nodes=make_nodes(6))
        live.tick(3)
    pause()
    live.tell(*jobs.values(), nodes=make_nodes(6))
    live.tick(2 * WINDOW + 10)


@pytest.mark.parametrize("restarts", [False, True], ids=["one run", "killed after every move"])
def test_many_that_fail_together_are_held_and_let_go(
    live: Live,
    restarts: bool,  # noqa: FBT001
) -> None:
    six_fail(live, live.restart if restarts else lambda: None)
    told = {
        number: [
            one.operation.value
            for one in live.written()
            if one.settled and one.attempt.startswith(f"lab/{number}@")
        ]
        for number in range(1, 7)
    }
    assert told == {
        **{number: ["RESTART"] for number in range(1, 5)},
        **{number: ["HOLD", "RESTART"] for number in (5, 6)},
    }
    assert [comparable(one) for one in live.written()] == live.replayed()
    over = live.ledger.newest(f"lab/1@{T0 // SECOND}.0 cluster")
    assert over is not None
    begun = live.ledger.get(over.supersedes or "")
    assert begun is not None
    assert [begun.operation.value, over.operation.value] == ["HOLD", "OBSERVE"]
    assert [comparable(one) for one in (begun, over)] == live.replayed(Scope.CLUSTER)
    whole, *others = sorted(live.ledger.incidents(), key=lambda one: one.scope is not Scope.CLUSTER)
    assert whole.advice == (begun.advice_id, over.advice_id)
    assert whole.closed_at == over.created_at
    held = {one.attempt for one in others if one.part_of == whole.incident_id}
    assert held == {f"lab/{number}@{T0 // SECOND}.0" for number in (5, 6)}
    assert live.aftermath() == live.aftermath_replayed()


def loses_a_gpu(live: Live, number: int) -> None:
    """Node 2 loses a GPU under a job."""
    job = make_job(live, number, nodes=("node2", f"node{number}"), start_time=live.clock.now())
    job = replace(job, submit_time=live.clock.now() // SECOND * SECOND)
    live.tell(job, nodes=make_nodes(8))
    say(live, number, "iter 1: loss 3.9, time 1000.00ms")
    live.tick(3)
    with (live.kernel / "node2.log").open("a") as file:
        file.write(f"{to_iso(live.clock.now())} node2 {XID}\n")
    live.tick()
    say(live, number, "srun: error: node2: task 0: Killed")
    failed = replace(job, state="FAILED", end_time=live.clock.now(), exit_code=1)
    live.tell(failed, nodes=make_nodes(8))
    live.tick(3)


def test_only_changes_of_nodes_land(live: Live) -> None:
    live.tell(nodes=make_nodes(2))
    live.tell(nodes=make_nodes(2, node1="MIXED"))
    live.tell(nodes=make_nodes(2, node1="MIXED+DRAIN"))
    drained = replace(make_nodes(2)[0], state="IDLE+DRAIN", reason="bad riser")
    live.tell(nodes=(drained,))
    live.session.flush()
    landed = LakeReader(live.path / "lake").landings()
    told = [
        (one.node, one.state, one.reason, one.actor, one.partitions)
        for one in landed
        if isinstance(one, NodeEvent)
    ]
    parts = ("gpu", "all")
    assert told == [
        ("node1", "IDLE", None, None, parts),
        ("node2", "IDLE", None, None, parts),
        ("node1", "MIXED+DRAIN", None, None, parts),
        ("node1", "IDLE+DRAIN", "bad riser", None, parts),
    ]
    assert Actor.ADMIN not in {actor for _, _, _, actor, _ in told}  # nobody said so


@pytest.mark.parametrize("restarts", [False, True], ids=["one run", "killed in between"])
def test_a_node_that_fails_again_is_to_be_kept_from_jobs_until_somebody_gives_it_back(
    live: Live,
    restarts: bool,  # noqa: FBT001
) -> None:
    live.kernel.mkdir()
    (live.kernel / "node2.log").write_text("2026-01-02T03:00:00+00:00 node2 kernel: up\n")
    loses_a_gpu(live, 3)
    if restarts:
        live.restart()
    loses_a_gpu(live, 4)
    if restarts:
        live.restart()
        live.tell(nodes=make_nodes(8))
    live.clock.advance(SHARED_SECONDS)
    live.tick(2)
    live.tell(nodes=make_nodes(8, node2="IDLE+DRAIN"))
    live.tick(2)
    live.tell(nodes=make_nodes(8))
    live.tick(6)
    about = [one for one in live.ledger.active(live.clock.now()) if one.scope is Scope.NODE]
    assert [(one.exclude_nodes, one.operation.value) for one in about] == [(("node2",), "OBSERVE")]
    assert about[0].generation == 2
    hold = live.ledger.get(about[0].supersedes or "")
    assert hold is not None
    assert hold.operation.value == "HOLD"
    assert {one.stream for one in hold.evidence} == {"kernel"}
