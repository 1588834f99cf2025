"""The score of the Numenta Anomaly Benchmark, standard profile.

Each window of an anomaly counts once: the earlier in it the first detection, the more. A detection
outside of all windows costs the more the further behind a window it is. 0 is a silent detector, 100
one that detects every window at its first sample and nothing else.

Source: Evaluating real-time anomaly detection algorithms (arXiv:1510.03336).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

PROBATION = 0.15
"""Share of a series, of at most 5000 samples, at whose start nothing counts."""
_FALSE = 0.11
_LATE = 3.0
_EARLIEST = 2 / (1 + math.exp(-5.0)) - 1


@dataclass(frozen=True, slots=True)
class Labelled:
    """A series with its windows, as places of their first and last sample."""

    count: int
    windows: tuple[tuple[int, int], ...]

    @property
    def probation(self) -> int:
        """Samples at the start that don't count."""
        return int(PROBATION * min(self.count, 5000))


def raw_score(series: Labelled, detections: Iterable[int]) -> float:
    """Return the sum of what detections are worth, missed windows taken off.

    >>> raw_score(Labelled(1000, ((500, 600),)), [])
    -1.0
    """
    total, found = 0.0, set[int]()
    for place in sorted(detections):
        if place < series.probation:
            continue
        inside = next((n for n, (a, b) in enumerate(series.windows) if a <= place <= b), None)
        if inside is None:
            total += _FALSE * _worth_outside(series.windows, place)
        elif inside not in found:
            found.add(inside)
            first, last = series.windows[inside]
            width = last - first + 1
            total += max(0.0, _sigmoid(-(last - place + 1) / width)) / _EARLIEST
    return total - (len(series.windows) - len(found))


def score(corpus: Sequence[tuple[Labelled, Iterable[int]]]) -> float:
    """Return the score of a detector on a corpus, 100 at most, 0 where it says nothing.

    >>> score([(Labelled(1000, ((500, 600),)), [500])])
    100.0
    """
    windows = sum(len(series.windows) for series, _ in corpus)
    if not windows:
        return 0.0
    total = sum(raw_score(series, detections) for series, detections in corpus)
    return 100 * (total + windows) / (2 * windows)


def _worth_outside(windows: Sequence[tuple[int, int]], place: int) -> float:
    before = [(first, last) for first, last in windows if last < place]
    if not before:
        return -1.0
    first, last = before[-1]
    return _sigmoid((place - last) / max(1, last - first))


def _sigmoid(position: float) -> float:
    return -1.0 if position > _LATE else 2 / (1 + math.exp(5 * position)) - 1
