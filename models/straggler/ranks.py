"""Ranks of one job side by side: what is slow about a slow step, and what if a part were not.

In step, a job waits for its slowest rank. So the time of a step is the longest that any rank works
before the collective, and a rank, a node or a pipeline stage costs what the job would gain if it
were like its peers. Two things are told apart: what lasts (the same rank is slow in every step: its
median counts) and what changes (another rank is slowest each time: sequences of uneven length).

Source: the what-if analysis of arXiv:2505.05713, on medians instead of a simulated schedule; with a
pipeline in its steady state the slowest stage sets the pace, so both agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from relume.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

MIN_STEPS: Final = 5
"""Steps that a comparison needs."""
_HUGE: Final = 1e18
MIN_PEERS: Final = 2
"""Other ranks of a stage without which none of them can be told from the stage."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one rank, node or stage costs.

    Attributes
    ----------
    name
        The rank, the node or the stage.
    share
        Part of what lasts that would be gone without it (0 to 1).
    ratio
        How many times as long as its peers it takes.
    """

    name: Hashable
    share: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Decomposition:
    """Where the time of slow steps goes.

    Attributes
    ----------
    steps, ranks
        How many were compared.
    lasting
        How much longer than the typical rank the slowest one takes, by their medians; 0.2: a fifth.
    changing
        How much longer than that the steps take because another rank is slowest each time.
    noise
        How far the median of one rank may be off by chance: its standard error.
    own
        How much longer the typical rank takes than before; null when that isn't known.
    rank, node, stage
        The one that costs most, each; null where there is nothing to compare with.
    """

    steps: int
    ranks: int
    lasting: float
    changing: float
    noise: float
    own: float | None
    rank: Share | None
    node: Share | None
    stage: Share | None


@dataclass(frozen=True, slots=True)
class RankTimes:
    """Times of ranks, step by step.

    Attributes
    ----------
    times
        Shape (steps, ranks), any unit; NaN where nothing is known.
    ranks
        Their numbers.
    nodes
        The node of each; null where it isn't known.
    stages
        The pipeline stage of each; null without a pipeline.
    before
        What each rank typically took before it was slow, in the same unit, NaN where unknown; null
        when nothing is known of before: then what always was so counts too.
    changed_before
        `Decomposition.changing` of that time; what noise alone makes of it.
    own_work
        Whether it is their work before the collective. Times that hold waiting for the others rise
        on every rank alike: they can show a culprit, and never that there is none.

    Raises
    ------
    InputError
        When the parts don't fit each other.

    Examples
    --------
    >>> steady = np.full((20, 4), 1.0)
    >>> steady[:, 2] = 1.5
    >>> found = RankTimes(steady, (0, 1, 2, 3), ("n1", "n1", "n2", "n2")).decompose()
    >>> found.rank, round(found.changing, 6)
    (Share(name=2, share=1.0, ratio=1.5), 0.0)
    """

    times: NDArray[np.float64]
    ranks: tuple[int, ...]
    nodes: tuple[str | None, ...] | None = None
    stages: tuple[int, ...] | None = None
    before: NDArray[np.float64] | None = None
    changed_before: float = 0.0
    own_work: bool = True

    def __post_init__(self) -> None:
        count = len(self.ranks)
        fits = self.times.ndim == 2 and self.times.shape[1] == count  # noqa: PLR2004
        for part in (self.nodes, self.stages, self.before):
            fits = fits and (part is None or len(part) == count)
        if not fits:
            raise InputError(
                "times of ranks don't fit each other",
                found=f"times of shape {self.times.shape} for {count} ranks",
                expected="a column, a node, a stage and a time before for each rank",
            )

    def decompose(self) -> Decomposition | None:
        """Return where the time goes; null with fewer than `MIN_STEPS` steps or 2 ranks."""
        usable = np.where(_measured(self.times), self.times, np.nan)
        known = np.flatnonzero(np.sum(~np.isnan(usable), axis=0) >= MIN_STEPS)
        times, before = usable[:, known], self._before(known)
        times = times[~np.isnan(times).all(axis=1)]
        if len(known) < 2 or len(times) < MIN_STEPS:  # noqa: PLR2004
            return None
        now = np.nanmedian(times, axis=0)
        own = None if before is None else float(np.median(now / before)) - 1.0
        if before is not None:  # what was so before is not what made it slow
            times = times / (before / np.median(before))
        # What all ranks of a step have in common says nothing of any of them.
        relative = times / np.nanmedian(times, axis=1, keepdims=True)
        now = np.nanmedian(relative, axis=0)
        typical = float(np.median(now))
        stages = self._groups(self.stages, known)
        nodes = self._groups(self.nodes, known)
        peers = _peers(now, stages)
        return Decomposition(
            steps=len(times),
            ranks=len(known),
            lasting=float(now.max()) / typical - 1.0,
            changing=max(0.0, _changing(relative, now) - self.changed_before),
            noise=_noise(relative, now) * (1.0 if before is None else 2.0**0.5),
            own=own,
            rank=_costliest(now, typical, peers, {self.ranks[k]: [i] for i, k in enumerate(known)}),
            node=_costliest(now, typical, peers, nodes) if len(nodes) > 1 else None,
            stage=_stage(now, typical, stages),
        )

    def _before(self, known: NDArray[np.int64]) -> NDArray[np.float64] | None:
        if self.before is None:
            return None
        before = self.before[known]
        return before if _measured(before).all() else None

    def _groups(
        self, names: Sequence[Hashable | None] | None, known: NDArray[np.int64]
    ) -> dict[Hashable, list[int]]:
        groups: dict[Hashable, list[int]] = {}
        for place, number in enumerate(known):
            if names is not None and names[number] is not None:
                groups.setdefault(names[number], []).append(place)
        return groups


def _measured(times: NDArray[np.float64]) -> NDArray[np.bool_]:
    """What can be the time of some work; nothing else is, and ratios of these can be told."""
    return (times > 1.0 / _HUGE) & (times < _HUGE)


def _changing(relative: NDArray[np.float64], now: NDArray[np.float64]) -> float:
    """How much longer the slowest rank of a step takes than it usually would."""
    return float(np.mean(np.nanmax(relative, axis=1))) / float(now.max()) - 1.0


def _noise(relative: NDArray[np.float64], now: NDArray[np.float64]) -> float:
    """Standard error of the median of a rank's times, that of a typical rank."""
    spread = 1.4826 * np.nanmedian(np.abs(relative - now), axis=0)
    count = np.sum(~np.isnan(relative), axis=0)
    return float(np.median(1.2533 * spread / np.sqrt(count)))


