"""A live run over real files: whose lines are whose, what is decided, and any restart between."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import pytest

from controlling import SECOND, T0
from living import Live
from relume.advice import Mode, comparable
from relume.errors import InputError
from relume.ingest.lake import LakeWriter
from relume.serve.ledger import Milestone
from relume.serve.live.session import Session

SECONDS = T0 // SECOND
FIRST, SECOND_TRY = f"{SECONDS}.0", f"{SECONDS}.1"
ERROR = ("[rank1]: Traceback (most recent call last):", "[rank1]: KeyError: 'vocab'")


def start(live: Live, steps: int = 20) -> None:
    live.clock.advance(2)
    live.write("starting", mode="w")
    live.tell(live.job())
    live.train(steps)


def fail(live: Live, count: int = 0) -> None:
    live.write(*ERROR)
    live.tick()
    live.tell(live.held(count + 1))
    live.tick(2)


def test_a_failed_attempt_is_advised_at_once_and_settled_when_its_log_is_read(live: Live) -> None:
    start(live)
    live.write(*ERROR)
    live.tick()
    assert live.advice() == [(FIRST, 1, "RESTART", False)]
    live.tell(live.held(1))
    live.tick(2)
    assert live.advice() == [(FIRST, 1, "RESTART", False), (FIRST, 2, "RESTART", True)]
    record = live.record(0)
    assert record.ended
    assert record.landed.complete
    assert record.landed.bytes == live.out.stat().st_size
    assert (record.first_step, record.last_step) == (1, 20)
    assert record.fingerprint is not None
    assert record.nodes == ("node1", "node2")


def test_the_next_tick_comes_when_a_first_sign_has_settled(live: Live) -> None:
    live.tell(live.runs(0))
    live.train(3)
    live.tick()
    assert live.session.seconds_to_due() is None
    live.write(*ERROR)
    live.tick()
    assert live.session.seconds_to_due() == pytest.approx(10.0, abs=0.001)
    live.tick(4)
    assert live.session.seconds_to_due() == pytest.approx(6.0, abs=0.001)
    live.tell(live.end_of(0))
    live.tick()
    assert live.session.seconds_to_due() is None  # its log was read to its end: settled


def test_a_healthy_job_gets_nothing(live: Live) -> None:
    start(live, 60)
    live.tell(live.end_of(0, "COMPLETED", exit_code=0))
    live.tick(20)
    assert live.advice() == []


@pytest.mark.parametrize("appends", [False, True], ids=["truncated", "appended"])
def test_the_next_attempt_gets_its_own_lines_only(live: Live, appends: bool) -> None:  # noqa: FBT001
    start(live)
    fail(live)
    live.clock.advance(5)
    live.write("starting again", mode="a" if appends else "w")
    live.tell(live.runs(1))
    live.train(20)
    live.tell(live.end_of(1, "COMPLETED", exit_code=0, submit_time=live.clock.now()))
    live.tick(2)
    assert [one for one in live.advice() if one[0] == SECOND_TRY] == []
    assert (live.record(1).first_step, live.record(1).last_step) == (21, 40)


def test_lines_after_a_truncation_wait_until_the_scheduler_says_whose_they_are(live: Live) -> None:
    start(live)
    live.write("starting again", "iter 3: loss 3.9, time 1000.00ms", mode="w")
    live.tick(3)
    live.tell(live.runs(1))
    live.tick(2)
    assert live.record(0).last_step == 20
    live.tell(live.end_of(1, submit_time=live.clock.now()))
    live.tick(2)
    assert (live.record(1).first_step, live.record(1).last_step) == (3, 3)


def test_a_log_that_its_own_job_truncates_goes_on(live: Live) -> None:
    start(live)
    live.write("iter 21: loss 3.9, time 1000.00ms", mode="w")
    live.tick(2)
    live.tell(live.job())
    live.tick(2)
    live.tell(live.end_of(0))
    live.tick(2)
    assert live.record(0).last_step == 21


def test_an_attempt_that_was_over_before_anybody_saw_it_gets_its_lines(live: Live) -> None:
    start(live)
    fail(live)
    live.write("starting again", "iter 21: loss 3.9, time 1000.00ms", mode="w")
    live.clock.advance(8)
    live.tell(live.end_of(1, "COMPLETED", exit_code=0, submit_time=live.clock.now()))
    live.tick(3)
    record = live.record(1)
    assert (record.last_step, record.landed.complete) == (21, True)
    assert [one.milestone for one in live.ledger.milestones(record.attempt)] == [
        Milestone.PROGRESS_RESTORED
    ]


@pytest.mark.parametrize("appends", [False, True], ids=["truncated", "appended"])
@pytest.mark.parametrize("restarts", [False, True])
def test_an_attempt_that_writes_the_very_same_again_is_read_all_the_same(
    live: Live,
    appends: bool,  # noqa: FBT001
    restarts: bool,  # noqa: FBT001
) -> None:
    output = ("starting", "iter 1: loss 3.9, time 1000.00ms", *ERROR)
    live.clock.advance(2)
    live.tell(live.job())
    live.write(*output, mode="w")
    live.tick()
    live.tell(live.held(1))
    live.tick(2)
    if restarts:
        live.restart()
    live.tell(live.runs(1))
    live.tick(2)
    assert live.record(1).landed.bytes == 0
    live.write(*output, mode="a" if appends else "w")
    live.tick()
    live.tell(live.held(2))
    live.tick(2)
    assert live.advice()[-1] == (SECOND_TRY, 2, "STOP", True)
    assert live.record(1).fingerprint == live.record(0).fingerprint


@pytest.mark.parametrize("reason", [None, "job_requeued_in_held_state"])
def test_a_signal_is_a_failure_only_of_an_attempt_that_was_held_for_it(
    live: Live, reason: str | None
) -> None:
    start(live)
    live.tell(live.held(1, exit_code=0, signal=9, reason=reason))
    live.tick(15)
    wanted = [] if reason is None else [(FIRST, 1, "RESTART", True)]
    assert live.advice() == wanted


def test_a_truncated_log_that_is_not_read_is_no_hang(live: Live) -> None:
    start(live, 40)
    live.write("starting again", mode="w")
    live.tick(2)
    for _ in range(60):
        live.tick(10)
    assert live.advice() == []
    live.tell(live.job())
    live.tick(200)
    assert live.decided() == []


def test_a_bar_that_is_redrawn_without_a_newline_is_progress(live: Live) -> None:
    start(live, 10)
    for step in range(1, 121):
        with live.out.open("a") as file:
            file.write(
                f"\r{step // 2:3d}%|## | {step}/200 [{step // 60:02d}:{step % 60:02d}<02:00, 1.00s/it]"
            )
        live.tick()
        if step % 30 == 0:
            live.tell(live.job())
    assert live.advice() == []


def test_without_a_word_of_the_scheduler_nothing_is_a_hang(live: Live) -> None:
    start(live, 40)
    live.tick(900)
    assert live.advice() == []
    live.tell(live.job())
    live.tick(50)
    live.restart()
    live.tick(900)
    live.tell(live.job())
    for _ in range(29):
        live.tick(10)
        live.tell(live.job())
    assert live.decided() == []
    for _ in range(3):
        live.tick(10)
        live.tell(live.job())
    assert [operation for _, _, operation, _ in live.decided()] == ["RESTART", "RESTART"]
    assert [comparable(one) for one in live.written()] == live.replayed()


def test_time_by_hand_does_not_go_on_while_a_slow_machine_works(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine is away for five seconds whenever somebody looks at its clock."""
    looks = itertools.count(10**12, 5 * 10**9)
    monkeypatch.setattr(time, "monotonic_ns", lambda: next(looks))
    start(live, 3)
    for _ in range(8):
        live.tell(live.job())
    assert 0 < live.session.time() - live.clock.now() < 100


