"""What the metrics of a lake say by themselves: Xids, faults that were counted, rules, absences.

Nothing of it is health, and no action follows from it alone: it is evidence for people, and for a
diagnosis of what happened on the same node at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from relume.events import Sample
from relume.features.metrics.edges import FAULT_COUNTERS, XID, Change, Latched, Rises
from relume.features.metrics.points import Series, series_of
from relume.ingest.lake.samples import read_samples
from relume.models.absence.detector import AbsenceDetector
from relume.models.absence.finding import Absence
from relume.models.signatures.ruleset import Catalogue
from relume.models.thresholds.judge import MetricFinding, ThresholdJudge
from relume.models.thresholds.rule import MetricRule

TICK = 10_000_000
"""Microseconds of event time between two looks for absences."""
_MAX_TICKS = 1_000
"""Looks within one gap of the recording: what is gone by then was found."""
_COLUMNS = ("cluster", "node", "gpu", "device", "metric", "value")


@dataclass(frozen=True, slots=True)
class Told:
    """One finding.

    Attributes
    ----------
    at
        When it was seen; UTC microseconds.
    since
        From when on it may have been so.
    cluster
        Whose node.
    finding
        ``xid_79`` (a code), ``rise`` (of a counter of faults), the id of a rule, or the kind of an
        absence.
    node, gpu, device
        Where; null where it isn't about one.
    is_over
        Whether it is no more.
    words
        One sentence for a person.
    """

    at: int
    since: int
    cluster: str
    finding: str
    node: str | None
    gpu: str | None
    device: str | None
    is_over: bool
    words: str


def lake_samples(lake: Path) -> Iterator[Sample]:
    """Return the samples of a lake that have a time, in its order; in bounded memory.

    Raises
    ------
    LakeError
        When there is no lake.
    """
    return read_samples(lake, _COLUMNS, "event_time IS NOT NULL")


def metric_findings(
    samples: Iterable[Sample], rules: Iterable[MetricRule] = (), catalogue: Catalogue | None = None
) -> Iterator[Told]:
    """Yield what samples say, which come in order of time.

    Parameters
    ----------
    samples
        Of one or several clusters.
    rules
        A site's own.
    catalogue
        What Xids mean; without it they are numbers.
    """
    rules, clusters = list(rules), dict[str, _Cluster]()
    for sample in samples:
        cluster = clusters.get(sample.cluster)
        if cluster is None:
            cluster = clusters[sample.cluster] = _Cluster(sample.cluster, rules, catalogue)
        yield from cluster.take(sample)


class _Cluster:
    """The detectors of one cluster."""

    def __init__(self, name: str, rules: Iterable[MetricRule], catalogue: Catalogue | None) -> None:
        self._name, self._tick = name, 0
        self._rules: Mapping[str, MetricRule] = {rule.id: rule for rule in rules}
        self._signatures = {} if catalogue is None else catalogue.by_id
        self._xids, self._rises = Latched(), Rises()
        self._judge, self._absences = ThresholdJudge(self._rules.values()), AbsenceDetector()

    def take(self, sample: Sample) -> Iterator[Told]:
        time = sample.event_time or 0
        yield from self._ticks(time)
        self._absences.update((sample,))
        series = series_of(sample)
        if sample.metric == XID and (change := self._xids.take(series, time, sample.value)):
            yield self._of_xid(change)
        if sample.metric in FAULT_COUNTERS and (
            change := self._rises.take(series, time, sample.value)
        ):
            words = f"{sample.metric} rose by {change.value - change.before:g}"
            yield self._told("rise", series, (change.after, time), words)
        yield from map(self._of_rule, self._judge.take(sample))

    def _ticks(self, time: int) -> Iterator[Told]:
        """Look for absences at the ticks up to a time; a recording begins with its first sample."""
        last = time // TICK
        first = max(self._tick, last - _MAX_TICKS)
        for tick in range(first, last) if self._tick else ():
            yield from map(self._of_absence, self._absences.advance(tick * TICK))
        self._tick = last

    def _of_xid(self, change: Change) -> Told:
        name = f"xid_{change.value:.0f}"
        rule = self._signatures.get(name)
        words = f"Xid {change.value:.0f}" if rule is None else rule.summary
        return self._told(name, change.series, (change.after, change.at), words)

    def _of_rule(self, found: MetricFinding) -> Told:
        rule = self._rules[found.rule]
        words = f"{rule.summary} ({rule.metric} {rule.condition}: {found.value:g})"
        return self._told(
            rule.id, found.series, (found.since, found.at), words, is_over=found.is_over
        )

    def _of_absence(self, found: Absence) -> Told:
        place = Series("", found.node, found.gpu)
        return self._told(
            found.kind.value, place, (found.since, found.at), found.reason, is_over=found.is_over
        )

    def _told(
        self, finding: str, of: Series, times: tuple[int, int], words: str, *, is_over: bool = False
    ) -> Told:
        since, at = times
        place = (of.node, of.gpu, of.device)
        return Told(at, since, self._name, finding, *place, is_over=is_over, words=words)
