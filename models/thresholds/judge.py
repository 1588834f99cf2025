"""Which rules about metrics hold, for which series, since when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from relume.errors import InputError
from relume.features.metrics.counters import Counter
from relume.features.metrics.edges import Latched
from relume.features.metrics.points import Series, series_of
from relume.models.thresholds.rule import MetricRule, Of

if TYPE_CHECKING:
    from relume.events import Sample

MICROSECONDS = 1_000_000
MAX_GAP_SECONDS = 300.0
"""Over a longer time without a value nobody knows whether a condition held."""
MAX_HELD = 1_000_000
"""Conditions that hold at the same time, and counters; the oldest are let go first."""


@dataclass(frozen=True, slots=True)
class MetricFinding:
    """A rule holds for a series, or holds no more.

    Attributes
    ----------
    rule
        Its id.
    series
        Whose values.
    since
        First value that met the condition without a break; UTC microseconds.
    at
        The value that made it long enough; where it is over, the first that doesn't meet it.
    value
        The one at `at`: of a rate the rate.
    is_over
        Whether it holds no more.
    """

    rule: str
    series: Series
    since: int
    at: int
    value: float
    is_over: bool


class _Held(NamedTuple):
    since: int
    last: int
    is_told: bool


_Key: TypeAlias = tuple[str, Series]
_Last: TypeAlias = list[tuple[Series, tuple[int, float]]]
_State: TypeAlias = tuple[list[tuple[str, Series, _Held]], _Last, _Last]


class ThresholdJudge:
    """Takes samples, each series in order of time (one that comes late is ignored).

    Examples
    --------
    >>> from relume.events import Sample
    >>> from relume.models.thresholds.rule import Condition
    >>> from relume.verdict import Domain
    >>> rule = MetricRule(
    ...     "gpu_hot",
    ...     "site",
    ...     "gpu_temperature_celsius",
    ...     Condition.parse("> 90"),
    ...     Domain.FACILITY,
    ...     "A GPU is hot.",
    ...     (),
    ...     (),
    ...     hold_seconds=60,
    ... )
    >>> judge = ThresholdJudge([rule])
    >>> for at, celsius in ((0, 95.0), (30, 96.0), (60, 94.0), (90, 80.0)):
    ...     for finding in judge.take(
    ...         Sample(
    ...             source="dcgm",
    ...             metric="gpu_temperature_celsius",
    ...             value=celsius,
    ...             event_time=at * MICROSECONDS,
    ...         )
    ...     ):
    ...         print(finding.rule, finding.at // MICROSECONDS, finding.value, finding.is_over)
    gpu_hot 60 94.0 False
    gpu_hot 90 80.0 True
    """

    def __init__(self, rules: Iterable[MetricRule]) -> None:
        self._rules: dict[str, list[MetricRule]] = defaultdict(list)
        for rule in rules:
            self._rules[rule.metric].append(rule)
        self._held: dict[_Key, _Held] = {}
        self._rates: Counter[Series] = Counter()
        self._changes = Latched()

    def take(self, sample: Sample) -> Iterator[MetricFinding]:
        """Yield what a sample changes; one without a time changes nothing."""
        rules = self._rules.get(sample.metric)
        if rules is None or sample.event_time is None:
            return
        series, time = series_of(sample), sample.event_time
        kinds = {rule.of for rule in rules}
        rate = self._rate(series, time, sample.value) if Of.RATE in kinds else None
        change = self._changes.take(series, time, sample.value) if Of.CHANGE in kinds else None
        for rule in rules:
            if rule.of is Of.CHANGE:
                if change is not None and rule.condition.holds(change.value):
                    yield MetricFinding(
                        rule.id, series, change.after, time, change.value, is_over=False
                    )
                continue
            value = sample.value if rule.of is Of.VALUE else rate
            if value is not None:
                yield from self._judge(rule, series, time, value)

    def save(self) -> bytes:
        """Return all that it knows, for `restore`."""
        rates, changes = self._rates.last, self._changes.save()
        held = [(rule, series, tuple(of)) for (rule, series), of in self._held.items()]
        return msgspec.json.encode((held, list(rates.items()), list(changes.items())))

    def restore(self, state: bytes) -> None:
        """Take up what `save` returned; rules that are gone since have no effect.

        Raises
        ------
        InputError
            For anything else.
        """
        try:
            held, rates, changes = msgspec.json.decode(state, type=_State)
        except msgspec.DecodeError as error:
            raise InputError(
                "state of metric rules", found=str(error), expected="what they saved"
            ) from error
        self._held = {(rule, series): of for rule, series, of in held}
        self._rates.last = dict(rates)
        self._changes.restore(dict(changes))

    def _rate(self, series: Series, time: int, value: float) -> float | None:
        rate = self._rates.take(series, time, value)
        if len(self._rates.last) > MAX_HELD:
            del self._rates.last[next(iter(self._rates.last))]
        return rate

    def _judge(
        self, rule: MetricRule, series: Series, time: int, value: float
    ) -> Iterator[MetricFinding]:
        key = (rule.id, series)
        held = self._held.get(key)
        if held is not None and time <= held.last:
            return
        if not rule.condition.holds(value):
            self._held.pop(key, None)
            if held is not None and held.is_told and value == value:  # noqa: PLR0124 - NaN
                yield MetricFinding(rule.id, series, held.since, time, value, is_over=True)
            return
        since, is_told = (time, False) if held is None else (held.since, held.is_told)
        if held is not None and not is_told and time - held.last > MAX_GAP_SECONDS * MICROSECONDS:
            since = time
        if not is_told and time - since >= rule.hold_seconds * MICROSECONDS:
            is_told = True
            yield MetricFinding(rule.id, series, since, time, value, is_over=False)
        self._held[key] = _Held(since, time, is_told)
        if len(self._held) > MAX_HELD:
            del self._held[next(iter(self._held))]