def test_time_goes_on_from_where_it_was_when_the_clock_is_put_back(live: Live) -> None:
    start(live, 3)
    before = live.session.time()
    live.clock.advance(-3600)
    assert live.session.time() - before == 1
    live.clock.advance(7)
    assert live.session.time() - before == 1 + 7 * SECOND


def test_a_file_that_two_jobs_write_to_accuses_neither(live: Live) -> None:
    live.clock.advance(2)
    live.write("iter 1: loss 3.9, time 1000.00ms", mode="w")
    both = live.job(), live.job(job_id="8", raw_job_id=8)
    live.tell(*both)
    for step in range(2, 12):
        live.write(f"iter {step}: loss 3.9, time 1000.00ms")
        live.tick()
        live.tell(*both)
    live.write(*ERROR)
    for _ in range(40):
        live.tick(10)
        live.tell(*both)
    assert live.advice() == []
    live.tell(both[0], live.end_of(0, job_id="8", raw_job_id=8))
    live.tick(15)
    live.tell(both[0])
    assert {one.attempt.partition("@")[0] for one in live.written()} == {"lab/8"}


def test_an_error_on_stderr_that_the_steps_on_stdout_got_over_accuses_nobody(live: Live) -> None:
    err = live.out.with_suffix(".err")
    job = live.job(std_err=str(err))
    live.clock.advance(2)
    live.write("starting", mode="w")
    err.write_text("")
    live.tell(job)
    live.train(20)
    err.write_text("\n".join(ERROR) + "\n")
    for _ in range(5):
        live.train(10)
        live.tell(job)
    assert live.advice()[-1][2:] == ("OBSERVE", True)
    live.tick(50)
    live.tell(job)
    live.tick(50)
    assert live.advice()[-1][2:] == ("OBSERVE", True)


