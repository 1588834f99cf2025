"""Runs the samples of metric rules; `relume rules test` shows the report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from relume.errors import counted
from relume.events import Sample
from relume.models.thresholds.judge import MICROSECONDS, ThresholdJudge
from relume.models.thresholds.rule import MetricRule, SampleSeries


@dataclass(frozen=True, slots=True)
class MetricSampleFailure:
    """A series that didn't do what it is listed for.

    Attributes
    ----------
    rule, origin
        The rule's id and file.
    expected_hit
        True for a positive series that the rule never held for, false for a negative one.
    sample
        Its place in the list, from 1.
    """

    rule: str
    origin: str
    expected_hit: bool
    sample: int


@dataclass(frozen=True, slots=True)
class MetricReport:
    """What checking metric rules found."""

    rules: int
    samples: int
    failures: tuple[MetricSampleFailure, ...]


def check_metric_rules(rules: Iterable[MetricRule]) -> MetricReport:
    """Run every series of every rule through it."""
    count = samples = 0
    failures: list[MetricSampleFailure] = []
    for rule in rules:
        count += 1
        for expected, listed in ((True, rule.positive), (False, rule.negative)):
            samples += len(listed)
            failures += [
                MetricSampleFailure(rule.id, rule.origin, expected, number)
                for number, series in enumerate(listed, 1)
                if _holds(rule, series) is not expected
            ]
    return MetricReport(count, samples, tuple(failures))


def describe_metric_failure(failure: MetricSampleFailure) -> str:
    """Return one line about a failure."""
    if failure.expected_hit:
        what = f"never holds for the positive series {failure.sample}"
    else:
        what = f"holds for the negative series {failure.sample}"
    return f"{failure.origin}: metric rule {failure.rule} {what}"


def describe_metric_report(report: MetricReport) -> str:
    """Return one line about all of it.

    >>> describe_metric_report(MetricReport(1, 4, ()))
    '1 metric rule, 4 series, 0 failures'
    """
    failures = counted(len(report.failures), "failure")
    return f"{counted(report.rules, 'metric rule')}, {report.samples} series, {failures}"


def _holds(rule: MetricRule, series: SampleSeries) -> bool:
    judge = ThresholdJudge([rule])
    return any(
        not finding.is_over
        for seconds, value in series
        for finding in judge.take(
            Sample(
                source="sample",
                metric=rule.metric,
                value=value,
                event_time=round(seconds * MICROSECONDS),
            )
        )
    )
