"""One attempt from its first line to its settled Advice, by the clock of the ticks."""

from __future__ import annotations

from typing import Any

import pytest

from relume.advice import Advice, Operation
from relume.identity import AttemptId
from relume.ingest.blocks import BlockAssembler
from relume.ingest.loglines import LineParser
from relume.models.diagnosis.missing import JOB_LOG
from relume.models.policy.view import PastAttempt
from relume.serve.analysis import AttemptAnalysis
from relume.serve.live.watch import (
    DIAGNOSIS_FAILED,
    MICROSECONDS,
    AttemptWatch,
    JobFacts,
    WatchSettings,
)
from relume.serve.offline import Analyzer
from relume.verdict import Kind

ATTEMPT = AttemptId.parse("lab/7@1767323045.0")
LOG = "job.log"
ANALYZER = Analyzer()
NODES = ("gpu-a01", "gpu-a02", "gpu-a03")


class Story:
    """Feeds one attempt second by second."""

    def __init__(self, **changes: Any) -> None:
        self.watch = AttemptWatch(ATTEMPT, ANALYZER.begin(str(ATTEMPT), [LOG]), **changes)
        self.now = 0
        self.advice: list[Advice] = []
        self._assembler = BlockAssembler(LOG)
        self._parser = LineParser(LOG)
        self.watch.start(0)
        self.watch.note_job(JobFacts(state="RUNNING", nodes=NODES), 0)

    def say(self, *lines: str) -> None:
        raw = "".join(f"{line}\n" for line in lines).encode()
        for block in [*self._assembler.feed(raw), *self._assembler.finish()]:
            self.watch.feed(block, self._parser, self.now)

    def pass_time(self, seconds: int) -> None:
        for _ in range(seconds):
            self.now += MICROSECONDS
            advice = self.watch.advance(self.now)
            if advice is not None:
                self.advice.append(advice)

    def train(self, steps: int, first: int = 0) -> None:
        for step in range(first, first + steps):
            self.say(f"iter {step}: loss 3.9, time 1000.00ms")
            self.pass_time(1)

    def end(self, state: str) -> None:
        facts = JobFacts(state=state, nodes=NODES, exit_code=1, ended=True)
        self.watch.note_job(facts, self.now)


def operations(story: Story) -> list[tuple[int, str, bool]]:
    return [(a.generation, a.operation.value, a.settled) for a in story.advice]


def test_a_healthy_attempt_gets_no_advice() -> None:
    story = Story()
    story.train(60)
    story.end("COMPLETED")
    story.watch.note_landed()
    story.pass_time(30)
    assert story.advice == []


def test_a_failed_node_is_excluded_in_the_settled_generation_only() -> None:
    story = Story()
    story.train(30)
    story.say("srun: error: Node failure on gpu-a02")
    story.end("FAILED")
    story.pass_time(15)
    assert operations(story) == [(1, "RESTART", False), (2, "RESTART_EXCLUDING", True)]
    first, second = story.advice
    assert second.exclude_nodes == ("gpu-a02",)
    assert second.created_at - first.created_at == 10 * MICROSECONDS


def test_a_failure_of_a_running_job_settles_only_when_the_job_has_gone_quiet() -> None:
    story = Story()
    story.train(30)
    story.say("srun: error: Node failure on gpu-a02")
    story.pass_time(29)
    assert operations(story) == [(1, "RESTART", False)]
    story.pass_time(10)
    assert operations(story)[1:] == [(2, "RESTART_EXCLUDING", True)]


def test_a_failure_line_that_the_job_gets_over_is_taken_back() -> None:
    story = Story()
    story.train(30)
    story.say("[rank1]: Traceback (most recent call last):", "[rank1]: KeyError: 'x'")
    story.pass_time(5)
    assert operations(story) == [(1, "RESTART", False)]
    story.train(60, first=30)
    assert operations(story)[1:] == [(2, "OBSERVE", True)]


