"""Series as Prometheus has them, and what becomes of them: samples under Relume's names.

Which names these are, whoever reads says (`Naming`): `relume.features.metrics.names` has the table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Protocol

from relume.errors import InputError
from relume.events import Sample
from relume.ingest.skips import SkipCounts

NAME = "__name__"
"""The label that holds the name of a series."""
POINTS_AT_ONCE = 200_000
"""Values that are held together."""
MAX_SUMMED = 2_000_000
"""Values of one metric that are held to be added up, at most."""
_DCGM = "DCGM_"
_DCGM_BLANKS = (2.0**47, 2.0**47 + 3)
"""DCGM's floating point numbers for *blank*, *not found*, *not supported* and *not permitted*."""
_DCGM_INT_BLANK = 2.0**63 - 1024
"""Its 64-bit integers for the same are above this."""


@dataclass(frozen=True, slots=True)
class RawSeries:
    """One series of a source.

    Attributes
    ----------
    name
        As the source calls it; null for the result of an expression.
    labels
        Without the name.
    times, values
        UTC microseconds and numbers, as many of each.
    """

    name: str | None
    labels: Mapping[str, str]
    times: Sequence[int | None]
    values: Sequence[float]


class Place(Protocol):
    """What values are of."""

    @property
    def metric(self) -> str:
        """Relume's name."""

    @property
    def node(self) -> str | None:
        """Null where no label says it; the same below."""

    @property
    def gpu(self) -> str | None:
        """Index, UUID or PCI id."""

    @property
    def device(self) -> str | None:
        """A NIC, an interface, a MIG instance."""


class Naming(Protocol):
    """Says what a series is to Relume.

    That depends on its name, on the values of `other_labels`, and, for its node alone, on the first
    of `node_labels` that isn't empty.
    """

    @property
    def node_labels(self) -> Collection[str]:
        """Labels that may say the node, in that order."""

    @property
    def other_labels(self) -> Collection[str]:
        """All other labels that count."""

    def node(self, text: str) -> str:
        """Return the node that such a label says."""

    def knows(self, name: str) -> bool:
        """Whether series of a name may be something."""

    def named(self, name: str, labels: Mapping[str, str]) -> NamedSeries | None:
        """Return it; null where it is nothing."""

    def called(self, metric: str, labels: Mapping[str, str]) -> NamedSeries:
        """Return it, of a series that somebody has given a name of Relume's."""


class NamedSeries(Protocol):
    """What a series is to Relume."""

    @property
    def series(self) -> Place:
        """What its values are of."""

    @property
    def rank(self) -> int | None:
        """Null where no label says it."""

    @property
    def scale(self) -> float:
        """What values are multiplied with."""

    @property
    def is_summed(self) -> bool:
        """Whether series that are the same are added up."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How series become samples.

    Attributes
    ----------
    naming
        What they are to Relume.
    source, cluster
        Of every sample.
    node
        Whose series are that have no label for it; null when nobody knows.
    metric
        What Relume calls the series of an expression; null where the names of the source hold.
    """

    naming: Naming
    source: str
    cluster: str = "local"
    node: str | None = None
    metric: str | None = None

    def samples(
        self, found: Iterable[RawSeries], skipped: SkipCounts, *, at_once: int = POINTS_AT_ONCE
    ) -> Iterator[Sample]:
        """Yield the samples of series; those that were held together are in order of time.

        Series that the table adds up are; of others that are the same to Relume, at the same times,
        the first is taken, and the others counted.

        Parameters
        ----------
        found
            Series in any order, those that are added up one after the other.
        skipped
            Where what gives no sample is counted.
        at_once
            Values that are held together.

        Raises
        ------
        InputError
            When more than `MAX_SUMMED` values would have to be added up.
        """
        taken: _Taken = {}
        held, last = 0, None
        for raw in found:
            named = self._named(raw)
            if named is None:
                skipped.add("metric_unknown")
                continue
            is_part = named.is_summed and named.series.metric == last
            if held >= (MAX_SUMMED if is_part else at_once):
                if is_part:
                    raise _too_much(named.series.metric)
                yield from self._in_order(taken)
                taken, held = {}, 0
            last = named.series.metric
            held += len(raw.times)
            self._take(taken, raw, named, skipped)
        yield from self._in_order(taken)

    def _take(self, taken: _Taken, raw: RawSeries, named: NamedSeries, skipped: SkipCounts) -> None:
        place = named.series
        key = (place.metric, place.node or self.node, place.gpu, place.device, named.rank)
        points = zip(raw.times, _scaled(raw, named.scale), strict=True)
        known = taken.get(key)
        if known is None:
            taken[key] = dict(points)
        elif named.is_summed:
            for time, value in points:
                known[time] = known.get(time, 0.0) + value
        elif known.keys().isdisjoint(raw.times):
            known.update(points)
        else:
            skipped.add("metric_twice")

    def _named(self, raw: RawSeries) -> NamedSeries | None:
        if self.metric is not None:
            return self.naming.called(self.metric, raw.labels)
        return None if raw.name is None else self.naming.named(raw.name, raw.labels)

    def _in_order(self, taken: _Taken) -> Iterator[Sample]:
        points = [(time, key, value) for key, of in taken.items() for time, value in of.items()]
        points.sort(key=lambda point: (point[0] is not None, point[0] or 0))  # stable
        for time, (metric, node, gpu, device, rank), value in points:
            yield Sample(
                source=self.source,
                cluster=self.cluster,
                event_time=time,
                metric=metric,
                value=value,
                node=node,
                gpu=gpu,
                rank=rank,
                device=device,
            )


_Key = tuple[str, str | None, str | None, str | None, int | None]
_Taken = dict[_Key, dict[int | None, float]]


def _scaled(raw: RawSeries, scale: float) -> Sequence[float]:
    values = raw.values
    if raw.name is not None and raw.name.startswith(_DCGM):
        values = [nan if _is_blank(value) else value for value in values]
    return values if scale == 1 else [scale * value for value in values]


def _is_blank(value: float) -> bool:
    """Whether DCGM says by it that it has no value; old exporters hand that on."""
    low, high = _DCGM_BLANKS
    return value >= _DCGM_INT_BLANK or low <= value <= high


def _too_much(metric: str) -> InputError:
    return InputError(
        f"values of {metric}",
        found=f"more than {MAX_SUMMED:,} in one piece, which are to be added up",
        expected="fewer: of fewer series, or over a shorter time",
        hint="import it in several pieces",
    )
