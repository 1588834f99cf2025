"""Snapshots of the scheduler as changes."""

from __future__ import annotations

import pytest

from controlling import NOW, SECOND, T0, T1, make_held, make_job
from relume.serve.ledger import AttemptRecord
from relume.serve.live.jobs import ClusterJobs, Taken
from relume.slurm.job import SlurmJob, SlurmSnapshot

FIRST, NEXT = f"lab/7@{T0 // SECOND}.0", f"lab/7@{T0 // SECOND}.1"


def jobs(known: AttemptRecord | None = None, born_at: int = T0) -> ClusterJobs:
    return ClusterJobs("lab", lambda *_: known, born_at)


def take(cluster: ClusterJobs, *shown: SlurmJob, at: int = NOW) -> Taken:
    return cluster.take(SlurmSnapshot(cluster="lab", taken_at=at, jobs=shown, nodes=()))


def states(taken: Taken) -> list[tuple[str, str]]:
    return [(event.attempt, event.state) for event in taken.events]


def test_only_changes_are_told() -> None:
    cluster = jobs()
    assert states(take(cluster, make_job())) == [(FIRST, "RUNNING")]
    again = take(cluster, make_job(), at=NOW + SECOND)
    assert (again.events, again.records) == ([], [])
    assert [record.attempt for record in again.running] == [FIRST]


def test_a_waiting_job_has_a_record_and_no_event() -> None:
    taken = take(jobs(), make_job(state="PENDING", start_time=None, nodes=()))
    assert (states(taken), [record.state for record in taken.records]) == ([], ["PENDING"])


def test_a_requeue_ends_the_attempt_with_its_own_exit_code_and_nodes() -> None:
    cluster = jobs()
    take(cluster, make_job())
    taken = take(cluster, make_held(exit_code=9))
    assert states(taken) == [(FIRST, "REQUEUED")]
    ended, waiting = taken.records
    assert (ended.exit_code, ended.nodes, ended.end_time) == (9, ("node1", "node2"), T1)
    assert (waiting.attempt, waiting.exit_code) == (NEXT, None)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "job_requeued_in_held_state"),
        ({"reason": "JobHeldAdmin"}, "JobHeldAdmin"),
        ({"state": "SPECIAL_EXIT", "reason": "JobHeldUser"}, "SPECIAL_EXIT"),
    ],
)
def test_who_holds_a_requeued_job_is_told(changes: dict[str, str], reason: str) -> None:
    """RequeueExitHold says JobHeldUser as well: its state tells it from a user's own hold."""
    cluster = jobs()
    take(cluster, make_job())
    (event,) = take(cluster, make_held(**changes)).events
    assert event.reason == reason


def test_while_completing_the_nodes_are_kept() -> None:
    cluster = jobs()
    take(cluster, make_job())
    (event,) = take(cluster, make_job(state="COMPLETING", nodes=("node2",))).events
    assert event.nodes == ("node1", "node2")


def test_a_job_id_that_was_given_out_again_is_another_job() -> None:
    cluster = jobs()
    take(cluster, make_job())
    later = T0 + 500 * SECOND
    taken = take(cluster, make_job(submit_time=later, start_time=later))
    assert states(taken) == [(FIRST, "UNKNOWN"), (f"lab/7@{later // SECOND}.0", "RUNNING")]


def test_a_job_that_is_missing_once_is_waited_for() -> None:
    cluster = jobs()
    take(cluster, make_job())
    assert take(cluster, at=NOW + 20 * SECOND).records == []
    gone = take(cluster, at=NOW + 31 * SECOND)
    assert states(gone) == [(FIRST, "UNKNOWN")]
    assert gone.gone == [FIRST]


def test_what_ended_before_the_service_was_born_is_left_alone() -> None:
    cluster = jobs(born_at=NOW)
    old = make_job(state="FAILED", end_time=NOW - SECOND)
    for _ in range(2):
        taken = take(cluster, old)
        assert (taken.events, taken.records) == ([], [])
    assert states(take(cluster, make_job(job_id="8", state="FAILED", end_time=NOW))) != []


def test_the_ledger_knows_the_first_submit_time_of_a_job_from_before_a_restart() -> None:
    known = AttemptRecord(attempt=FIRST, run="opus", state="RUNNING", start_time=T0 + SECOND)
    taken = take(jobs(known), make_held())
    assert taken.attempts == {"7": NEXT}
    assert states(taken) == [(FIRST, "REQUEUED")]


def test_an_attempt_that_had_ended_before_a_restart_is_not_told_again() -> None:
    cluster, failed = jobs(), make_job(state="FAILED", end_time=NOW, exit_code=1)
    take(cluster, make_job())
    known = take(cluster, failed).records[-1]
    again = take(jobs(known), failed, at=NOW + 60 * SECOND)
    assert (again.events, again.records) == ([], [])
    requeued = take(jobs(known), make_held(), at=NOW + 60 * SECOND)
    assert [record.attempt for record in requeued.records] == [NEXT]


@pytest.mark.parametrize(
    "wrong", [{"exit_code": 2**31}, {"time_limit_seconds": 2**63}, {"start_time": -(2**62)}]
)
def test_a_job_that_cannot_be_kept_takes_no_other_with_it(wrong: dict[str, int]) -> None:
    taken = take(jobs(), make_job(job_id="8", **wrong), make_job())
    assert (taken.attempts, states(taken)) == ({"7": FIRST}, [(FIRST, "RUNNING")])
