"""Bench `straggler`: how soon slow steps are found, how often for nothing, and whom it blames."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

from relume import __version__
from relume.benchmarks.false_alarms.plans import SEED
from relume.benchmarks.false_alarms.quiet import Regime
from relume.benchmarks.false_alarms.settings import settings_hash
from relume.benchmarks.false_alarms.stragglers import QuietCount, count_alarms
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.measures import quantile, share
from relume.benchmarks.registry import data_folder
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.benchmarks.straggler import attribution, recorded
from relume.benchmarks.straggler.attribution import Recorded
from relume.benchmarks.straggler.fleet import (
    BUDGET,
    LASTS,
    REGIME,
    SLOW_SHARE,
    FleetCount,
    count_fleet,
)
from relume.benchmarks.straggler.injected import PACE_SECONDS, Delay, delays, judge
from relume.benchmarks.straggler.recorded import Recording
from relume.models.baselines.fdr import OnlineFdr
from relume.models.straggler.evidence import Blame
from relume.models.straggler.settings import StragglerSettings
from relume.serve.live.watch import WatchSettings

WATCH = WatchSettings()
SETTINGS = WATCH.straggler
"""The defaults: what `false-alarms` counts is said under the very same ones."""
TO_THE_LETTER = StragglerSettings(full_bets=False)
"""The e-detector as metrics section 4 writes it."""
SLOWDOWNS = 1.1, 1.15, 1.2, 1.25, 1.3, 1.5, 2.0
LATENCY_FROM = 1.2
RUNS, QUICK_RUNS = 60, 6
DAYS, QUICK_DAYS = 1000, 50
_BARS = {
    "recall": Bar(">=", 0.99),
    "guaranteed_recall": Bar(">=", 0.99),
    "guaranteed_p50_seconds": Bar("<=", 90),
    "guaranteed_p95_seconds": Bar("<=", 150),
    "fast_p95_seconds": Bar("<=", 60),
    **{f"false_alarms_{regime}": Bar("<=", 4) for regime in Regime},
    "fleet_false_share_held": Bar("<=", OnlineFdr().alpha),
    "fleet_one_day_false_share_held": Bar("<=", OnlineFdr().alpha),
    "traces_right": Bar("==", 3),
    "traces_right_perturbed": Bar("==", 3),
    "shared_job_1_worker_6": Bar("==", 1),
}


def run(data: Path | None, *, quick: bool = False) -> BenchResult:
    """Slow injected runs down, watch quiet days under the same settings, judge recorded jobs."""
    wanted = f"the folder that holds {attribution.PIPELINES}/, {attribution.SHARED}/ and the logs"
    folder = data_folder(data, "straggler", wanted)
    measures: dict[str, Measure] = {}
    notes: dict[str, object] = {
        "settings": settings_hash(WATCH),
        "recorded": f"slowdowns are put into step times of recorded logs, made longer by blocks of "
        f"{recorded.BLOCK} steps and scaled to {PACE_SECONDS:g} s a step",
        "delay": "from the end of the last good step to the end of the step that alarms",
        "fleet": f"job-days of {REGIME}, {SLOW_SHARE:.0%} slow for {LASTS} steps, at a budget of "
        f"{BUDGET:g} a job-day; held: alarms that hold across jobs by e-LORD, one job-day after "
        "the other; one_day: all jobs on one day, by what relume backtest says",
        "to_the_letter": "the e-detector of metrics section 4 without full bets",
        "seed": SEED,
    }

    def measure() -> list[Recording]:
        recordings = recorded.load(folder)
        runs = range(QUICK_RUNS if quick else RUNS)
        found = delays(recordings, SLOWDOWNS, runs, lambda one: judge(one, SETTINGS))
        letter = delays(recordings, SLOWDOWNS, runs, lambda one: judge(one, TO_THE_LETTER))
        measures.update(_delay_measures(found))
        measures.update(_letter_measures(letter))
        notes["by_slowdown"] = {f"{x:g}": _of_slowdown(found, x) for x in SLOWDOWNS}
        notes["by_source"] = _by_source(found)
        for regime in Regime:
            count = count_alarms(regime, range(QUICK_DAYS if quick else DAYS), SETTINGS)
            measures.update(_quiet_measures(regime, count))
        measures.update(
            _fleet_measures(count_fleet(range(QUICK_DAYS if quick else DAYS), SETTINGS))
        )
        jobs = [*attribution.pipelines(folder), *attribution.shared_jobs(folder, SETTINGS)]
        measures.update(_attribution_measures(jobs, attribution.perturbed(folder)))
        notes["blamed"] = {job.name: _said(job) for job in jobs}
        return recordings

    recordings, usage = measured(measure)
    digest = sha256(b"".join(one.relative.tobytes() for one in recordings))
    return BenchResult(
        id="straggler",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "paces of recorded logs, slowed down; quiet job-days; recorded slow jobs",
            "hash": digest.hexdigest()[:16],
            "recordings": len(recordings),
        },
        measures=measures,
        bars=_BARS,
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes=notes,
    )


def _recall(found: Iterable[Delay], of: Callable[[Delay], float | None]) -> Measure:
    told = [of(one) is not None for one in found]
    return share(sum(told), len(told))


def _quantile(found: Iterable[Delay], of: Callable[[Delay], float | None], part: float) -> float:
    """Return a quantile of delays in seconds; of misses it is known only how long they were not."""
    return quantile((one.last if (delay := of(one)) is None else delay for one in found), part)


def _fast(one: Delay) -> float | None:
    return one.fast


def _guaranteed(one: Delay) -> float | None:
    return one.guaranteed


def _delay_measures(found: list[Delay]) -> dict[str, Measure]:
    large = [one for one in found if one.slowdown >= LATENCY_FROM]
    least = [one for one in found if one.slowdown == min(SLOWDOWNS)]
    measures: dict[str, Measure] = {
        "recall": _recall(found, _fast),
        "guaranteed_recall": _recall(found, _guaranteed),
        "recall_at_10_percent": _recall(least, _fast),
        "guaranteed_recall_at_10_percent": _recall(least, _guaranteed),
        "early_alarms": sum(one.early for one in found),
    }
    for name, of in (("guaranteed", _guaranteed), ("fast", _fast)):
        for part in (50, 95, 99):
            measures[f"{name}_p{part}_seconds"] = _quantile(large, of, part / 100)
    return measures


def _of_slowdown(found: list[Delay], slowdown: float) -> dict[str, float]:
    some, told = [one for one in found if one.slowdown == slowdown], {}
    for name, of in (("guaranteed", _guaranteed), ("fast", _fast)):
        told[f"{name}_missed"] = float(sum(of(one) is None for one in some))
        told |= {f"{name}_p{part}_seconds": _quantile(some, of, part / 100) for part in (50, 95)}
    return told | {"of": float(len(some))}


def _letter_measures(found: list[Delay]) -> dict[str, Measure]:
    large = [one for one in found if one.slowdown >= LATENCY_FROM]
    return {
        "to_the_letter_recall": _recall(found, _guaranteed),
        "to_the_letter_p50_seconds": _quantile(large, _guaranteed, 0.5),
        "to_the_letter_p95_seconds": _quantile(large, _guaranteed, 0.95),
    }


def _by_source(found: list[Delay]) -> dict[str, dict[str, float]]:
    """Return what each recording does to recall and delay: they vary by themselves unlike."""
    names = dict.fromkeys(one.source for one in found)
    parts = {name: [one for one in found if one.source == name] for name in names}
    return {
        name: {
            "missed": sum(one.guaranteed is None for one in some),
            "of": len(some),
            "guaranteed_p95_seconds": _quantile(some, _guaranteed, 0.95),
        }
        for name, some in parts.items()
    }


def _quiet_measures(regime: Regime, count: QuietCount) -> dict[str, Measure]:
    return {
        f"false_alarms_{regime}": count.actionable,
        f"false_alarms_per_job_day_{regime}": count.bounded(),
        f"suspicions_per_job_day_{regime}": round(count.suspicions / count.days, 4),
    }


def _fleet_measures(count: FleetCount) -> dict[str, Measure]:
    return {
        "fleet_slow_jobs": count.slow,
        "fleet_found": count.found,
        "fleet_found_held": count.found_held,
        "fleet_false": count.false,
        "fleet_false_held": count.false_held,
        "fleet_false_share": round(count.false_share, 4),
        "fleet_false_share_held": round(count.false_share_held, 4),
        "fleet_one_day_found_held": count.found_across,
        "fleet_one_day_false_held": count.false_across,
        "fleet_one_day_false_share_held": round(count.false_share_across, 4),
    }


def _attribution_measures(jobs: list[Recorded], perturbed: list[Recorded]) -> dict[str, Measure]:
    by_name = {job.name: job for job in jobs}
    first = by_name["job_1"].answer
    onset = by_name["job_1"].onset
    return {
        "traces_right": sum(_is_right(job) for job in jobs if job.name in _TRACES),
        "traces_right_perturbed": sum(map(_is_right, perturbed)) / max(1, len(perturbed)) * 3,
        "shared_job_1_worker_6": int(first is not None and first.ranks == (6,)),
        "shared_job_1_onset_reading": -1 if onset is None else onset,
    }


_TRACES = {"AR": (Blame.NODE, (0,)), "SE": (Blame.JOB, ()), "ST": (Blame.JOB, ())}
"""One slow worker; a slow stage; a slow stage and uneven sequences."""


def _is_right(job: Recorded) -> bool:
    answer = job.answer
    return answer is not None and (answer.blame, answer.ranks) == _TRACES[job.name]


def _said(job: Recorded) -> str:
    answer = job.answer
    if answer is None:
        return "not slow"
    return f"{answer.blame} ({answer.cause}): {'; '.join(answer.why)}"
