"""What Prometheus remembers, as units of an import: a query and a day each, once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from relume.events import Sample
from relume.ingest.importing.position import PREFIX
from relume.ingest.importing.unit import EventsPart, Unit
from relume.ingest.metrics.prometheus import SECOND, Prometheus, RangeQuery
from relume.ingest.metrics.raw import Naming, Reading
from relume.ingest.metrics.spans import Span, uncovered_days
from relume.ingest.skips import SkipCounts

SOURCE = "prometheus"
_TIMES = re.compile(r" (\d{1,20})-(\d{1,20})", re.ASCII)


class AskedQuery(Protocol):
    """What is asked for: `relume.features.metrics.queries.Query`."""

    @property
    def promql(self) -> str:
        """The expression."""

    @property
    def name(self) -> str | None:
        """What the exporter calls series that come without a name."""

    @property
    def metric(self) -> str | None:
        """What Relume calls its series; null where the table says it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is imported of a Prometheus.

    Attributes
    ----------
    server
        Open while units are read.
    queries
        At least one.
    span
        UTC microseconds, from the first up to the second.
    step_seconds
        Between two values; they are at multiples of it since 1970, so that each has one time.
    naming, cluster
        As for `relume.ingest.metrics.raw.Reading`.
    """

    server: Prometheus
    queries: Sequence[AskedQuery]
    span: Span
    step_seconds: int
    naming: Naming
    cluster: str = "local"

    def units(self, positions: Mapping[str, str]) -> Iterator[Unit]:
        """Yield a unit for each query and day of which not all is in the lake yet.

        `positions` are those of the lake. What an earlier import covered isn't asked for again,
        though the times that were asked for then end elsewhere.
        """
        for query in self.queries:
            said = f"{query.metric or ''}={query.promql}"
            name = f"{SOURCE} {self.server.url} {self.step_seconds}s {said}"
            known = list(_spans_of(positions, PREFIX + name))
            begun = [span for span in known if span[0] < self.span[1] and self.span[0] < span[1]]
            for span in sorted([*begun, *uncovered_days(self.span, known)]):
                yield self._unit(f"{name} {span[0]}-{span[1]}", query, span)

    def _unit(self, name: str, query: AskedQuery, span: Span) -> Unit:
        part = EventsPart(read=partial(self._read, query, span))
        return Unit(name=name, parts=(part,), facts=repr((name, self.cluster)))

    def _read(self, query: AskedQuery, span: Span, skipped: SkipCounts) -> Iterator[Sample]:
        step = self.step_seconds * SECOND
        first, last = -(-span[0] // step) * step, (span[1] - 1) // step * step
        if first > last:
            return
        asked = RangeQuery(query.promql, first, last, self.step_seconds)
        reading = Reading(self.naming, SOURCE, self.cluster, metric=query.metric)
        for piece in self.server.pieces(asked, skipped):
            named = (replace(series, name=series.name or query.name) for series in piece)
            yield from reading.samples(named, skipped)


def _spans_of(positions: Mapping[str, str], name: str) -> Iterator[Span]:
    for text in positions:
        found = _TIMES.fullmatch(text.removeprefix(name)) if text.startswith(name) else None
        if found is not None:
            yield int(found[1]), int(found[2])
