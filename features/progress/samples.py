"""A bounded memory of stretches: the first, the last, and evenly thinned ones between."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD_SAMPLES: Final = 64
"""First samples kept as they are."""
TAIL_SAMPLES: Final = 512
"""Last samples kept as they are."""
MIDDLE_SAMPLES: Final = 512
"""Samples between, thinned by halves whenever they reach this."""


@dataclass(slots=True)
class Sample:
    """A stretch of new steps and what was printed about it. Null means not printed."""

    step: int
    line: int = 0
    file: str = ""
    segment: int = 0
    steps: int = 0
    """Steps since the sample before; 0 for the first of a segment."""
    printed_seconds: float | None = None
    """Printed time of one step."""
    rate: float | None = None
    data_seconds: float | None = None
    elapsed_delta: float | None = None
    """Seconds per step by the printer's own clock."""
    clock_delta: float | None = None
    """Seconds per step by the log's time stamps."""
    disturbed: bool = False
    """An evaluation, a checkpoint or an epoch's start lies in this stretch."""


class Batch(Protocol):
    """Samples that can be made one by one, when they are wanted."""

    def make(self, index: int) -> Sample:
        """Return the sample of that number, always an equal one."""
        ...

    def keep_from(self, index: int) -> None:
        """Let go of what only samples before `index` need: nobody asks for these any more."""
        ...


_Entry: TypeAlias = Sample | tuple[Batch, int]


class Thinned:
    """A bounded list: all of the first and last samples, evenly thinned ones between."""

    def __init__(self) -> None:
        self._head: list[Sample] = []
        self._middle: list[Sample] = []
        self._tail: deque[_Entry] = deque()
        self._whole: Batch | None = None
        """The batch that was added last: it keeps all that it needs, until the next one comes."""
        self._stride = 1
        self._dropped = 0

    def __len__(self) -> int:
        return len(self._head) + len(self._middle) + len(self._tail)

    def append(self, sample: Sample) -> None:
        """Add the newest sample."""
        if len(self._head) < HEAD_SAMPLES:
            self._head.append(sample)
            return
        self._tail.append(sample)
        if len(self._tail) > TAIL_SAMPLES:
            self._thin(self._tail.popleft())

    def extend(self, batch: Batch, count: int) -> None:
        """Add the first `count` samples of `batch`, as `append` does one by one.

        Those that aren't kept are never made, and the last ones only when somebody asks.
        """
        begin = min(count, max(0, HEAD_SAMPLES - len(self._head)))
        self._head += map(batch.make, range(begin))
        surplus = len(self._tail) + count - begin - TAIL_SAMPLES
        leaving = min(max(0, surplus), len(self._tail))
        gone = [self._tail.popleft() for _ in range(leaving)]
        self._pass_through(gone.__getitem__, leaving)
        self._let_go()
        self._whole, passing = batch, max(0, surplus - leaving)
        self._pass_through(lambda index: (batch, begin + index), passing)
        self._tail += ((batch, index) for index in range(begin + passing, count))

    def _let_go(self) -> None:
        """Let the batch before go, but for its samples that are kept: most often there are none."""
        for entry in self._tail:
            if isinstance(entry, tuple) and entry[0] is self._whole:
                entry[0].keep_from(entry[1])
                return

    def _pass_through(self, entry: Callable[[int], _Entry], count: int) -> None:
        """Thin so many entries, which the tail has no room for; `entry` returns each."""
        index = 0
        while (gap := self._stride - self._dropped % self._stride) <= count - index:
            self._dropped += gap - 1
            index += gap
            self._thin(entry(index - 1))
        self._dropped += count - index

    def _thin(self, entry: _Entry) -> None:
        self._dropped += 1
        if self._dropped % self._stride == 0:
            self._middle.append(_made(entry))
        if len(self._middle) > MIDDLE_SAMPLES:
            del self._middle[::2]
            self._stride *= 2

    def last(self) -> Sample | None:
        """Return the newest sample, null when there is none."""
        if not self._tail:
            return self._head[-1] if self._head else None
        self._tail[-1] = last = _made(self._tail[-1])
        return last

    def samples(self) -> list[Sample]:
        """Return what is kept, in order."""
        tail = [_made(entry) for entry in self._tail]
        self._tail, self._whole = deque(tail), None
        return [*self._head, *self._middle, *tail]


def _made(entry: _Entry) -> Sample:
    return entry if isinstance(entry, Sample) else entry[0].make(entry[1])