def test_a_failure_after_one_that_was_taken_back_gets_its_advice() -> None:
    story = Story()
    story.train(30)
    story.say("[rank1]: Traceback (most recent call last):", "[rank1]: KeyError: 'x'")
    story.pass_time(2)
    story.train(30, first=30)
    assert operations(story)[-1] == (2, "OBSERVE", True)
    story.end("FAILED")
    story.watch.note_landed()
    story.pass_time(3)
    assert operations(story)[2:] == [(3, "RESTART", True)]


@pytest.mark.parametrize("state", ["FAILED", "OUT_OF_MEMORY"])
def test_a_failure_without_any_log_is_restarted_and_nobody_excluded(state: str) -> None:
    story = Story()
    story.pass_time(5)
    story.end(state)
    story.pass_time(15)
    assert operations(story) == [(1, "RESTART", False), (2, "RESTART", True)]
    for advice in story.advice:
        assert (advice.kind, advice.cause, advice.exclude_nodes) == (Kind.CRASH, None, ())
        assert advice.missing_evidence[0] == JOB_LOG
        assert advice.confidence < 0.7


def test_without_a_log_too_the_tries_come_to_an_end() -> None:
    past = [PastAttempt(count, f"failure {count}", None, None) for count in range(5)]
    story = Story(history=tuple(past))
    story.end("FAILED")
    story.pass_time(15)
    assert operations(story)[-1] == (2, "STOP", True)


@pytest.mark.parametrize("state", ["NODE_FAIL", "TIMEOUT", "PREEMPTED", "CANCELLED", "COMPLETED"])
def test_without_a_log_the_schedulers_own_ends_are_left_alone(state: str) -> None:
    story = Story()
    story.end(state)
    story.pass_time(15)
    assert {operation for _, operation, _ in operations(story)} <= {"OBSERVE"}


def test_an_end_has_its_own_time_to_settle() -> None:
    story = Story()
    story.train(30)
    story.say("[rank1]: KeyError: 'x'")
    story.pass_time(25)
    story.end("FAILED")
    story.pass_time(9)
    assert operations(story) == [(1, "RESTART", False)]
    story.pass_time(3)
    assert operations(story)[1:] == [(2, "RESTART", True)]


def test_what_nobody_looked_at_is_no_hang() -> None:
    story = Story()
    story.train(40)
    story.watch.note_source("log", healthy=False, event_time=story.now)
    story.pass_time(600)
    assert story.advice == []
    story.watch.note_source("log", healthy=True, event_time=story.now)
    story.pass_time(290)
    assert story.advice == []
    story.pass_time(20)
    assert [a.kind for a in story.advice] == [Kind.HANG]


def test_a_job_that_goes_on_talking_is_no_hang_for_long() -> None:
    story = Story()
    story.train(40)
    for batch in range(100):
        story.say(f"scoring batch {batch} of the long benchmark")
        story.pass_time(10)
    assert story.advice == []


def test_a_diagnosis_that_fails_leaves_the_word_of_the_scheduler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a defect")

    story = Story()
    story.train(10)
    monkeypatch.setattr(AttemptAnalysis, "verdict", broken)
    story.pass_time(5)
    assert story.advice == []
    story.end("FAILED")
    story.watch.note_landed()
    story.pass_time(2)
    assert operations(story) == [(1, "RESTART", True)]
    assert story.advice[0].missing_evidence == (DIAGNOSIS_FAILED,)


def test_the_end_of_all_logs_settles_at_once() -> None:
    story = Story()
    story.train(30)
    story.say("[rank1]: KeyError: 'x'")
    story.end("FAILED")
    story.pass_time(1)
    story.watch.note_landed()
    story.pass_time(60)
    assert operations(story) == [(1, "RESTART", False), (2, "RESTART", True)]
    assert story.advice[1].created_at - story.advice[0].created_at == MICROSECONDS


