"""Bench `hang`: how soon a recorded run that falls silent is suspected, and called hung."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from relume import __version__
from relume.benchmarks.false_alarms.settings import settings_hash
from relume.benchmarks.hang.injected import PACES, SEED, Found, Injections
from relume.benchmarks.hang.recordings import load
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.measures import quantile
from relume.benchmarks.registry import data_folder
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.serve.live.watch import WatchSettings
from relume.serve.offline import Analyzer

CUTS, QUICK_CUTS = 4, 1
LEARNED_SECONDS = 60.0
"""Steps for so long make four scrapes: before, nobody knows what a job usually draws."""
_POLLS = 2
"""Seconds that a service may take besides: to read a line, and to look at the clock."""
_BARS = {
    "suspicion_over_seconds_p95": Bar("<=", _POLLS),
    "known_actionable_over_seconds_p95": Bar("<=", _POLLS),
    "signed_actionable_over_seconds_p95": Bar("<=", 10),
    "with_metrics_actionable_over_seconds_p95": Bar("<=", 10),
    "known_recall": Bar(">=", 0.99),
    "cold_recall": Bar(">=", 0.99),
    "with_metrics_recall": Bar(">=", 0.99),
    "called_hung_before": Bar("==", 0),
    "with_metrics_called_hung_before": Bar("==", 0),
    "seen_pauses_called_hung": Bar("==", 0),
    "unread_logs_called_hung": Bar("==", 0),
}


def run(data: Path | None, *, quick: bool = False) -> BenchResult:
    """Cut recorded runs at known lines, and play them at paces of 0.5 s to 150 s."""
    data = data_folder(data, "hang", "the folder that holds mlperf-training-v2.1/")
    analyzer, settings = Analyzer(), WatchSettings()
    runs, digest, left_out = load(data, analyzer)
    injections = Injections(runs, analyzer, settings)
    cuts = QUICK_CUTS if quick else CUTS
    (measures, kinds), usage = measured(lambda: _measure(injections, cuts))
    return BenchResult(
        id="hang",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "mlperf-training-v2.1, cut and played at other paces",
            "hash": digest,
            "runs": len(runs),
            "hangs": kinds.total(),
            "settings": settings_hash(settings),
        },
        measures=measures,
        bars=_BARS,
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={
            "hangs": dict(kinds),
            "left_out": dict(left_out),
            "paces_seconds": PACES,
            "seed": SEED,
            "over": "seconds after what the bar allows: 30 s or three expected gaps (suspicion), "
            "90 s or 1.5 times the longest gap seen (hang), the second signal",
            "cold": "attempts of which nothing is known beforehand; their larger patience is meant",
            "with_metrics": "as cold, with the metrics of two nodes, scraped every 15 s, which are "
            "made up; over is counted from 90 s and the suspicion, whichever comes later",
            "signed": "as cold, and another source agrees; over is counted from 90 s, a suspicion "
            "and the second signal, whichever comes last",
            "hung_at_once": f"before {LEARNED_SECONDS:g} s of steps; in no other with_metrics but "
            "recall: nothing is known of what is usual, so time alone decides",
            "known": "the other runs of the same system and benchmark came before",
        },
    )


def _measure(injections: Injections, cuts: int) -> tuple[dict[str, Measure], Counter[str]]:
    cold, known = injections.cold(cuts), injections.known(cuts)
    signed, startups, pauses = injections.signed(cuts), injections.startups(), injections.pauses()
    every = [*cold, *known, *signed]
    measures: dict[str, Measure] = {
        "suspicion_over_seconds_p95": quantile(map(_suspicion_over, every), 0.95),
        "known_actionable_over_seconds_p95": quantile(map(_acted_over, known), 0.95),
        "signed_actionable_over_seconds_p95": quantile(map(_signed_over, signed), 0.95),
        "known_recall": _recall(known),
        "cold_recall": _recall(cold),
        "called_hung_before": sum(one.early for one in every),
        "seen_pauses": pauses.seen,
        "seen_pauses_called_hung": pauses.acted,
        "unread_logs_called_hung": injections.unread(),
        "startup_suspected": round(float(np.mean([s.suspected is not None for s in startups])), 3),
    }
    measures |= _with_metrics(injections.with_metrics(cuts))
    for name, found in (("suspicion", every), ("cold", cold), ("known", known), ("signed", signed)):
        seconds = [one.suspected if name == "suspicion" else one.acted for one in found]
        measures |= _spread(name, seconds)
    counts = Counter(cold=len(cold), known=len(known), signed=len(signed), startup=len(startups))
    return measures, counts


def _with_metrics(found: Sequence[Found]) -> dict[str, Measure]:
    """Measures of hangs of measured nodes: apart from those that hung before much was measured."""
    known = [one for one in found if one.trained_seconds >= LEARNED_SECONDS]
    measures: dict[str, Measure] = {
        "with_metrics_actionable_over_seconds_p95": quantile(map(_signed_over, known), 0.95),
        "with_metrics_recall": _recall(found),
        "with_metrics_called_hung_before": sum(one.early for one in found),
        "with_metrics_hangs": len(known),
        "with_metrics_hung_at_once": len(found) - len(known),
    }
    return measures | _spread("with_metrics", [one.acted for one in known])


def _suspicion_over(one: Found) -> float:
    return _late(one.suspected) - max(30.0, 3.0 * one.gap_seconds)


def _acted_over(one: Found) -> float:
    return _late(one.acted) - max(90.0, 1.5 * one.longest_seconds)


def _signed_over(one: Found) -> float:
    """Seconds after all are there: 90 s, a suspicion, and the second signal.

    Metrics, the second signal of `with_metrics`, are there before the others.
    """
    return _late(one.acted) - max(90.0, one.sign_seconds or 0.0, 3.0 * one.gap_seconds)


def _late(seconds: float | None) -> float:
    """What was missed comes after everything else."""
    return float("inf") if seconds is None else seconds


def _recall(found: Sequence[Found]) -> Measure:
    return round(sum(one.acted is not None for one in found) / len(found), 4)


def _spread(name: str, seconds: Sequence[float | None]) -> dict[str, Measure]:
    known = [_late(one) for one in seconds]
    quantiles = {"p50": 0.5, "p95": 0.95, "largest": 1.0}
    return {f"{name}_{words}_seconds": quantile(known, part) for words, part in quantiles.items()}
