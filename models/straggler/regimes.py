"""Which stream a step belongs to: what is known to take another time is never mixed in.

Declared are a restart within the attempt, another batch size, and what an evaluation, a checkpoint
or an epoch's start lies in. A step that is slow for no declared reason stays where it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from relume.models.straggler.steps import StepTime

SAME_WORK: Final = 0.02
"""Share by which the work of two steps may differ and still be the same."""
SETTLED: Final = 5
"""Steps in a row with the same new work that make another batch size."""
SETTLED_SHARE: Final = 0.005
"""How alike their work must be: about what rates are rounded to. A rate that lags behind the time
makes the work of slow steps seem larger for a while, but by another amount each step."""


@dataclass(slots=True)
class Regimes:
    """Names the regime of one printer's steps. A few numbers, however many steps.

    Attributes
    ----------
    warm_up
        Steps after a beginning that belong nowhere.
    run, batch, work, seen
        The present regime: restarts and batch sizes before it, its work (null when unknown), and
        its steps so far.
    next_work, settling
        Work that may be that of another batch, and in how many steps in a row it was seen.

    Examples
    --------
    >>> from relume.models.straggler.steps import StepTime
    >>> regimes = Regimes(warm_up=1)
    >>> small, large = StepTime(value=5.0, work=512.0), StepTime(value=10.0, work=1024.0)
    >>> [regimes.of(step) for step in (small, small, *[large] * 6)]
    [None, '0.0', '0.0', '0.0', '0.0', '0.0', None, '0.1']
    """

    warm_up: int
    run: int = 0
    batch: int = 0
    work: float | None = None
    seen: int = 0
    next_work: float = 0.0
    settling: int = 0

    def of(self, step: StepTime) -> str | None:
        """Return the regime of the next step; null while it warms up."""
        if step.run != self.run:
            self._begin(step.run, None)
        if step.work is not None:
            self._weigh(step.work)
        self.seen += 1
        if self.seen <= self.warm_up:
            return None
        return f"{self.run}.{self.batch}" + (".disturbed" if step.disturbed else "")

    def _weigh(self, work: float) -> None:
        if self.work is None or _alike(work, self.work, SAME_WORK):
            self.work, self.settling = self.work or work, 0
            return
        if self.settling and _alike(work, self.next_work, SETTLED_SHARE):
            self.settling += 1
        else:
            self.settling, self.next_work = 1, work
        if self.settling >= SETTLED:
            self._begin(self.run, work)

    def _begin(self, run: int, work: float | None) -> None:
        self.batch = 0 if run != self.run else self.batch + 1
        self.run, self.work, self.seen, self.settling = run, work, 0, 0


def _alike(one: float, other: float, share: float) -> bool:
    return abs(one - other) <= share * abs(other)
