"""Which slowdowns hold across jobs: of those that do, an accepted share is expected to be false.

A budget a job-day keeps the false alarms of each job rare; over thousands of jobs there are many.
Here the windows of all jobs are taken in the order of their times, each at the level that is left
for it (`relume.models.baselines.fdr`). It depends on the windows only, not on who told of them
first, so that it comes out the same whenever it is done again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from relume.models.baselines.fdr import OnlineFdr
from relume.models.straggler.windows import Window


@dataclass(frozen=True, slots=True)
class Judged:
    """A window, and whether it holds.

    Attributes
    ----------
    level
        What the window was given; it holds once its e-value is at least ``1 / level``.
    value
        Its e-value: that at which it held, else the last one.
    held_at
        When it began to hold, UTC microseconds; null where it doesn't.
    """

    attempt: str
    window: Window
    level: float
    value: float
    held_at: int | None

    @property
    def holds(self) -> bool:
        """Whether it holds across jobs."""
        return self.held_at is not None

    @property
    def needed(self) -> float:
        """The e-value from which on it holds; infinite where nothing was left for it."""
        return 1.0 / self.level if self.level > 0.0 else float("inf")


def across(windows: Iterable[tuple[str, Window]], false_share: float) -> list[Judged]:
    """Return every window with its attempt, in the order of their begins, and whether it holds.

    Parameters
    ----------
    windows
        Of all attempts, in any order; of one attempt and stream no two begin at one time.
    false_share
        Share of those that hold which may be false, on average (0 to 1).

    Raises
    ------
    InputError
        For a share that is none.

    Examples
    --------
    >>> quiet = [(f"lab/{job}@0.0", Window("train", 0)) for job in range(20)]
    >>> once, twice = ((7, 100.0),), ((7, 100.0), (9, 2.9e6))
    >>> loud = [("lab/90@0.0", Window("train", 5, once)), ("lab/91@0.0", Window("train", 5, twice))]
    >>> [(one.attempt, one.holds) for one in across([*quiet, *loud], 0.1) if one.window.evidence]
    [('lab/90@0.0', False), ('lab/91@0.0', True)]
    """
    fdr = OnlineFdr(alpha=false_share)
    known = sorted(windows, key=lambda one: (one[1].begin, one[0], one[1].stream))
    events = [(window.begin, -1, number) for number, (_, window) in enumerate(known)]
    events += [
        (time, turn, number)
        for number, (_, window) in enumerate(known)
        for turn, (time, _) in enumerate(window.evidence)
    ]
    levels, values = [0.0] * len(known), [0.0] * len(known)
    held: dict[int, int] = {}
    for time, turn, number in sorted(events):
        if turn < 0:
            levels[number] = fdr.begin()
        elif number not in held:
            values[number] = known[number][1].evidence[turn][1]
            if fdr.holds(levels[number], values[number]):
                held[number] = time
    return [
        Judged(attempt, window, levels[number], values[number], held.get(number))
        for number, (attempt, window) in enumerate(known)
    ]
