"""Bench `backtest`: recorded and spliced corpora scored, a lake of ten million lines, and kills.

Recorded runs and spliced ones are told apart by the names of their measures, and never pooled: a
spliced attempt never happened.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from relume import __version__
from relume.benchmarks.backtest.kills import kill_backtests
from relume.benchmarks.backtest.recorded import HEALTHY, SPLICED, scored
from relume.benchmarks.commands import run_relume
from relume.benchmarks.ingest.bench import import_by_command, mb_per_cpu_second
from relume.benchmarks.ingest.corpus import SEED, make_recording
from relume.benchmarks.ingest.room import require_room
from relume.benchmarks.machine import Usage, describe
from relume.benchmarks.measures import rounded_share
from relume.benchmarks.registry import data_folder
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.models.scoring.intervals import Proportion
from relume.models.scoring.score import ScoreReport
from relume.serve.backtest.run import Judging
from relume.serve.live.watch import WatchSettings
from relume.serve.offline import Analyzer

LINES, QUICK_LINES = 10_000_000, 1_000_000
LINES_AN_ATTEMPT = 100_000
KILLS, QUICK_KILLS = 50, 5
KILL_LINES, KILL_ATTEMPTS = 120_000, 24
"""The recording that is backtested over kills."""
BYTES_A_LINE = 300
_BARS = {f"recorded_{name}_false_alarms": Bar("==", 0) for name in HEALTHY} | {
    "peak_rss_bytes": Bar("<=", 1 << 30),
    "lost_results": Bar("==", 0),
    "doubled_results": Bar("==", 0),
    "other_results": Bar("==", 0),
}


def run(data: Path | None = None, *, quick: bool = False) -> BenchResult:
    """Replay, score, import and kill; `quick` with a tenth of the lines and of the kills."""
    data = data_folder(
        data, "backtest", "the folder that holds failure-cases/, mlperf-…/ and so on"
    )
    lines, kills = (QUICK_LINES, QUICK_KILLS) if quick else (LINES, KILLS)
    measures: dict[str, Measure] = {}
    with tempfile.TemporaryDirectory(prefix="relume-backtest-") as work:
        folder = Path(work)
        require_room("bench backtest", folder, lines * BYTES_A_LINE)
        digests = _recorded(data, folder, measures)
        large = _large(folder, lines, measures)
        _killed(folder, kills, measures)
    return BenchResult(
        id="backtest",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "recorded, spliced and generated runs",
            "hash": " ".join(digests),
            "lines_in_lake": lines,
            "kills": kills,
        },
        measures=measures,
        bars={**_BARS, "lake_lines": Bar(">=", lines), "kills": Bar(">=", kills)},
        cpu_seconds=large.cpu_seconds,
        wall_seconds=large.wall_seconds,
        peak_rss_bytes=large.peak_rss_bytes,
    )


def _recorded(data: Path, folder: Path, measures: dict[str, Measure]) -> list[str]:
    judging = Judging(analyzer=Analyzer(), settings=WatchSettings())
    digests = []
    for name in (*HEALTHY, SPLICED):
        recording, report = scored(name, data, folder, judging)
        digests.append(f"{name} {recording.digest()}")
        measures |= measures_of(name, report)
    return digests


def measures_of(name: str, report: ScoreReport) -> dict[str, Measure]:
    """Return what a corpus showed; what was spliced shows latency, what was recorded exposure."""
    total = report.detection.all
    if name != SPLICED:
        return {
            f"recorded_{name}_false_alarms": total.false_positives,
            f"recorded_{name}_job_days": round(report.false_alarms.jobs.days, 3),
        }
    measures: dict[str, Measure] = {
        "spliced_precision": _share(total.precision),
        "spliced_recall": _share(total.recall),
    }
    for kind, latency in sorted(report.latency.by_kind.items()):
        spread = latency.spreads()["time_to_detect"]
        measures[f"spliced_{kind.value}_incidents"] = spread.n + spread.missed
        for quantile in ("p50", "p90", "largest"):
            value = getattr(spread, quantile)
            if value is not None:
                measures[f"spliced_{kind.value}_{quantile}_seconds"] = round(value, 2)
    return measures


def _share(share: Proportion) -> Measure:
    return rounded_share(share.right, share.total)


def _large(folder: Path, lines: int, measures: dict[str, Measure]) -> Usage:
    """Import a large recording, and backtest the lake, each by its command."""
    source, lake = folder / "large", folder / "lake"
    make_recording(source, lines=lines, attempts=lines // LINES_AN_ATTEMPT)
    imported = import_by_command(source, lake)
    found = run_relume("backtest", str(lake), "--labels", str(source))
    detection = found.document["detection"]["micro"]
    measures |= {
        "import_mb_per_cpu_second": round(mb_per_cpu_second(imported), 1),
        "import_peak_rss_bytes": imported.usage.peak_rss_bytes,
        "lake_lines": imported.document["lines"],
        "lake_attempts": found.document["counts"]["attempts"],
        "lake_job_days": round(found.document["false_alarms"]["job_days"], 1),
        "lake_lines_per_cpu_second": round(imported.document["lines"] / found.usage.cpu_seconds),
        "lake_wall_seconds": round(found.usage.wall_seconds, 1),
        "peak_rss_bytes": found.usage.peak_rss_bytes,
        "simulated_found": detection["true_positives"],
        "simulated_missed": detection["misses"],
        "simulated_false_alarms": detection["false_positives"],
    }
    return found.usage


def _killed(folder: Path, kills: int, measures: dict[str, Measure]) -> None:
    make_recording(folder / "small", lines=KILL_LINES, attempts=KILL_ATTEMPTS)
    (folder / "kills").mkdir()
    found = kill_backtests(folder / "small", folder / "kills", kills=kills, seed=SEED)
    measures |= {
        "kills": found.kills,
        "backtests_over_kills": found.rounds,
        "lost_results": found.lost,
        "doubled_results": found.doubled,
        "other_results": found.other,
    }
