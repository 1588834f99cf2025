"""Series that are added up, such as a node's CPUs: a sum is told once all of its parts came.

The parts of one scrape come in several bodies, and which parts there are nobody says. So the first
few times of a sum only teach how many there are. A sum that stays incomplete is never told: it
would look like a counter that began anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from relume.ingest.push.wire import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from relume.ingest.push.wire import Number

SLOTS: Final = 4
"""Times of a sum that are open at once; an older one is closed, whole or not."""
LOW_TIMES: Final = 4
"""So many times in a row with fewer parts: the others are gone."""
NEVER: Final = -(2**63)
_TIME, _COUNT, _TOLD, _ROW = 0, 1, 2, 3
"""What is kept of an open time: the time, how many parts came, the body that told the sum last, and
where in that it stands."""
_EXPECTED, _LOW, _LOW_MOST = 0, 1, 2
"""What is kept of a sum: how many parts it has, times with fewer in a row, the most of those."""


class Sums:
    """Sums by number, of parts by number. Bounded by both."""

    def __init__(self) -> None:
        self._open = _open(0)
        self._values = np.zeros((0, SLOTS))
        self._learned = np.zeros((0, 3), np.int64)
        self._newest = np.zeros(0, np.int64)
        self._body = 0

    def take(
        self,
        parts: NDArray[np.int32],
        sums: NDArray[np.int32],
        times: NDArray[np.int64],
        values: NDArray[np.float64],
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]:
        """Take values of parts; return which sums are whole with them: numbers, times and values.

        What comes again (a sender that got no answer repeats itself) is not added again, but the
        sum is told again.
        """
        if not len(parts):
            return sums, times, values
        self._grow(int(parts.max()) + 1, int(sums.max()) + 1)
        self._body += 1
        told = np.empty((2, len(parts)), np.int64)
        made = np.empty(len(parts))
        count = _take(
            (parts, sums, times, values),
            (self._newest, self._open, self._values, self._learned),
            self._body,
            told,
            made,
        )
        return told[0, :count].astype(np.int32), told[1, :count], made[:count]

    def _grow(self, parts: int, sums: int) -> None:
        if parts > len(self._newest):
            more = max(parts, 2 * len(self._newest)) - len(self._newest)
            self._newest = np.concatenate([self._newest, np.full(more, NEVER, np.int64)])
        if sums > len(self._learned):
            more = max(sums, 2 * len(self._learned)) - len(self._learned)
            self._open = np.concatenate([self._open, _open(more)])
            self._values = np.concatenate([self._values, np.zeros((more, SLOTS))])
            self._learned = np.concatenate([self._learned, np.zeros((more, 3), np.int64)])


def _open(count: int) -> NDArray[np.int64]:
    made = np.zeros((count, SLOTS, 4), np.int64)
    made[:, :, _TIME] = NEVER
    return made


@compiled
def _take(
    given: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]],
    state: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]],
    body: int,
    told: NDArray[np.int64],
    made: NDArray[np.float64],
) -> int:
    parts, sums, times, values = given
    newest, opened, added, learned = state
    count = 0
    for row in range(len(parts)):
        part, one, time = parts[row], sums[row], times[row]
        slot = _slot(opened[one], time)
        if time > newest[part]:
            newest[part] = time
            if slot < 0:
                slot = _begin(opened[one], learned[one], time)
                if slot < 0:
                    continue
                added[one, slot] = 0.0
            added[one, slot] += values[row]
            opened[one, slot, _COUNT] += 1
            if learned[one, _EXPECTED]:  # a part that is new
                learned[one, _EXPECTED] = max(learned[one, _EXPECTED], opened[one, slot, _COUNT])
        elif slot < 0:
            continue
        if opened[one, slot, _COUNT] != learned[one, _EXPECTED]:
            continue
        if opened[one, slot, _TOLD] != body:
            opened[one, slot, _TOLD], opened[one, slot, _ROW] = body, count
            told[0, count], told[1, count] = one, time
            count += 1
        made[opened[one, slot, _ROW]] = added[one, slot]
    return count


@compiled
def _slot(opened: NDArray[np.int64], time: Number) -> int:
    for slot in range(len(opened)):
        if opened[slot, _TIME] == time:
            return slot
    return -1


@compiled
def _begin(opened: NDArray[np.int64], learned: NDArray[np.int64], time: Number) -> int:
    """Open a time in the place of the oldest one, which teaches; -1 for one that is late."""
    oldest, most = 0, 0
    for slot in range(len(opened)):
        if opened[slot, _TIME] < opened[oldest, _TIME]:
            oldest = slot
        most = max(most, opened[slot, _COUNT])
    if time < opened[oldest, _TIME]:
        return -1
    if opened[oldest, _TIME] != NEVER:
        _learn(learned, opened[oldest, _COUNT], most)
    opened[oldest, _TIME], opened[oldest, _COUNT], opened[oldest, _TOLD] = time, 0, 0
    return oldest


@compiled
def _learn(learned: NDArray[np.int64], count: Number, most: Number) -> None:
    """Take that a time was closed with `count` parts, while others have `most`."""
    if learned[_EXPECTED] == 0:
        learned[_EXPECTED] = most
    elif count < learned[_EXPECTED]:
        learned[_LOW] += 1
        learned[_LOW_MOST] = max(learned[_LOW_MOST], count)
        if learned[_LOW] >= LOW_TIMES:
            learned[_EXPECTED], learned[_LOW], learned[_LOW_MOST] = learned[_LOW_MOST], 0, 0
    else:
        learned[_LOW] = learned[_LOW_MOST] = 0
