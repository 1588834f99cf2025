"""The doors of the controller on a real Slurm: what is read is so, what is ordered happens."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest

from relume.benchmarks.slurm.lab import SlurmLab
from relume.benchmarks.slurm.processes import wait_until
from relume.controller.actuator import SlurmActuator, SlurmBusyError, SlurmRefusedError
from relume.controller.reader import SlurmReader
from relume.errors import UnreachableError
from relume.identity import chain_attempts, read_comment
from relume.slurm.job import SlurmJob

HOSTILE = '{"relume": {"run": "a \\"b\\" | c"}}  StdErr=/x StdOut=/y\n{"fake": 1}\t\'q\' é'


def test_a_snapshot_shows_running_held_and_finished_jobs(
    slurm: SlurmLab, reader: SlurmReader
) -> None:
    running = slurm.submit("sleep 100", "-N2", f"--comment={HOSTILE}", "-J", "opus", "-t", "30")
    held = slurm.submit("true", "--hold", "--exclude=node[1-2]", "--nodelist=node3")
    failed = slurm.submit("exit 3", "--output=%x-%4j.log", "-J", "short")
    slurm.wait_for_state(running, "RUNNING")
    slurm.wait_for_state(failed, "FAILED")

    snapshot = reader.snapshot()
    jobs = {job.job_id: job for job in snapshot.jobs}

    assert snapshot.cluster == "lab"
    assert jobs[running].state == "RUNNING"
    assert jobs[running].comment == HOSTILE
    assert len(jobs[running].nodes) == jobs[running].num_nodes == 2
    assert jobs[running].std_out == f"{slurm.root}/jobs/{running}.out"
    assert jobs[running].time_limit_seconds == 1800
    assert jobs[running].start_time is not None
    assert jobs[running].end_time is None
    assert jobs[running].exit_code is None
    assert jobs[held].held
    assert jobs[held].reason == "JobHeldUser"
    assert jobs[held].exclude_nodes == ("node1", "node2")
    assert jobs[held].required_nodes == ("node3",)
    assert jobs[held].start_time is None
    assert (jobs[failed].state, jobs[failed].exit_code) == ("FAILED", 3)
    assert jobs[failed].reason == "NonZeroExitCode"
    assert jobs[failed].std_out == f"{slurm.root}/jobs/short-{int(failed):04}.log"
    assert (slurm.root / "jobs" / f"short-{int(failed):04}.log").exists()
    assert jobs[failed].end_time is not None
    busy = {node.node for node in snapshot.nodes if node.state == "ALLOCATED"}
    assert set(jobs[running].nodes) <= busy
    assert len(snapshot.nodes) == 4


def test_a_job_is_held_moved_to_another_node_and_cancelled(
    slurm: SlurmLab, reader: SlurmReader, actuator: SlurmActuator
) -> None:
    job_id = slurm.submit("sleep 100", "-N1")
    slurm.wait_for_state(job_id, "RUNNING")
    first = _job(reader, job_id)

    actuator.requeue_hold(job_id)
    held = _held(reader, job_id)
    # A user's own hold says JobHeldUser: that is how the two are told apart.
    assert (held.state, held.reason) == ("PENDING", "job_requeued_in_held_state")
    assert (held.restart_count, held.nodes) == (1, ())

    marker = json.dumps({"relume": {"first_submit": first.submit_time, "note": "a b|'c'"}})
    actuator.set_exclude(job_id, ["node4", *first.nodes])
    actuator.set_admin_comment(job_id, marker)
    changed = _job(reader, job_id)
    assert set(changed.exclude_nodes) == {"node4", *first.nodes}
    assert changed.admin_comment == marker

    actuator.release(job_id)
    assert not _job(reader, job_id).held
    slurm.wait_for_state(job_id, "RUNNING")
    again = _job(reader, job_id)
    assert set(again.nodes).isdisjoint(changed.exclude_nodes)
    assert again.admin_comment == marker

    actuator.cancel(job_id)
    slurm.wait_for_state(job_id, "CANCELLED")
    assert actuator.mutations == 5
    wait_until(lambda: _ended(reader, job_id), what="accounting of the job")
    rows = reader.accounting(job_id)
    assert [row.state.split()[0] for row in rows] == ["REQUEUED", "CANCELLED"]
    assert [row.nodes for row in rows] == [first.nodes, again.nodes]
    assert [row.submit_time for row in rows] == [first.submit_time, again.submit_time]


def test_an_attempt_that_ends_slowly_stays_itself_until_the_next_one_waits(
    slurm: SlurmLab, reader: SlurmReader, actuator: SlurmActuator
) -> None:
    job_id = slurm.submit("trap '' TERM\ntouch here\nsleep 100 & wait\nsleep 1.5", "-N1", "-t1")
    wait_until((slurm.root / "jobs" / "here").exists, what="start of the script")
    running = _job(reader, job_id)

    actuator.requeue_hold(job_id)

    ending = _job(reader, job_id)
    assert ending.state == "COMPLETING"
    assert (ending.restart_count, ending.submit_time) == (0, running.submit_time)
    assert ending.nodes == running.nodes
    assert (ending.start_time, ending.end_time, ending.exit_code) == (None, None, None)
    assert not ending.held
    assert _held(reader, job_id).restart_count == 1


class Alone(SlurmReader):
    """A reader that may not list all jobs."""

    def _jobs(self, asked_at: int) -> list[SlurmJob]:
        raise AssertionError(asked_at)


def test_one_job_alone_says_what_the_listing_says(
    slurm: SlurmLab, reader: SlurmReader, actuator: SlurmActuator
) -> None:
    """In each state of a recovery, with comments, for a job and a task of an array."""
    script = "trap '' TERM\ntouch go-$SLURM_JOB_ID\nsleep 100 & wait\nsleep 1.5"
    options = ("-N1", '--comment={"relume": {"run": "a b"}}', "--exclude=node4", "-t30")
    job_id = slurm.submit(script, *options)
    task = f"{slurm.submit(script, *options, '--array=3')}_3"
    alone = Alone(slurm_conf=slurm.slurm_conf)

    def same(one: str) -> None:
        assert alone.job(one, _job(reader, one)) == _job(reader, one)

    for one in (job_id, task):
        slurm.wait_for_state(one, "RUNNING")
        script_runs = slurm.root / "jobs" / f"go-{_job(reader, one).raw_job_id}"
        wait_until(script_runs.exists, what="start of the script")
        actuator.set_admin_comment(one, '{"ticket": "x y"}')
        running = _job(reader, one)
        same(one)
        actuator.requeue_hold_running(one)
        ending = alone.job(one, running)
        assert ending == _job(reader, one)
        assert ending is not None
        assert (ending.state, ending.restart_count) == ("COMPLETING", 0)
        _held(reader, one)
        same(one)
        actuator.set_exclude(one, ["node3", "node4"])
        held = alone.job(one, running)
        assert held == _job(reader, one)
        actuator.cancel(one)
        slurm.wait_for_state(one, "CANCELLED")
        same(one)
    failed = slurm.submit("exit 3", "-N1")
    slurm.wait_for_state(failed, "FAILED")
    same(failed)
    assert alone.job("4000000", _job(reader, failed)) is None


def test_accounting_chains_attempts_of_which_one_ended_slowly(
    slurm: SlurmLab, reader: SlurmReader, actuator: SlurmActuator
) -> None:
    job_id = slurm.submit("trap '' TERM\ntouch slow\nsleep 100 & wait\nsleep 1.5", "-N1", "-t1")
    wait_until((slurm.root / "jobs" / "slow").exists, what="start of the script")
    running = _job(reader, job_id)

    actuator.requeue_hold(job_id)

    wait_until(lambda: len(reader.accounting(job_id)) == 2, what="accounting of the job")
    attempts = chain_attempts("lab", reader.accounting(job_id))
    assert [attempt.restart_count for attempt in attempts] == [0, 1]
    assert {attempt.job_key.first_submit_time for attempt in attempts} == {running.submit_time}


def test_tasks_of_an_array_are_jobs_of_their_own(
    slurm: SlurmLab, reader: SlurmReader, actuator: SlurmActuator
) -> None:
    array = slurm.submit("sleep 100", "-N1", "--array=1-9:2%2", '--comment={"APS": {}}')
    slurm.wait_for_state(f"{array}_1", "RUNNING")
    slurm.wait_for_state(f"{array}_3", "RUNNING")

    listed = {job.job_id for job in reader.snapshot().jobs if job.job_id.startswith(array)}
    assert listed == {f"{array}_1", f"{array}_3"}
    assert _job(reader, f"{array}_7").state == "PENDING"
    assert reader.job(f"{array}_8") is None

    actuator.requeue_hold(f"{array}_1")
    _held(reader, f"{array}_1")
    assert _job(reader, f"{array}_3").state == "RUNNING"
    assert read_comment(_job(reader, f"{array}_1").comment).opted_in is False
    assert _job(reader, f"{array}_1").std_out == f"{slurm.root}/jobs/{_raw(reader, array)}.out"


def test_a_heterogeneous_job_is_held_as_a_whole(
    slurm: SlurmLab, reader: SlurmReader, actuator: SlurmActuator
) -> None:
    leader = slurm.submit("#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n1\nsleep 100")
    slurm.wait_for_state(f"{leader}+1", "RUNNING")

    actuator.requeue_hold(f"{leader}+1")

    _held(reader, f"{leader}+0")
    _held(reader, f"{leader}+1")


def test_text_that_is_not_utf_8_hides_no_job(slurm: SlurmLab, reader: SlurmReader) -> None:
    broken = os.fsdecode(b"\xff\xfe \xed\xa0\x80 \x01")
    job_id = slurm.submit("true", "--hold", f"--comment={broken}", f"--job-name={broken}")

    comment = _job(reader, job_id).comment

    assert comment is not None
    assert comment.endswith(" \x01")


def test_slurm_bounds_what_a_user_may_write(slurm: SlurmLab) -> None:
    with pytest.raises(UnreachableError):
        slurm.submit("true", "--hold", f"--comment={'x' * 1025}")


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (lambda door, job: door.set_exclude(job, ["node1"]), "no longer pending"),
        (
            lambda door, job: door.set_exclude(job, ["node77"]),
            "Invalid node name|no longer pending",
        ),
        (lambda door, _: door.requeue_hold("4000000"), "Invalid job id"),
        (lambda door, _: door.release("4000000"), "Invalid job id"),
        (lambda door, _: door.set_admin_comment("4000000", "x"), "Invalid job id"),
    ],
)
def test_what_slurm_refuses_is_final(
    slurm: SlurmLab,
    actuator: SlurmActuator,
    order: Callable[[SlurmActuator, str], object],
    words: str,
) -> None:
    job_id = slurm.submit("sleep 100", "-N1")
    slurm.wait_for_state(job_id, "RUNNING")

    with pytest.raises(SlurmRefusedError, match=words) as caught:
        order(actuator, job_id)

    assert caught.value.done is not None
    assert caught.value.done.exit_code == 1


def test_slurm_refuses_to_requeue_what_waits_and_to_change_what_is_over(
    slurm: SlurmLab, actuator: SlurmActuator
) -> None:
    waiting = slurm.submit("true", "-N1", "--hold")
    over = slurm.submit("true", "-N1")
    slurm.wait_for_state(over, "COMPLETED")

    with pytest.raises(SlurmRefusedError, match="pending execution"):
        actuator.requeue_hold(waiting)
    with pytest.raises(SlurmRefusedError, match="already finished"):
        actuator.set_admin_comment(over, "x")
    with pytest.raises(SlurmRefusedError, match="already finished"):
        actuator.release(over)
    # But it says yes to these.
    actuator.cancel(over)
    actuator.cancel("4000000")


def test_without_slurmctld_nothing_is_known_and_nothing_is_done(
    slurm: SlurmLab, reader: SlurmReader, actuator: SlurmActuator
) -> None:
    job_id = slurm.submit("sleep 100", "-N1", "--hold")
    wait_until(lambda: bool(reader.accounting(job_id)), what="accounting of the job")
    slurm.stop_slurmctld()
    try:
        with pytest.raises(UnreachableError, match="DOWN"):
            reader.snapshot()
        with pytest.raises(UnreachableError, match="DOWN"):
            reader.job(job_id)
        with pytest.raises(SlurmBusyError, match="DOWN"):
            actuator.release(job_id)
        assert actuator.mutations == 0
        assert [row.state for row in reader.accounting(job_id)] == ["PENDING"]
    finally:
        slurm.start_slurmctld()
    assert _job(reader, job_id).held


def _job(reader: SlurmReader, job_id: str) -> SlurmJob:
    job = reader.job(job_id)
    assert job is not None
    return job


def _held(reader: SlurmReader, job_id: str) -> SlurmJob:
    wait_until(lambda: _job(reader, job_id).held, what=f"hold of job {job_id}")
    return _job(reader, job_id)


def _raw(reader: SlurmReader, array: str) -> int:
    return _job(reader, f"{array}_1").raw_job_id


def _ended(reader: SlurmReader, job_id: str) -> bool:
    return all(row.end_time is not None for row in reader.accounting(job_id))
