"""What a value is of, and the values of it over a stretch of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from relume.verdict import Health

if TYPE_CHECKING:
    from relume.events import Sample

COUNTER = "_total"
"""How the name of a counter ends."""
MAX_BITS = 2**53
"""Beyond it a float is no exact set of bits."""


class Series(NamedTuple):
    """What the values are of: the names of `relume.events.Sample`, null where it has none."""

    metric: str
    node: str | None = None
    gpu: str | None = None
    device: str | None = None


Points: TypeAlias = Sequence[tuple[int, float]]
"""Times (UTC microseconds, rising) and values."""
Window: TypeAlias = Mapping[Series, Points]
"""What was measured over a stretch of time. Counters stand in it as rates, per second."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What metrics say of a question, in three values.

    Attributes
    ----------
    health
        *unknown* where nothing was measured, too little, or signals disagree: never an alarm.
    reason
        One sentence for a person, with the numbers it rests on.
    signals
        What each kind of signal says by itself; one that isn't there has no entry.
    since, until
        First and last value that it rests on, UTC microseconds; null where there is none.
    seen
        The last value of the series, of those it rests on, that was measured longest ago: the
        answer is as old as that.
    """

    health: Health
    reason: str
    signals: Mapping[str, Health]
    since: int | None = None
    until: int | None = None
    seen: int | None = None


def series_of(sample: Sample) -> Series:
    """Return what a sample is of.

    >>> from relume.events import Sample
    >>> series_of(Sample(source="dcgm", metric="gpu_power_watts", value=412.5, node="n1", gpu="3"))
    Series(metric='gpu_power_watts', node='n1', gpu='3', device=None)
    """
    return Series(sample.metric, sample.node, sample.gpu, sample.device)


def has_bits(value: float, bits: int) -> bool:
    """Whether any of `bits` is set in a value; what can't be a set of bits has none.

    >>> has_bits(64.0, 0xC8), has_bits(64.0, 0x08), has_bits(float("nan"), 0xFF)
    (True, False, False)
    """
    return 0 <= value < MAX_BITS and int(value) & bits != 0


def is_counter(metric: str) -> bool:
    """Whether values only rise, but for restarts.

    >>> is_counter("nic_sent_bytes_total"), is_counter("gpu_power_watts")
    (True, False)
    """
    return metric.endswith(COUNTER)
