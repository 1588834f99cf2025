"""Step lines in columns: what a log that is full of them needs of most of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from relume.features.progress.point import ProgressPoint

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
ReadLine = Callable[[bytes], tuple[ProgressPoint, int | None]]
"""Reads a line anew: what it says, and its time."""


@dataclass(frozen=True, slots=True)
class Wording:
    """What step lines say that are alike but for their numbers.

    `point` is what one of them says, `rank` who prints them, `is_timed` whether they have a clock.
    In the others differ only the step, the loss, the clocks, and other numbers of the pace and the
    model, which are finite wherever they are in `point`.
    """

    point: ProgressPoint
    rank: int | None
    is_timed: bool
    read: ReadLine


@dataclass(slots=True)
class Run:
    """Step lines of one file in their order, each of a known wording.

    Attributes
    ----------
    file
        Name of the file.
    wordings
        The wordings, and `which` the one of each line.
    steps, times, elapsed, losses
        The step; UTC microseconds, 0 without a clock; the seconds of a bar's own clock, 0 without;
        the loss, NaN without.
    lines
        Physical line numbers.
    text, span
        Return the bytes of a line by its position in the run, and where it is in its block.
    """

    file: str
    wordings: tuple[Wording, ...]
    which: Integers
    steps: Integers
    times: Integers
    elapsed: NDArray[np.float64]
    losses: NDArray[np.float64]
    lines: Integers
    text: Callable[[int], bytes]
    span: Callable[[int], tuple[int, int]]

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def timed(self) -> Flags:
        """Which lines have a clock."""
        timed = [wording.is_timed for wording in self.wordings]
        flags: Flags = np.full(len(self), timed[0])
        return flags if len(set(timed)) == 1 else np.array(timed)[self.which]

    def wording(self, at: int) -> Wording:
        """Return the wording of one line."""
        return self.wordings[int(self.which[at])]

    def read(self, at: int) -> tuple[ProgressPoint, int | None]:
        """Read one line anew."""
        return self.wording(at).read(self.text(at))

    def __getitem__(self, part: slice) -> Run:
        """Return some lines as a run."""
        begin = part.indices(len(self))[0]
        return Run(
            self.file,
            self.wordings,
            self.which[part],
            self.steps[part],
            self.times[part],
            self.elapsed[part],
            self.losses[part],
            self.lines[part],
            lambda at: self.text(begin + at),
            lambda at: self.span(begin + at),
        )