def test_an_attempt_that_truncated_its_own_log_and_failed_is_read_to_its_end(live: Live) -> None:
    start(live)
    live.write("iter 21: loss 3.9, time 1000.00ms", *ERROR, mode="w")
    live.tick()
    live.tell(live.end_of(0))
    live.tick(3)
    assert live.record(0).landed.complete
    assert live.written()[-1].cause == "user_exception"
    assert live.record(0).last_step == 21


def test_siblings_that_run_beside_it_were_no_tries(live: Live) -> None:
    live.clock.advance(2)
    live.write("starting", mode="w")
    siblings = [
        live.job(job_id=str(n), raw_job_id=n, std_out=str(live.out) + str(n)) for n in range(1, 5)
    ]
    live.tell(*siblings, live.job())
    live.write(*ERROR)
    live.tick()
    live.tell(*siblings, live.held(1))
    live.tick(2)
    about = [one for one in live.written() if one.attempt.startswith("lab/7@")]
    assert about[-1].operation.value == "RESTART"
    assert about[-1].budget.used == 0


@pytest.mark.parametrize("state", ["CANCELLED", "PREEMPTED"])
def test_who_is_ended_by_others_is_left_alone_whatever_it_said(live: Live, state: str) -> None:
    start(live)
    live.write(*ERROR)
    live.tick(2)
    live.tell(live.end_of(0, state))
    live.tick(15)
    assert live.advice()[-1][2:] == ("OBSERVE", True)


def test_identical_failures_of_the_job_stop_it(live: Live) -> None:
    start(live)
    fail(live)
    live.write("starting again", mode="w")
    live.tell(live.runs(1))
    live.tick(2)
    fail(live, 1)
    assert live.advice()[-1] == (SECOND_TRY, 2, "STOP", True)


def test_a_fault_in_the_kernel_log_of_its_node_excludes_the_node(live: Live) -> None:
    live.kernel.mkdir()
    log = live.kernel / "node2.log"
    log.write_text("2026-01-02T03:00:00+00:00 node2 kernel: usb 1-1: new device\n")
    start(live)
    with log.open("a") as file:
        file.write(
            "2026-01-02T03:04:28+00:00 node2 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=77, "
            "name=python, GPU has fallen off the bus.\n"
        )
    live.write("srun: error: node2: task 1: Killed")
    live.tick()
    live.tell(live.held(1))
    live.tick(2)
    assert live.advice()[-1] == (FIRST, 2, "RESTART_EXCLUDING", True)
    assert live.written()[-1].exclude_nodes == ("node2",)


