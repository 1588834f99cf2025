"""Metrics of quiet days: made up as exporters would have them, heard as the service hears them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from relume.benchmarks.false_alarms.hangs import quiet
from relume.benchmarks.false_alarms.metered import Metered
from relume.benchmarks.false_alarms.nodes import NODES, Doing, Exporters, Traits
from relume.benchmarks.false_alarms.plans import Pause, Schedule, job_plan
from relume.benchmarks.false_alarms.quiet import QuietDay, Regime, quiet_day
from relume.benchmarks.false_alarms.silences import detector_of, watch
from relume.models.hang.detector import HangDetection, Level
from relume.models.hang.settings import HangSettings

TRAITS = Traits(
    watts=600.0,
    waiting=0.25,
    sent=1e9,
    written=3e8,
    writers=1,
    over_network=False,
    gathers=0.1,
    spins=True,
)


def a_day(pause: Pause, seconds: float, every: int = 500) -> QuietDay:
    schedule = Schedule(pause=pause, every=every, seconds=seconds, is_announced=False)
    return quiet_day(
        replace(job_plan(1, pace_seconds=5.0), schedules=(schedule,)), Regime.INDEPENDENT
    )


def watched(day: QuietDay, *, with_metrics: bool, then_silent: float = 0.0) -> list[HangDetection]:
    detector = detector_of(HangSettings.of_budget(0.01))
    metrics = Metered(day, 0)
    listen = partial(metrics.silence, detector) if with_metrics else None
    return list(watch(detector, day, then_silent=then_silent, listen=listen))


@pytest.mark.parametrize(("doing", "watts"), [(Doing.TRAIN, 600.0), (Doing.HANG, 150.0)])
def test_power_tells_work_from_waiting_and_utilisation_does_not(doing: Doing, watts: float) -> None:
    exporters = Exporters(TRAITS, lambda _second: doing, np.random.default_rng(1))
    found: defaultdict[str, list[float]] = defaultdict(list)
    for _, samples in exporters.scrapes(0.0, 3000.0):
        for sample in samples:
            found[sample.metric].append(sample.value)
    assert np.median(found["gpu_power_watts"]) == pytest.approx(watts, rel=0.02)
    assert np.median(found["gpu_utilisation_ratio"]) > 0.9


def test_counters_rise_and_only_who_saves_writes() -> None:
    exporters = Exporters(TRAITS, lambda _second: Doing.SAVE, np.random.default_rng(1))
    written: dict[str, list[float]] = {node: [] for node in NODES}
    for _, samples in exporters.scrapes(0.0, 600.0):
        for sample in samples:
            if sample.metric == "node_disk_written_bytes_total":
                written[sample.node or ""].append(sample.value)
    rates = {node: np.diff(values) / 15 for node, values in written.items()}
    assert all((rate > 0).all() for rate in rates.values())
    assert np.median(rates["n0"]) == pytest.approx(3e8, rel=0.1)
    assert np.median(rates["n1"]) < 1e6


def test_an_evaluation_that_prints_nothing_is_seen_to_compute() -> None:
    """Without metrics its first silence of seven minutes is called a hang."""
    day = a_day(Pause.EVALUATION, 420.0)
    plain = {one.level for one in watched(day, with_metrics=False)}
    heard = {one.level for one in watched(day, with_metrics=True)}
    assert (plain, heard) == ({Level.SUSPICION, Level.ACTIONABLE}, {Level.SUSPICION})


def test_a_hang_of_a_job_that_nobody_knows_is_called_after_ninety_seconds() -> None:
    day = a_day(Pause.CHECKPOINT, 20.0)
    plain = watched(day, with_metrics=False, then_silent=1000.0)[-1]
    heard = watched(day, with_metrics=True, then_silent=1000.0)[-1]
    assert (plain.level, heard.level) == (Level.ACTIONABLE, Level.ACTIONABLE)
    assert heard.agreed == "node_metrics"
    assert 85 <= heard.gap_seconds < 105
    assert plain.gap_seconds > 300


def test_days_with_metrics_are_counted_like_those_without() -> None:
    settings = HangSettings.of_budget(0.01)
    new, known = quiet(Regime.INDEPENDENT, 4, settings, with_metrics=True)
    assert (new.job_days, known.job_days) == (4, 4)
    assert quiet(Regime.INDEPENDENT, 4, settings, with_metrics=True) == (new, known)
