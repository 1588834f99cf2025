"""One attempt from its first line to its settled Advice, by the clock of the ticks."""

from __future__ import annotations

from typing import Any

import pytest

from relume.advice import Advice, Operation
from relume.clock import MICROSECONDS_PER_SECOND as MICROSECONDS
from relume.events import Sample
from relume.identity import AttemptId
from relume.ingest.blocks import BlockAssembler
from relume.ingest.loglines import LineParser
from relume.models.diagnosis.missing import JOB_LOG
from relume.models.family.prior import Family
from relume.models.hang.detector import HangDetector
from relume.models.hang.known import Known
from relume.models.hang.signs import Sign
from relume.models.policy.rules import SUSPECTED_HANG_RULE
from relume.models.policy.view import PastAttempt
from relume.models.policy.wishes import read_wishes
from relume.serve.analysis import AttemptAnalysis
from relume.serve.live.jobfacts import JobFacts
from relume.serve.live.silence import NO_CAPTURE
from relume.serve.live.verdicts import DIAGNOSIS_FAILED
from relume.serve.live.watch import AttemptWatch, WatchSettings
from relume.serve.offline import Analyzer
from relume.verdict import Domain, Health, Kind

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
            self.watch.look(self.now)
            advice = self.watch.decide(self.now)
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


def decided(story: Story) -> list[Advice]:
    """What was advised beside a closer look at a silence."""
    return [one for one in story.advice if one.rule != SUSPECTED_HANG_RULE]


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
    assert decided(story) == []
    story.pass_time(20)
    assert [a.kind for a in decided(story)] == [Kind.HANG]


def test_a_job_that_goes_on_talking_is_no_hang_for_long() -> None:
    story = Story()
    story.train(40)
    for batch in range(100):
        story.say(f"scoring batch {batch} of the long benchmark")
        story.pass_time(10)
    assert decided(story) == []


def test_a_wrapper_that_only_says_that_it_waits_is_no_sign_of_life() -> None:
    story = Story()
    story.train(40)
    for minute in range(6):
        story.say(f"[rank3] heartbeat: waiting for peers ({minute} min)")
        story.pass_time(60)
    assert decided(story)[0].kind is Kind.HANG


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
    # It is nobody of this run: set aside. The silence is watched as any is, and nothing more.
    assert decided(story) == []
    assert {(one.operation, one.exclude_nodes) for one in story.advice} == {(Operation.OBSERVE, ())}


def test_a_silent_job_is_restarted_when_the_hang_is_actionable() -> None:
    story = Story()
    story.train(40)
    story.pass_time(295)
    assert operations(story) == [(1, "OBSERVE", True)]
    assert story.advice[0].kind is Kind.UNKNOWN
    story.pass_time(60)
    assert operations(story)[1:] == [(2, "RESTART", False), (3, "RESTART", True)]
    assert story.advice[1].kind is Kind.HANG
    assert story.advice[1].rule == "actionable_gap"


def test_a_suspicion_asks_for_the_evidence_that_the_comment_names() -> None:
    comment = '{"relume": {"capture": ["ras", "py_spy", "core"], "checkpoint_signal": "USR1"}}'
    story = Story(wishes=read_wishes(comment))
    story.train(40)
    story.pass_time(31)
    [asked] = story.advice
    assert asked.created_at == story.now - MICROSECONDS
    assert [one.value for one in asked.requests] == ["signal", "py_spy", "ras"]
    assert NO_CAPTURE not in asked.missing_evidence
    silent = Story()
    silent.train(40)
    silent.pass_time(31)
    [unasked] = silent.advice
    assert unasked.requests == ()
    assert NO_CAPTURE in unasked.missing_evidence


def test_each_silence_is_suspected_once_and_its_end_is_no_news() -> None:
    story = Story()
    for silence in range(3):
        story.train(40, first=40 * silence)
        story.pass_time(60)
    story.train(5, first=120)
    assert operations(story) == [(n, "OBSERVE", True) for n in (1, 2, 3)]


