"""The hang half of `false-alarms`: days are watched as a service would, and alarms are counted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from relume.benchmarks.false_alarms.bench import run
from relume.benchmarks.false_alarms.hangs import Said, quiet
from relume.benchmarks.false_alarms.plans import Pause, Schedule, job_plan
from relume.benchmarks.false_alarms.quiet import QuietDay, Regime, quiet_day
from relume.benchmarks.false_alarms.silences import detector_of, left_by, polls_of, watch
from relume.models.hang.detector import HangDetection, HangDetector, Level
from relume.models.hang.known import MICROSECONDS
from relume.models.hang.settings import HangSettings


def a_day(pace: float, *schedules: Schedule) -> QuietDay:
    plan = replace(job_plan(1, pace_seconds=pace), schedules=schedules)
    return quiet_day(plan, Regime.INDEPENDENT)


@dataclass
class Recorder(HangDetector):
    """Our detector, asked every second."""

    phases: list[str] = field(default_factory=list)

    def enter(self, phase: str) -> None:
        self.phases.append(phase)
        HangDetector.enter(self, phase)


def test_lines_of_one_second_come_together() -> None:
    day = a_day(0.5)
    polls = polls_of(day)
    assert (np.diff(polls.seconds) > 0).all()
    assert polls.lines.sum() == day.line_seconds.size
    assert set(polls.lines[1:-1].tolist()) <= {1, 2, 3}
    assert (polls.seconds >= day.line_seconds[polls.last]).all()


def test_only_pauses_that_are_announced_are_told() -> None:
    for is_announced in (True, False):
        save = Schedule(pause=Pause.CHECKPOINT, every=100, seconds=60.0, is_announced=is_announced)
        told = Recorder()
        list(watch(told, a_day(5.0, save)))
        assert set(told.phases) == ({"checkpoint"} if is_announced else set())


def test_the_ticks_that_are_left_out_would_have_found_nothing() -> None:
    save = Schedule(pause=Pause.CHECKPOINT, every=500, seconds=700.0, is_announced=False)
    day = a_day(9.0, save)
    found = list(watch(HangDetector(), day))
    plain, every, before = HangDetector(), list[HangDetection](), 0
    plain.start(0)
    polls = polls_of(day)
    for second, lines in zip(polls.seconds.tolist(), polls.lines.tolist(), strict=True):
        for tick in range(before + 1, second + 1):
            every += plain.advance(tick * MICROSECONDS)
        plain.progress(second * MICROSECONDS, lines)
        before = second
    assert found == every
    assert {one.level for one in found} == {Level.SUSPICION, Level.ACTIONABLE}


def test_what_a_day_left_is_known_on_the_next_one() -> None:
    save = Schedule(pause=Pause.CHECKPOINT, every=500, seconds=700.0, is_announced=False)
    day = a_day(9.0, save)
    first = detector_of(HangSettings())
    assert Level.ACTIONABLE in {one.level for one in watch(first, day)}
    second = detector_of(HangSettings(), [left_by(first, day, 0)])
    later = quiet_day(day.plan, Regime.INDEPENDENT, 1)
    begin = 10**12
    assert Level.ACTIONABLE not in {one.level for one in watch(second, later, begin)}


def test_days_are_counted_apart_and_the_interval_is_one_sided() -> None:
    new, known = quiet(Regime.INDEPENDENT, 4, HangSettings())
    assert (new.job_days, known.job_days) == (4, 4)
    said = Said(1000)
    said.levels[Level.ACTIONABLE] = 4
    bounded = said.bounded()
    assert isinstance(bounded, dict)
    assert bounded["high"] == pytest.approx(0.0092, abs=1e-4)


def test_the_bench_has_a_bar_for_each_regime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relume.benchmarks.false_alarms.bench.QUICK_JOB_DAYS", 4)
    result = run(quick=True)
    hangs = ("hang_new", "hang_known", "with_metrics_new", "with_metrics_known")
    halves = (*hangs, "straggler", "straggler_any_pace")
    assert result.bars.keys() == {f"{half}_{one}" for half in halves for one in Regime}
    assert result.bars.keys() <= result.measures.keys()
    assert "hang_new_slow_filesystem" in result.measures
