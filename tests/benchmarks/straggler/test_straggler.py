"""Benches of slow steps: what is put in is known, and what they count is what they say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from relume.benchmarks.false_alarms.quiet import Regime
from relume.benchmarks.false_alarms.stragglers import count_alarms
from relume.benchmarks.straggler import attribution
from relume.benchmarks.straggler.bench import SETTINGS
from relume.benchmarks.straggler.fleet import count_fleet
from relume.benchmarks.straggler.injected import LATE_SECONDS, LEAST_SECONDS, inject, judge
from relume.benchmarks.straggler.recorded import BLOCK, Recording
from relume.models.straggler.evidence import Blame
from relume.models.straggler.settings import StragglerSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOISE = np.random.default_rng(2).normal(1.0, 0.01, 80)
STEADY = Recording("made up", NOISE / np.median(NOISE))


def test_a_recording_that_is_made_longer_is_made_of_its_own_blocks() -> None:
    longer = STEADY.longer(95, 1, 2)
    rows = np.lib.stride_tricks.sliding_window_view(STEADY.relative, BLOCK).tolist()
    assert len(longer) == 95
    assert all(longer[k : k + BLOCK].tolist() in rows for k in range(0, 90, BLOCK))
    assert longer.tolist() == STEADY.longer(95, 1, 2).tolist()
    assert longer.tolist() != STEADY.longer(95, 1, 3).tolist()


@pytest.mark.parametrize("slowdown", [1.1, 2.0])
def test_a_slowdown_lasts_sixty_steps_and_five_minutes_at_least(slowdown: float) -> None:
    run = inject(STEADY, slowdown, 4)
    slow, before = run.values[run.onset : run.end], run.values[: run.onset]
    assert len(slow) >= 60
    assert slow.sum() >= LEAST_SECONDS
    assert len(before) >= SETTINGS.calibration
    assert np.median(slow) / np.median(before) == pytest.approx(slowdown, rel=0.01)
    assert run.seconds(run.onset) == run.values[run.onset]


def test_delays_are_counted_from_the_last_good_step() -> None:
    delay = judge(inject(STEADY, 1.2, 4), SETTINGS)
    assert delay.guaranteed == pytest.approx(12 * 6.0, rel=0.02)
    assert delay.fast is not None
    assert delay.fast < 31
    assert delay.early == 0
    assert delay.last == pytest.approx(60 * 6.0 + LATE_SECONDS, rel=0.02)


def test_a_slowdown_within_the_gate_is_missed() -> None:
    delay = judge(inject(STEADY, 1.02, 4), SETTINGS)
    assert (delay.fast, delay.guaranteed) == (None, None)


def test_false_alarms_are_counted_where_there_are_some() -> None:
    loose = StragglerSettings(budget=100.0, effect=1e-6, fast_threshold=0.5)
    strict = count_alarms(Regime.AUTOREGRESSIVE, range(2), SETTINGS)
    many = count_alarms(Regime.AUTOREGRESSIVE, range(2), loose)
    assert (strict.actionable, strict.days) == (0, 2.0)
    assert many.actionable > 0
    assert many.suspicions > 0


def test_jobs_too_slow_to_be_calibrated_are_no_guaranteed_days() -> None:
    count = count_alarms(Regime.INDEPENDENT, range(1), SETTINGS, pace_seconds=150.0)
    assert (count.days, count.guaranteed_days) == (1.0, 0.0)


def test_a_fleet_sorts_false_alarms_out() -> None:
    count = count_fleet(range(60), SETTINGS)
    assert count.found_held <= count.found <= count.slow
    assert count.false_held <= count.false
    assert (count.found_across, count.false_across) == (count.found, 0)
    assert count.found_across > 0


def trace(slow: dict[tuple[int, int], float], steps: int = 12) -> pl.DataFrame:
    """A pipeline of two stages and four replicas, as the traces have it."""
    rows = [
        (dp, stage, dp + 4 * stage, step, kind, 0.5 * slow.get((dp, stage), 1.0))
        for step in range(steps)
        for dp in range(4)
        for stage in range(2)
        for kind in ("forward-compute", "backward-compute", "optimizer")
    ]
    names = ("dp_rank", "stage", "rank", "step", "optype", "duration")
    return pl.DataFrame(rows, schema=list(names), orient="row")


@pytest.mark.parametrize(
    ("slow", "blame", "ranks"),
    [
        ({(2, 0): 1.8}, Blame.NODE, (2,)),
        ({(dp, 1): 1.8 for dp in range(4)}, Blame.JOB, ()),
    ],
)
def test_a_trace_is_judged_by_its_ranks_own_work(
    tmp_path: Path, slow: dict[tuple[int, int], float], blame: Blame, ranks: tuple[int, ...]
) -> None:
    folder = tmp_path / attribution.PIPELINES
    folder.mkdir()
    trace(slow).write_parquet(folder / "trace-XY.parquet")
    for job in (*attribution.pipelines(tmp_path), *attribution.perturbed(tmp_path, 3)):
        assert job.name == "XY"
        assert job.answer is not None
        assert (job.answer.blame, job.answer.ranks) == (blame, ranks)


def shared(values: NDArray[np.float64]) -> pl.DataFrame:
    rows = [
        (worker, 10 * step, float(value))
        for step, row in enumerate(values)
        for worker, value in enumerate(row)
    ]
    return pl.DataFrame(rows, schema=["worker", "time", "batch_time_norm"], orient="row")


def test_a_worker_that_becomes_slow_is_found_and_named(tmp_path: Path) -> None:
    folder = tmp_path / attribution.SHARED / "mini-batch-time"
    folder.mkdir(parents=True)
    values = np.random.default_rng(5).normal(400.0, 6.0, (300, 8))
    shared(values).write_csv(folder / "job_1_norm.csv")
    values[200:, 3] *= 1.6
    shared(values).write_csv(folder / "job_2_norm.csv")
    calm, slow = attribution.shared_jobs(tmp_path, SETTINGS)
    assert (calm.answer, calm.onset) == (None, None)
    assert slow.answer is not None
    assert (slow.answer.ranks, slow.onset) == ((3,), 200)