def test_what_another_source_sees_makes_a_suspicion_a_hang() -> None:
    story = Story()
    story.train(40)
    story.pass_time(85)
    story.watch.note_sign(
        Sign(
            source="nic_bytes",
            health=Health.UNHEALTHY,
            since=story.now - 20 * MICROSECONDS,
            event_time=story.now,
            reason="none of 2 nodes sends anything",
        )
    )
    story.pass_time(15)
    assert operations(story)[1:] == [(2, "RESTART", False), (3, "RESTART", True)]
    assert story.watch.verdict is not None
    assert "nic_bytes agrees" in story.watch.verdict.why[-1]


def test_one_rank_that_prints_for_all_is_enough() -> None:
    story = Story()
    for step in range(200):
        story.say(f"[rank0]: iter {step}: loss 3.9, time 1000.00ms")
        if step == 0:
            story.say("[rank1]: ready", "[rank2]: ready")
        story.pass_time(1)
    assert story.advice == []
    story.pass_time(310)
    assert decided(story)[0].kind is Kind.HANG


def test_workers_that_start_again_have_their_time() -> None:
    story = Story()
    story.train(40)
    story.say("[default] starting workers for entrypoint: train.py")
    story.pass_time(1700)
    assert decided(story) == []
    story.train(40)
    assert decided(story) == []


def test_what_comes_after_the_last_step_may_take_an_hour() -> None:
    story = Story()
    story.train(40)
    story.say("[after training is done] datetime: 2026-01-02 03:04:05")
    story.pass_time(3500)
    assert decided(story) == []


def test_a_start_up_that_takes_far_longer_than_those_before_is_a_hang_of_its_own() -> None:
    before = []
    for number in range(3):
        detector = HangDetector(known=Known(nodes=len(NODES), framework="nanogpt"))
        detector.start(0)
        detector.progress(100 * MICROSECONDS)
        before.append(detector.left(f"lab/{number}@1.0", 200 * MICROSECONDS))
    story = Story(family=Family(before))
    story.pass_time(1795)
    assert operations(story) == [(1, "OBSERVE", True)]
    story.pass_time(10)
    assert decided(story)[0].cause == "no_first_step"


def test_an_attempt_leaves_what_it_showed_up_to_its_end() -> None:
    story = Story()
    story.train(40)
    assert story.watch.note_over(story.now) is None
    story.end("FAILED")
    left = story.watch.note_over(story.now + 5 * MICROSECONDS)
    assert left is not None
    assert (left.framework, left.nodes, left.lines, left.stalled_step) == ("nanogpt", 3, 40, 39)
    assert left.phases["train"].longest_seconds == 1.0
    story.train(5, first=40)
    assert story.watch.note_over(story.now) == left


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
    assert operations(story)[1:] == [(2, "RESTART", False), (3, "RESTART", True)]
    assert story.watch.verdict is not None
    assert story.watch.verdict.kind is Kind.HANG


def test_a_checkpoint_may_take_long() -> None:
    story = Story()
    story.train(40)
    story.say("saving checkpoint at iteration      40 to /ckpt/run7")
    story.pass_time(900)
    story.train(20, first=40)
    assert decided(story) == []


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


def slow_down(story: Story, steps: int, *, ranks: int = 1, slow_rank: int | None = None) -> None:
    """Steps of 5 s with a little noise of their own, a fifth longer after so many."""
    for number in range(steps + 40):
        for rank in range(ranks):
            is_slow = number >= steps and slow_rank in {None, rank}
            milliseconds = (6000 if is_slow else 5000) + 13 * ((number * 7 + rank) % 11)
            name = f"{rank}: " if ranks > 1 else ""
            story.say(f"{name}iter {number}: loss 3.9, time {milliseconds}.00ms")
        story.pass_time(5)


def slow_advice(story: Story) -> list[Advice]:
    return [one for one in story.advice if one.kind is Kind.STRAGGLER]


def test_a_job_that_became_slow_is_observed_once() -> None:
    story = Story()
    slow_down(story, 1100)
    assert [(one.rule, one.operation.value) for one in slow_advice(story)] == [
        ("slow_steps", "OBSERVE")
    ]
    advice = slow_advice(story)[0]
    assert (advice.cause, advice.settled) == ("sustained_slowdown", True)
    assert advice.missing_evidence
    assert 1100 * 5 < advice.created_at / MICROSECONDS < 1116 * 5


