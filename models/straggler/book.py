"""What each rank printed lately, for a comparison once the job is slow."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Final

import numpy as np

from relume.models.straggler.ranks import RankTimes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from relume.models.straggler.steps import StepTime

MAX_RANKS: Final = 1024
"""Ranks remembered; those that come later aren't compared."""
KEPT: Final = 64
"""Steps remembered of each."""
_MIN_BEFORE: Final = 5


@dataclass(slots=True)
class RankBook:
    """Step times of every rank that prints its own. Bounded: 64 of each of 1024 ranks.

    Examples
    --------
    >>> from relume.models.straggler.steps import StepTime
    >>> book = RankBook()
    >>> for step in range(40):
    ...     for rank in range(4):
    ...         slow = rank == 2 and step >= 20
    ...         book.take(rank, StepTime(value=1.5 if slow else 1.0, step=step))
    >>> times = book.since(20)
    >>> times.decompose().rank.name, times.own_work
    (2, False)
    """

    _steps: dict[int, deque[tuple[int, float]]] = field(default_factory=dict)

    def take(self, rank: int, step: StepTime) -> None:
        """Take the next step of a rank."""
        if rank not in self._steps and len(self._steps) >= MAX_RANKS:
            return
        self._steps.setdefault(rank, deque(maxlen=KEPT)).append((step.step, step.value))

    def since(self, step: int, nodes: Mapping[int, str] | None = None) -> RankTimes | None:
        """Return the times of all ranks from a step on; null when fewer than two ranks print any.

        What ranks print holds their waiting for the others, as far as anybody knows: so it can show
        a culprit, and never that there is none.

        Parameters
        ----------
        step
            The first slow one.
        nodes
            The node of each rank, where it is known.
        """
        slow = {
            rank: {number: value for number, value in steps if number >= step}
            for rank, steps in sorted(self._steps.items())
        }
        ranks = tuple(rank for rank, values in slow.items() if values)
        if len(ranks) < 2:  # noqa: PLR2004
            return None
        numbers = sorted({number for rank in ranks for number in slow[rank]})
        times = [[slow[rank].get(number, np.nan) for rank in ranks] for number in numbers]
        earlier = [
            [value for number, value in self._steps[rank] if number < step] for rank in ranks
        ]
        is_known = all(len(values) >= _MIN_BEFORE for values in earlier)
        return RankTimes(
            np.array(times, np.float64),
            ranks,
            nodes=tuple(nodes.get(rank) for rank in ranks) if nodes else None,
            before=np.array([median(values) for values in earlier]) if is_known else None,
            own_work=False,
        )
