"""Bench `healthy`: any alarm on a log without a failure is false."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from relume import __version__
from relume.benchmarks.corpora import healthy
from relume.benchmarks.corpora.healthy import HealthyLog
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.registry import data_folder
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.ingest.attempts import find_attempts
from relume.serve.offline import Analyzer
from relume.verdict import Domain, Kind, Verdict

GROUPS = ("mlperf", "bigscience", "m4")
_BARS = {f"{group}_false_alarms": Bar("==", 0) for group in GROUPS} | {
    "mlperf_called_benign": Bar(">=", 24)
}


def run(data: Path | None) -> BenchResult:
    """Diagnose every healthy log alone."""
    wanted = "the folder that holds mlperf-training-v2.1/, bigscience/ and m4-logs/"
    corpus = healthy.load(data_folder(data, "healthy", wanted))
    analyzer = Analyzer()
    verdicts, usage = measured(lambda: _diagnose(analyzer, corpus.logs))
    judged = list(zip(corpus.logs, verdicts, strict=True))
    alarms = [(log, verdict) for log, verdict in judged if is_false_alarm(log, verdict)]
    kinds = Counter((log.group, verdict.kind) for log, verdict in judged)
    by_group = Counter(log.group for log, _ in alarms)
    measures: dict[str, Measure] = {f"{group}_false_alarms": by_group[group] for group in GROUPS}
    measures["mlperf_called_benign"] = kinds["mlperf", Kind.BENIGN]
    measures["bigscience_called_benign"] = kinds["bigscience", Kind.BENIGN]
    measures["scheduler_ends"] = sum(log.ended_by_scheduler for log in corpus.logs)
    measures["scheduler_ends_recognised"] = sum(
        log.ended_by_scheduler and verdict.domain is Domain.SCHEDULER for log, verdict in judged
    )
    return BenchResult(
        id="healthy",
        version=__version__,
        machine=describe(),
        corpus={
            "name": corpus.name,
            "hash": corpus.hash,
            "logs": len(corpus.logs),
        },
        measures=measures,
        bars=dict(_BARS),
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={
            "rules_of_false_alarms": dict(
                Counter(verdict.rule or "progress" for _, verdict in alarms)
            )
        },
    )


def is_false_alarm(log: HealthyLog, verdict: Verdict) -> bool:
    """Whether `verdict` claims what `log` doesn't show.

    A failure or a node to leave out always; that the scheduler ended the job only where it did not.
    """
    if verdict.exclude_nodes or verdict.domain is Domain.HARDWARE:
        return True
    if log.ended_by_scheduler and verdict.domain is Domain.SCHEDULER:
        return False
    return verdict.kind.is_failure


def _diagnose(analyzer: Analyzer, logs: Sequence[HealthyLog]) -> list[Verdict]:
    verdicts: list[Verdict] = []
    for log in logs:
        if log.lines is not None:
            verdicts.append(analyzer.diagnose_lines(log.path.name, log.lines))
        else:
            attempts = find_attempts([log.path])
            verdicts += [analyzer.diagnose(attempt).verdict for attempt in attempts]
    return verdicts
