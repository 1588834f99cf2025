"""Bench `telemetry`: what a backtest finds in the full telemetry of simulated clusters.

Labels are the truth of the simulator, in which faults come many times as often as in life. Shares
of failures count those that were missed as wrong.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from relume import __version__
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.measures import rounded_share
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.benchmarks.simulator.operators import BASELINE
from relume.benchmarks.simulator.parameters import file_hash, load
from relume.benchmarks.simulator.simulate import Setting, live
from relume.benchmarks.simulator.telemetry.write import write_telemetry
from relume.dataset import Incident
from relume.models.scoring.attempt import ScoreSettings
from relume.models.scoring.matching import Matching
from relume.models.scoring.score import ScoreReport
from relume.serve.backtest.outcome import Outcome
from relume.serve.backtest.results import Results
from relume.serve.backtest.run import Judging, Recording
from relume.serve.live.watch import WatchSettings
from relume.serve.offline import Analyzer
from relume.verdict import Kind

SEEDS, QUICK_SEEDS = range(1, 9), range(1, 3)
NODES, DAYS, JOBS, FAULT_FACTOR = 24, 1.0, 60, 400.0
FAILURES = Kind.CRASH, Kind.HANG
_BARS = {
    "crash_recall": Bar(">=", 0.9),
    "hang_recall": Bar(">=", 0.9),
    "failure_domain": Bar(">=", 0.8),
    "exclusions_on_workload": Bar("==", 0),
    "innocent_nodes_excluded": Bar("==", 0),
    "unread_attempts": Bar("==", 0),
}


@dataclass(slots=True)
class Seen:
    """What came of the telemetry of all seeds.

    Attributes
    ----------
    report
        The score of a backtest, as `relume backtest` prints it.
    domains, nodes
        Failures with that label, and of how many it was told right.
    """

    report: ScoreReport = field(default_factory=lambda: ScoreReport(ScoreSettings()))
    domains: list[bool] = field(default_factory=list)
    nodes: list[bool] = field(default_factory=list)
    unread: int = 0
    bytes: int = 0
    write_cpu_seconds: float = 0.0
    digests: list[str] = field(default_factory=list)

    def note(self, matching: Matching) -> None:
        """Count what was told of the failures of an attempt."""
        for one in matching.found:
            said = one.settled
            self._ask(
                one.incident,
                None if said is None else said.domain,
                () if said is None else said.nodes,
            )
        for missed in matching.missed:
            self._ask(missed, None, ())

    def _ask(self, incident: Incident, domain: str | None, nodes: tuple[str, ...]) -> None:
        if incident.kind not in FAILURES:
            return
        if incident.domain is not None:
            self.domains.append(domain == incident.domain)
        if incident.culprit_nodes:
            self.nodes.append(nodes[:1] == incident.culprit_nodes)


def run(data: Path | None = None, *, quick: bool = False) -> BenchResult:
    """Simulate, write, replay and score; `data` is not used, `quick` with fewer seeds."""
    del data
    seeds = QUICK_SEEDS if quick else SEEDS
    seen, usage = measured(lambda: _see(seeds))
    counts = seen.report.counts
    return BenchResult(
        id="telemetry",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "telemetry of simulated clusters",
            "hash": f"{file_hash()} {' '.join(seen.digests)}",
            "seeds": len(seeds),
            "nodes": NODES,
            "days": DAYS,
            "jobs": JOBS,
            "times_as_many_faults": FAULT_FACTOR,
            "attempts": counts.attempts,
        },
        measures=measures_of(seen),
        bars=dict(_BARS),
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
    )


def measures_of(seen: Seen) -> dict[str, Measure]:
    """Return the measures of what was seen."""
    report, exclusions = seen.report, seen.report.attribution.exclusions
    measures: dict[str, Measure] = {}
    for kind in (*FAILURES, Kind.STRAGGLER):
        found = report.detection.by_kind.get(kind)
        if found is not None:
            recall = found.recall
            measures[f"{kind.value}_recall"] = rounded_share(recall.right, recall.total)
        latency = report.latency.by_kind.get(kind)
        middle = None if latency is None else latency.spreads()["time_to_detect"].p50
        if middle is not None:
            measures[f"{kind.value}_p50_seconds"] = round(middle, 1)
    precision = report.detection.all.precision
    return measures | {
        "precision": rounded_share(precision.right, precision.total),
        "failure_domain": rounded_share(sum(seen.domains), len(seen.domains)),
        "failure_node": rounded_share(sum(seen.nodes), len(seen.nodes)),
        "false_alarms": report.detection.all.false_positives,
        "quiet_job_days": round(report.false_alarms.jobs.quiet_days, 1),
        "workload_incidents": exclusions.workload,
        "exclusions_on_workload": exclusions.on_workload,
        "exclusions": exclusions.lists,
        "innocent_nodes_excluded": exclusions.innocent,
        "unread_attempts": seen.unread,
        "megabytes": round(seen.bytes / 1e6, 1),
        "write_mb_per_cpu_second": round(seen.bytes / 1e6 / seen.write_cpu_seconds, 1),
    }


def _see(seeds: range) -> Seen:
    judging = Judging(analyzer=Analyzer(), settings=WatchSettings())
    seen = Seen()
    for seed in seeds:
        with tempfile.TemporaryDirectory(prefix="relume-telemetry-") as work:
            _see_one(seed, Path(work), judging, seen)
    return seen


def _see_one(seed: int, work: Path, judging: Judging, seen: Seen) -> None:
    setting = Setting(nodes=NODES, days=DAYS, jobs=JOBS, seed=seed)
    living = live(load().with_faults(FAULT_FACTOR), setting, BASELINE)
    dataset, usage = measured(lambda: write_telemetry(living, work / "data"))
    seen.write_cpu_seconds += usage.cpu_seconds
    seen.bytes += sum(path.stat().st_size for path in dataset.folder.rglob("*") if path.is_file())
    seen.digests.append(dataset.digest())
    recording = Recording(dataset.folder)
    with Results(work / "results", recording.about(judging)) as results:
        recording.replay(judging, results)
        outcome = Outcome(recording, results)
        for attempt in outcome.attempts():
            matching = seen.report.add(attempt)
            if matching is not None:
                seen.note(matching)
        seen.unread += len(outcome.unread)