def test_a_suspicion_of_slow_steps_is_told_where_that_is_wanted() -> None:
    quiet, told = Story(), Story(settings=WatchSettings(suspects_stragglers=True))
    for story in (quiet, told):
        slow_down(story, 200)
    assert slow_advice(quiet) == []
    assert [one.rule for one in slow_advice(told)] == ["slow_steps_suspected"]


def test_a_slow_rank_is_named_and_nothing_is_done_to_its_node() -> None:
    story = Story()
    slow_down(story, 1100, ranks=4, slow_rank=0)
    advice = slow_advice(story)[-1]
    assert (advice.operation, advice.cause) == (Operation.OBSERVE, "slow_worker")
    assert advice.exclude_nodes == ()


def measure(
    story: Story, clocks: dict[str, float], bits: dict[str, int], nodes: tuple[str, ...] = NODES
) -> None:
    """Clocks and throttle reasons of the nodes' GPUs, as they are now."""
    for node in nodes:
        for gpu in "0123":
            for metric, value in (
                ("gpu_sm_clock_hertz", clocks.get(node, 1.98e9)),
                ("gpu_throttle_reasons_bits", float(bits.get(node, 0))),
            ):
                story.watch.note_sample(
                    Sample(
                        source="dcgm",
                        metric=metric,
                        value=value,
                        node=node,
                        gpu=gpu,
                        event_time=story.now,
                    ),
                    story.now,
                )


HOT: dict[str, Any] = {"clocks": {"gpu-a02": 1.1e9}, "bits": {"gpu-a02": 0x48}}


def slow_while(hot: dict[str, Any]) -> Story:
    """A job that becomes slow at its step 1,100, measured every third step."""
    story = Story()
    measuring = Story.pass_time

    def pass_time(seconds: int) -> None:
        measuring(story, seconds)
        step = story.now // MICROSECONDS // 5
        if step % 3 == 0:
            measure(story, **(hot if step >= 1100 else {"clocks": {}, "bits": {}}))

    story.pass_time = pass_time  # type: ignore[method-assign]
    slow_down(story, 1100)
    return story


def test_a_hot_node_of_a_slow_job_is_named_and_nothing_is_done_to_it() -> None:
    [advice] = slow_advice(slow_while(HOT))
    assert (advice.cause, advice.domain) == ("thermal", Domain.HARDWARE)
    assert (advice.operation, advice.exclude_nodes) == (Operation.OBSERVE, ())


@pytest.mark.parametrize(
    "hot",
    [
        {"clocks": {}, "bits": {}},
        {"clocks": dict.fromkeys(NODES, 1.1e9), "bits": dict.fromkeys(NODES, 0x48)},
        {**HOT, "nodes": ("gpu-a02",)},
        {"clocks": {"gpu-z99": 1.1e9}, "bits": {"gpu-z99": 0x48}, "nodes": (*NODES, "gpu-z99")},
    ],
    ids=["all well", "all alike", "no peers", "another job's node"],
)
def test_metrics_of_a_slow_job_that_accuse_nobody_change_nothing(hot: dict[str, Any]) -> None:
    plain = Story()
    slow_down(plain, 1100)
    assert slow_advice(slow_while(hot)) == slow_advice(plain)


def test_a_crash_after_a_slowdown_is_decided_as_ever() -> None:
    story = Story()
    slow_down(story, 1100)
    story.say("[rank1]: RuntimeError: CUDA error: an illegal memory access was encountered")
    story.end("FAILED")
    story.watch.note_landed()
    story.pass_time(30)
    assert story.advice[-1].kind is Kind.CRASH
    assert story.advice[-1].operation is Operation.RESTART
    assert story.advice[-1].generation == len(story.advice)


def test_ticks_that_change_nothing_can_be_left_out_of_a_slow_job() -> None:
    story = Story()
    slow_down(story, 1100)
    assert story.watch.next_change(story.now) != story.now  # the slowdown was told


def test_a_detector_that_fails_costs_a_job_no_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr("relume.models.straggler.detector.StragglerDetector.take", broken)
    story = Story()
    story.train(30)
    story.say("[rank1]: RuntimeError: CUDA error: an illegal memory access was encountered")
    story.end("FAILED")
    story.watch.note_landed()
    story.pass_time(30)
    assert [one.operation.value for one in decided(story)][-1:] == ["RESTART"]


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