def test_a_node_outside_the_run_is_never_excluded_whatever_the_log_says() -> None:
    story = Story()
    story.train(10)
    story.say("srun: error: Node failure on gpu-z99")
    story.pass_time(60)
    assert story.advice == []  # it is nobody of this run: set aside, and the job goes on


def test_a_silent_job_is_restarted_when_the_hang_is_actionable() -> None:
    story = Story()
    story.train(40)
    story.pass_time(295)
    assert story.advice == []
    story.pass_time(60)
    assert operations(story) == [(1, "RESTART", False), (2, "RESTART", True)]
    assert story.advice[0].kind is Kind.HANG
    assert story.advice[0].rule == "actionable_gap"


@pytest.mark.parametrize(
    ("state", "why"), [("REQUEUED", "JOB REQUEUE"), ("CANCELLED", "TIME LIMIT")]
)
def test_the_end_that_was_advised_is_no_other_finding(state: str, why: str) -> None:
    story = Story()
    story.train(40)
    story.pass_time(345)
    story.say(
        f"slurmstepd: error: *** STEP 7.0 ON gpu-a01 CANCELLED AT 2026-01-02T03:04:05 DUE TO {why} ***",
        f"slurmstepd: error: *** JOB 7 ON gpu-a01 CANCELLED AT 2026-01-02T03:04:05 DUE TO {why} ***",
    )
    story.pass_time(2)
    story.end(state)
    story.pass_time(30)
    assert operations(story) == [(1, "RESTART", False), (2, "RESTART", True)]
    assert story.watch.verdict is not None
    assert story.watch.verdict.kind is Kind.HANG


def test_a_checkpoint_may_take_long() -> None:
    story = Story()
    story.train(40)
    story.say("saving checkpoint at iteration      40 to /ckpt/run7")
    story.pass_time(900)
    assert story.advice == []
    story.train(20, first=40)
    assert story.advice == []


def test_a_failure_without_any_word_is_restarted_with_the_cause_unknown() -> None:
    story = Story()
    story.train(10)
    story.end("FAILED")
    story.watch.note_landed()
    story.pass_time(3)
    assert operations(story) == [(1, "RESTART", True)]


@pytest.mark.parametrize("state", ["CANCELLED", "COMPLETED"])
def test_an_end_that_is_no_failure_is_left_alone(state: str) -> None:
    story = Story()
    story.train(10)
    story.end(state)
    story.watch.note_landed()
    story.pass_time(30)
    assert story.advice == []


def test_the_second_identical_failure_without_progress_stops_the_run() -> None:
    first = Story()
    first.train(10)
    first.say("[rank1]: KeyError: 'x'")
    first.end("FAILED")
    first.watch.note_landed()
    first.pass_time(2)
    again = Story(history=(first.watch.outcome(),))
    again.train(10)
    again.say("[rank3]: KeyError: 'x'")
    again.end("FAILED")
    again.watch.note_landed()
    again.pass_time(2)
    assert again.advice[-1].operation is Operation.STOP


def test_tries_that_are_used_up_stop_the_run() -> None:
    history = tuple(PastAttempt(n, f"f{n}", None, None) for n in range(3))
    story = Story(history=history, settings=WatchSettings())
    story.train(3)
    story.end("FAILED")
    story.watch.note_landed()
    story.pass_time(2)
    assert story.advice[-1].operation is Operation.STOP


def test_lines_of_a_running_attempt_are_looked_for_only_when_somebody_asks() -> None:
    story = Story()
    story.train(30)
    story.say("vault: seal 4 is broken, nobody may go on")
    story.pass_time(400)
    verdict, shown = story.watch.verdict, story.watch.shown_verdict()
    assert verdict is not None
    assert shown is not None
    assert (verdict.kind, verdict.unrecognised) == (Kind.HANG, ())
    assert [line.text for line in shown.unrecognised] == [
        "vault: seal 4 is broken, nobody may go on"
    ]
    assert Story().watch.shown_verdict() is None
