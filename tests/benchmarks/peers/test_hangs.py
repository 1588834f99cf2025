"""The hang half of `peers`: what the timers of others do, and what is counted."""

from __future__ import annotations

import pytest

from relume.benchmarks.peers.bench import run
from relume.benchmarks.peers.hangs import table
from relume.benchmarks.peers.timers import FixedTimer, LargestGap
from relume.models.hang.known import MICROSECONDS
from relume.models.hang.settings import HangSettings


def second_found(timer: FixedTimer, begin: int, seconds: int) -> list[int]:
    return [
        second for second in range(begin, begin + seconds) if timer.advance(second * MICROSECONDS)
    ]


def test_a_fixed_timer_tells_each_silence_once() -> None:
    timer = FixedTimer()
    assert second_found(timer, 0, 2000) == []
    timer.progress(2000 * MICROSECONDS)
    assert second_found(timer, 2000, 2000) == [2601]
    timer.progress(4000 * MICROSECONDS)
    assert second_found(timer, 4000, 601) == []


def test_the_largest_gap_counts_from_the_third_on() -> None:
    timer = LargestGap()
    for second in (0, 10, 30):
        timer.progress(second * MICROSECONDS)
    assert timer.patience() == 2700.0
    timer.progress(40 * MICROSECONDS)
    assert timer.patience() == 100.0
    assert second_found(timer, 40, 200) == [141]


def test_all_watch_the_same_days() -> None:
    rows = table(2, HangSettings())
    assert {row.job_days for row in rows.values()} == {10}
    assert {len(row.delays) for row in rows.values()} == {10}
    assert rows["fixed_600_s"].delays == pytest.approx([601.0] * 10)
    assert max(rows["ours_known"].delays) <= max(rows["ours_new"].delays)


def test_the_bench_shows_delay_and_false_alarms_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relume.benchmarks.peers.bench.QUICK_JOBS", 1)
    result = run(quick=True)
    for name in ("ours_known", "ours_new", "fixed_600_s", "five_times_largest_gap"):
        assert f"hang_{name}_delay_p50_seconds" in result.measures
        assert f"hang_{name}_false_alarms_per_job_day" in result.measures