@pytest.mark.parametrize("restarts", [False, True])
def test_a_fault_in_the_seconds_before_its_job_was_seen_is_not_lost(
    live: Live,
    restarts: bool,  # noqa: FBT001
) -> None:
    live.kernel.mkdir()
    log = live.kernel / "node2.log"
    log.write_text("2026-01-02T03:00:00+00:00 node2 kernel: usb 1-1: new device\n")
    live.tell(live.job(job_id="6", raw_job_id=6))  # the node is read for it
    live.tick(3)
    with log.open("a") as file:
        file.write(
            "2026-01-02T03:04:10+00:00 node2 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=77, "
            "name=python, GPU has fallen off the bus.\n"
        )
    live.tick(6)
    other = live.path / "logs" / "other.out"
    other.write_text("iter 1: loss 3.9, time 1000.00ms\nsrun: error: node2: task 1: Killed\n")
    if restarts:
        live.restart()
    failed = live.end_of(0, std_out=str(other), end_time=T0 + 6 * SECOND)
    live.tell(live.job(job_id="6", raw_job_id=6), failed)
    live.tick(2)
    about = [one for one in live.written() if one.attempt.startswith("lab/7@")]
    assert about[-1].exclude_nodes == ("node2",)
    assert [comparable(one) for one in live.written()] == live.replayed()


def test_a_fault_in_the_kernel_log_of_another_node_is_of_no_interest(live: Live) -> None:
    live.kernel.mkdir()
    start(live)
    (live.kernel / "node3.log").write_text(
        "2026-01-02T03:04:28+00:00 node3 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=77, "
        "name=python, GPU has fallen off the bus.\n"
    )
    live.tick(3)
    assert live.advice() == []


def test_a_fault_from_before_the_attempt_began_is_none_of_its_own(live: Live) -> None:
    """Another job's GPU was lost on this node, and what the kernel said of it is still there."""
    live.kernel.mkdir()
    (live.kernel / "node2.log").write_text(
        "2026-01-02T03:03:40+00:00 node2 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=77, "
        "name=python, GPU has fallen off the bus.\n"
    )
    start(live, 60)
    assert live.advice() == []
    live.write("srun: error: node2: task 1: Killed")
    live.tick()
    live.tell(live.held(1))
    live.tick(2)
    assert live.advice()[-1] == (FIRST, 2, "RESTART", True)


def test_the_first_new_step_is_a_milestone(live: Live) -> None:
    start(live)
    fail(live)
    live.write("starting again", mode="w")
    live.tell(live.runs(1))
    live.tick(3)
    attempt = live.record(1).attempt
    assert live.ledger.milestones(attempt) == []
    live.train(2)
    (reached,) = live.ledger.milestones(attempt)
    assert reached.milestone is Milestone.PROGRESS_RESTORED
    assert reached.advice_id == live.written()[-1].advice_id


def test_a_job_that_did_not_opt_in_is_only_watched(live: Live) -> None:
    live.clock.advance(2)
    live.tell(live.job(comment=None))
    live.write(*ERROR)
    live.tick()
    live.tell(live.held(1, comment=None))
    live.tick(2)
    assert {one.mode for one in live.written()} == {Mode.MONITOR}


def test_a_log_that_may_not_be_read_is_no_hang(live: Live) -> None:
    live.clock.advance(2)
    elsewhere = live.path / "elsewhere.out"
    elsewhere.write_text("starting\n")
    live.tell(live.job(std_out=str(elsewhere)))
    live.tick(300)
    assert live.advice() == []
    live.tell(live.end_of(0, std_out=str(elsewhere)))
    live.tick(15)
    assert live.advice()[-1] == (FIRST, 2, "RESTART", True)
    assert not live.record(0).landed.complete


def test_what_had_failed_before_the_service_was_there_is_not_its_business(live: Live) -> None:
    live.write(*ERROR)
    live.tell(live.end_of(0, end_time=T0 - 60 * SECOND))
    live.tick(30)
    assert live.advice() == []


def test_a_job_that_slurm_forgets_is_only_observed(live: Live) -> None:
    start(live)
    live.write(*ERROR)
    for _ in range(5):
        live.tick(10)
        live.tell()
    assert live.record(0).state == "UNKNOWN"
    assert live.advice()[-1][2:] == ("OBSERVE", True)


