"""Bench `false-alarms`: alarms in thousands of job-days in which nothing is wrong."""

from __future__ import annotations

from pathlib import Path

from relume import __version__
from relume.benchmarks.false_alarms.hangs import MOST_FALSE, SLOW_RATIO, Said, quiet
from relume.benchmarks.false_alarms.plans import SEED
from relume.benchmarks.false_alarms.quiet import Regime
from relume.benchmarks.false_alarms.settings import settings_hash
from relume.benchmarks.false_alarms.stragglers import BAR_PACE_SECONDS, QuietCount, count_alarms
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.models.hang.detector import Level
from relume.models.hang.settings import HangSettings
from relume.models.straggler.settings import StragglerSettings
from relume.serve.live.watch import WatchSettings

JOB_DAYS, QUICK_JOB_DAYS = 1000, 40


def run(_data: Path | None = None, *, quick: bool = False) -> BenchResult:
    """Watch new jobs for a day each, and known ones, in every regime."""
    settings = WatchSettings()
    job_days = QUICK_JOB_DAYS if quick else JOB_DAYS

    def measure() -> tuple[dict[str, Measure], dict[str, Bar]]:
        measures, bars = _hangs(job_days, settings.hang)
        slow, more = _stragglers(job_days, settings.straggler)
        return measures | slow, bars | more

    (measures, bars), usage = measured(measure)
    return BenchResult(
        id="false-alarms",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "quiet job-days",
            "origin": "simulated",
            "hash": f"seed {SEED}",
            "job_days_a_regime": job_days,
            "settings": settings_hash(settings),
        },
        measures=measures,
        bars=bars,
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={
            "job_days_a_regime": "of new jobs, and as many of known ones",
            "new": "first days of jobs: nothing is known beforehand",
            "known": "later days, each an attempt that knows those before it",
            "high": "upper end of the one-sided 95 % interval",
            "straggler": f"new jobs at {BAR_PACE_SECONDS:g} s a step, and at any pace",
            "with_metrics": "the same days, with the metrics of two nodes as a second signal",
            "slow_filesystem": f"every pause takes {SLOW_RATIO:g} times as long; no bar",
        },
    )


def _hangs(job_days: int, settings: HangSettings) -> tuple[dict[str, Measure], dict[str, Bar]]:
    measures: dict[str, Measure] = {}
    bars: dict[str, Bar] = {}
    for regime in Regime:
        new, known = quiet(regime, job_days, settings)
        for name, said in (("new", new), ("known", known)):
            bars[f"hang_{name}_{regime}"] = Bar("<=", MOST_FALSE)
            measures |= _said(f"hang_{name}_{regime}", said)
        new, known = quiet(regime, job_days, settings, with_metrics=True)
        for name, said in (("new", new), ("known", known)):
            bars[f"with_metrics_{name}_{regime}"] = Bar("<=", MOST_FALSE)
            measures |= _said(f"with_metrics_{name}_{regime}", said)
    new, known = quiet(Regime.INDEPENDENT, job_days, settings, pause_ratio=SLOW_RATIO)
    measures |= _said("hang_new_slow_filesystem", new)
    measures |= _said("hang_known_slow_filesystem", known)
    return measures, bars


def _said(name: str, said: Said) -> dict[str, Measure]:
    return {
        name: said.false_alarms,
        f"{name}_per_job_day": said.bounded(),
        f"{name}_suspicions_per_job_day": round(said.rate(Level.SUSPICION), 2),
    }


def _stragglers(
    job_days: int, settings: StragglerSettings
) -> tuple[dict[str, Measure], dict[str, Bar]]:
    measures: dict[str, Measure] = {}
    bars: dict[str, Bar] = {}
    for regime in Regime:
        for name, pace in (("straggler", BAR_PACE_SECONDS), ("straggler_any_pace", None)):
            count = count_alarms(regime, range(job_days), settings, pace_seconds=pace)
            bars[f"{name}_{regime}"] = Bar("<=", MOST_FALSE)
            measures |= _slow(f"{name}_{regime}", count)
    return measures, bars


def _slow(name: str, count: QuietCount) -> dict[str, Measure]:
    return {
        name: count.actionable,
        f"{name}_per_job_day": count.bounded(),
        f"{name}_suspicions_per_job_day": round(count.suspicions / max(1.0, count.days), 4),
    }