def _peers(now: NDArray[np.float64], stages: dict[Hashable, list[int]]) -> NDArray[np.float64]:
    """What each rank would take if it were like the others of its stage; NaN without peers."""
    peers = np.full(len(now), np.nan)
    for members in stages.values() or [list(range(len(now)))]:
        if len(members) > MIN_PEERS:
            peers[members] = np.median(now[members])
        elif len(members) == MIN_PEERS:  # of two, the faster is what the other could be
            peers[members] = now[members].min()
    return peers


def _costliest(
    now: NDArray[np.float64],
    typical: float,
    peers: NDArray[np.float64],
    groups: dict[Hashable, list[int]],
) -> Share | None:
    """Return the group without which most of what lasts would be gone."""
    worst, best = float(now.max()), None
    slowest = int(now.argmax())
    for name, members in groups.items():
        if slowest not in members or np.isnan(peers[members]).any():
            continue  # only where the slowest one is can anything be gained
        fixed = now.copy()
        fixed[members] = np.minimum(now[members], peers[members])
        share = (worst - float(fixed.max())) / max(worst - typical, 1e-12)
        best = Share(name, min(1.0, share), float(np.median(now[members] / peers[members])))
    return best


def _stage(
    now: NDArray[np.float64], typical: float, stages: dict[Hashable, list[int]]
) -> Share | None:
    """Return the stage that holds the pipeline up, null without a pipeline."""
    if len(stages) < 2:  # noqa: PLR2004
        return None
    middles = {name: float(np.median(now[members])) for name, members in stages.items()}
    name = max(middles, key=lambda stage: middles[stage])
    others = float(np.median([value for stage, value in middles.items() if stage != name]))
    fixed = now.copy()
    fixed[stages[name]] *= others / middles[name]
    worst = float(now.max())
    share = (worst - float(fixed.max())) / max(worst - min(typical, others), 1e-12)
    return Share(name, max(0.0, min(1.0, share)), middles[name] / others)
