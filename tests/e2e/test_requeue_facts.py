"""What a requeue does to a job, as `docs/slurm.md` says it: the controller is built on it."""

from __future__ import annotations

from datetime import UTC

import pytest

from relume.benchmarks.slurm.lab import SlurmLab
from relume.benchmarks.slurm.processes import wait_until
from relume.clock import from_iso
from relume.controller.actuator import SlurmActuator, SlurmRefusedError
from relume.controller.reader import SlurmReader
from relume.slurm.job import SlurmJob

ATTEMPT = "echo attempt ${SLURM_RESTART_COUNT:-0}\ntouch $SLURM_JOB_ID-${SLURM_RESTART_COUNT:-0}\n"


def test_what_a_requeue_keeps_and_what_it_changes(
    slurm: SlurmLab, reader: SlurmReader, actuator: SlurmActuator
) -> None:
    options = ("-N1", "-t30", "--exclude=node4", "--comment=mine")
    plain = slurm.submit(ATTEMPT + "sleep 100", *options)
    appending = slurm.submit(ATTEMPT + "sleep 100", *options, "--open-mode=append")
    jobs = slurm.root / "jobs"
    for job_id in (plain, appending):
        wait_until((jobs / f"{job_id}-0").exists, what="the first attempt")
        actuator.set_admin_comment(job_id, "ours")
    first = {job.job_id: job for job in reader.snapshot().jobs}

    for job_id in (plain, appending):
        actuator.requeue(job_id)
    for job_id in (plain, appending):
        wait_until((jobs / f"{job_id}-1").exists, what="the second attempt")

    second = {job.job_id: job for job in reader.snapshot().jobs}
    for job_id in (plain, appending):
        before, after = first[job_id], second[job_id]
        assert (before.restart_count, after.restart_count) == (0, 1)
        assert before.submit_time is not None
        assert after.submit_time is not None
        assert after.submit_time > before.submit_time
        assert after.exclude_nodes == before.exclude_nodes == ("node4",)
        assert (after.comment, after.admin_comment) == ("mine", "ours")
        assert after.std_out == before.std_out
        assert after.time_limit_seconds == before.time_limit_seconds == 1800
        # Five minutes in, it would have 30 again: what Slurm expects is a full limit from the start.
        start, end = slurm.run("squeue", "-h", "-j", job_id, "-o", "%S %e").split()
        assert from_iso(end, UTC) - from_iso(start, UTC) == 30 * 60 * 1_000_000
    assert (jobs / f"{plain}.out").read_text() == "attempt 1\n"
    appended = (jobs / f"{appending}.out").read_text()
    assert appended.startswith("attempt 0\n")
    assert "DUE TO JOB REQUEUE" in appended
    assert appended.endswith("attempt 1\n")


def test_a_finished_job_comes_back_and_a_job_without_requeue_does_not(
    slurm: SlurmLab, reader: SlurmReader, actuator: SlurmActuator
) -> None:
    cancelled = slurm.submit("true", "-N1", "--hold")
    actuator.cancel(cancelled)
    slurm.wait_for_state(cancelled, "CANCELLED")
    never = slurm.submit("exit 5", "-N1", "--no-requeue")
    slurm.wait_for_state(never, "FAILED")

    actuator.requeue_hold(cancelled)

    revived = reader.job(cancelled)
    assert revived is not None
    assert revived.held
    with pytest.raises(SlurmRefusedError, match="disabled"):
        actuator.requeue_hold(never)


def test_a_held_job_keeps_the_exit_code_of_its_last_attempt(
    slurm: SlurmLab, reader: SlurmReader, actuator: SlurmActuator
) -> None:
    failed = slurm.submit("exit 5", "-N1")
    killed = slurm.submit("kill -9 $$", "-N1")
    for job_id in (failed, killed):
        slurm.wait_for_state(job_id, "FAILED")
        actuator.requeue_hold(job_id)

    jobs = {job.job_id: job for job in reader.snapshot().jobs}

    assert (jobs[failed].exit_code, jobs[failed].signal) == (5, None)
    assert (jobs[killed].exit_code, jobs[killed].signal) == (0, 9)
    assert jobs[failed].restart_count == jobs[killed].restart_count == 1


def test_a_requeued_job_waits_from_the_requeue_on_and_keeps_a_changed_limit(
    slurm: SlurmLab, reader: SlurmReader, actuator: SlurmActuator
) -> None:
    job_id = slurm.submit(ATTEMPT + "sleep 100", "-N1", "-t30")
    wait_until((slurm.root / "jobs" / f"{job_id}-0").exists, what="the first attempt")
    actuator.requeue_hold(job_id)
    wait_until(lambda: _job(reader, job_id).held, what="the hold")
    eligible = _shown(slurm, job_id, "EligibleTime")
    requeued = _shown(slurm, job_id, "SubmitTime")
    wait_seconds = (from_iso(eligible, UTC) - from_iso(requeued, UTC)) / 1_000_000
    # cred_expire is 5 s in the lab; Slurm notes both times one after the other, in either order.
    assert wait_seconds in {5, 6, 7}

    slurm.run("scontrol", "update", f"JobId={job_id}", "TimeLimit=10")
    actuator.release(job_id)

    assert _shown(slurm, job_id, "EligibleTime") == eligible
    wait_until((slurm.root / "jobs" / f"{job_id}-1").exists, what="the second attempt")
    actuator.requeue_hold(job_id)
    wait_until(lambda: _job(reader, job_id).held, what="the second hold")
    assert _job(reader, job_id).time_limit_seconds == 600


def _job(reader: SlurmReader, job_id: str) -> SlurmJob:
    job = reader.job(job_id)
    assert job is not None
    return job


def _shown(slurm: SlurmLab, job_id: str, field: str) -> str:
    words = slurm.run("scontrol", "show", "job", "--oneliner", job_id).split()
    return dict(word.split("=", 1) for word in words if "=" in word)[field]