def whole_story(live: Live, *, restarts: bool) -> None:
    """Fail, be held, come back, fail again; with the service killed after every move."""

    def pause() -> None:
        if restarts:
            live.restart()

    start(live)
    pause()
    live.tell(live.job())
    live.write(*ERROR)
    pause()
    live.tell(live.job())
    live.tick()
    pause()
    live.tell(live.held(1))
    pause()
    live.tell(live.held(1))
    live.tick(2)
    pause()
    live.write("starting again", mode="w")
    live.tell(live.runs(1))
    began = live.clock.now() // SECOND * SECOND
    live.train(15)
    pause()
    live.tell(live.runs(1, submit_time=began, start_time=began))
    live.train(5)
    live.write("[rank0]: ValueError: the shapes do not match")
    live.tick()
    pause()
    live.tell(live.held(2))
    live.tick(2)
    pause()
    live.tell(live.held(2))
    live.tick(2)


@pytest.mark.parametrize("restarts", [False, True], ids=["one run", "killed after every move"])
def test_the_advice_is_that_of_a_replay_however_often_the_service_was_killed(
    live: Live,
    restarts: bool,  # noqa: FBT001
) -> None:
    whole_story(live, restarts=restarts)
    assert live.advice() == [
        (FIRST, 1, "RESTART", False),
        (FIRST, 2, "RESTART", True),
        (SECOND_TRY, 1, "RESTART", False),
        (SECOND_TRY, 2, "RESTART", True),
    ]
    assert [comparable(one) for one in live.written()] == live.replayed()
    assert (live.record(1).first_step, live.record(1).last_step) == (21, 40)
    assert live.aftermath() == live.aftermath_replayed()
    assert [one.ending for one in live.ledger.incidents()] == ["the attempt is over"] * 2


def test_a_restart_judges_again_only_what_the_present_attempts_need(live: Live) -> None:
    whole_story(live, restarts=False)
    live.tick(700)
    horizon = int(live.session._lake.positions["judge"])  # noqa: SLF001 - what a restart reads
    assert horizon > 60  # where the story ends
    live.restart()
    live.write("starting again", mode="w")
    live.tell(live.runs(2))
    fail(live, 2)
    assert live.written()[-1].budget.used == 0  # both attempts before had come further


def test_an_attempt_that_is_done_with_is_not_judged_again_after_a_restart(live: Live) -> None:
    start(live)
    live.write(*ERROR)
    live.tick()
    failed = live.end_of(0)
    live.tell(failed)
    live.tick(3)
    before = live.written()
    live.restart()
    live.tell(failed)
    live.tick(20)
    assert live.written() == before
    assert [comparable(one) for one in before] == live.replayed()


def test_what_is_done_with_is_not_judged_by_its_last_lines_after_a_restart(live: Live) -> None:
    """A restart reads the lake from the begin of the oldest attempt that goes on: here of job 8."""
    start(live)
    other = live.job(job_id="8", raw_job_id=8, std_out=None, start_time=live.clock.now())
    live.tell(live.job(), other)
    live.tick(2)
    live.write(*ERROR)
    live.tick()
    failed = live.end_of(0)
    live.tell(failed, other)
    live.tick(10)  # until what is needed by a restart has been written down anew
    before, record = live.written(), live.record(0)
    assert before[-1].settled
    assert record.fingerprint is not None
    live.restart()
    live.tell(failed, other)
    live.tick(20)
    assert live.written() == before
    assert live.record(0) == record


def test_the_time_in_which_nobody_looked_is_no_hang(live: Live) -> None:
    start(live, 40)
    live.clock.advance(3600)
    live.restart()
    live.tell(live.job())
    live.tick(290)
    assert live.decided() == []


def test_a_lake_of_recordings_is_refused(live: Live) -> None:
    live.session.close()
    recordings = replace(live.around, lake=live.path / "recordings")
    with LakeWriter(recordings.lake) as lake:
        lake.commit({"import log /a.log": "{}"})
    with pytest.raises(InputError, match="recordings that `relume lake import` brought"):
        Session(recordings)
    LakeWriter(recordings.lake).close()  # it was let go of
