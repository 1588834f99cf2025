"""What a new attempt starts from: the silences of its family, as near to it as there are any."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from relume.models.family.attempt import AttemptGaps
from relume.models.family.gaps import PhaseGaps

MAX_MEMBERS = 32
"""Attempts that teach. Older ones are forgotten, and with them pauses that aren't made any more."""
SAME_PACE_RATIO = 1.5
"""How much faster or slower an attempt alike may be: another model, batch or interval of the log is
more than that, and may have other pauses."""
ENOUGH_JOBS = 2
"""Earlier jobs of one name that must be alike: the next one may have been changed. Tries of the
same job run the same script, and one of them is enough."""
SAME_STEP_RATIO = 2.0
"""How many times as long to wait at a step at which an attempt before was silent to its end: what
comes twice at one step is a pause of the job, or a restart doesn't help."""


class Kin(NamedTuple):
    """What an attempt is like; nulls are not known yet, and like nothing.

    `gap_seconds` is its usual gap while it trains.
    """

    framework: str | None = None
    nodes: int | None = None
    gap_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Prior:
    """What is known before anything is seen.

    Attributes
    ----------
    is_exact
        Whether it comes from enough attempts of the same framework, number of nodes and pace. Only
        those say how long pauses are; others say that there are some.
    attempts
        How many attempts it comes from.
    covered_seconds, covered_lines
        The longest of them trained for so long, and in so many progress lines.
    """

    is_exact: bool = False
    attempts: int = 0
    covered_seconds: float = 0.0
    covered_lines: int = 0
    phases: dict[str, PhaseGaps] = field(default_factory=dict)


@dataclass(slots=True)
class Family:
    """The attempts that ended before one began, at most `MAX_MEMBERS`: the last ones.

    Parameters
    ----------
    members
        What they left.
    job
        The job of the attempt that began, in text form.

    Examples
    --------
    >>> before = AttemptGaps(
    ...     attempt="lab/7@1.0",
    ...     known_at=5,
    ...     framework="megatron",
    ...     nodes=4,
    ...     lines=901,
    ...     phases={"train": PhaseGaps(900, 42.0, 9, [5.0, 5.1, 5.0])},
    ... )
    >>> family = Family([before], job="lab/7@1")
    >>> [family.prior(Kin("megatron", nodes, 5.2)).is_exact for nodes in (4, 8)]
    [True, False]
    >>> family.prior(Kin("nanogpt", 8, 5.2)).phases["train"].longest_seconds
    42.0
    """

    members: list[AttemptGaps] = field(default_factory=list)
    job: str = ""
    _asked: tuple[bool, list[AttemptGaps]] | None = field(default=None, compare=False)
    _prior: Prior = field(default_factory=Prior, compare=False)

    def __post_init__(self) -> None:
        self.members = newest(self.members)

    def prior(self, kin: Kin) -> Prior:
        """Return what attempts like this one knew.

        Falls back to any size and pace, then to any framework: what is further to the right is
        dropped first.
        """
        nearest = self._nearest(kin)
        if self._asked != nearest:
            is_exact, members = nearest
            self._asked, self._prior = nearest, _joined(members, is_exact=is_exact)
        return self._prior

    def launches(self, nodes: int | None) -> list[float]:
        """Return how long the members of this size took to their first step, seconds.

        Before the first step nobody knows the framework.
        """
        return [
            one.launch_seconds
            for one in self.members
            if one.launch_seconds is not None and one.nodes == nodes is not None
        ]

    def same_step_seconds(self, step: int | None) -> float:
        """Return how long to wait at a step because attempts before ended silent at it; 0: not."""
        stalled = (m.stalled_seconds for m in self.members if m.stalled_step == step is not None)
        return SAME_STEP_RATIO * max(stalled, default=0.0)

    def wrong_signs(self) -> dict[str, float]:
        """Return which sources were wrong about a silence, and about how long a one, seconds."""
        found: dict[str, float] = {}
        for one in self.members:
            for source, seconds in one.wrong_signs.items():
                found[source] = max(seconds, found.get(source, 0.0))
        return found

    def _nearest(self, kin: Kin) -> tuple[bool, list[AttemptGaps]]:
        trained = [one for one in self.members if one.lines]
        alike = [one for one in trained if one.framework == kin.framework is not None]
        exact = [one for one in alike if one.nodes == kin.nodes is not None and _keeps(one, kin)]
        jobs = {one.job for one in exact}
        if self.job in jobs or len(jobs) >= ENOUGH_JOBS:
            return True, exact
        return False, alike or trained


def newest(members: Iterable[AttemptGaps]) -> list[AttemptGaps]:
    """Return the last `MAX_MEMBERS` of some attempts, the one that was over first at first."""
    return sorted(members, key=lambda one: (one.known_at, one.attempt))[-MAX_MEMBERS:]


def _keeps(one: AttemptGaps, kin: Kin) -> bool:
    """Whether an attempt was about as fast."""
    usual = one.phases.get("train", PhaseGaps()).usual_seconds
    pace = kin.gap_seconds or 0.0
    return usual <= SAME_PACE_RATIO * pace and pace <= SAME_PACE_RATIO * usual and pace > 0.0


def _joined(members: list[AttemptGaps], *, is_exact: bool) -> Prior:
    phases: dict[str, PhaseGaps] = {}
    for one in members:
        for name, gaps in one.phases.items():
            phases[name] = gaps.joined(phases.get(name, PhaseGaps()))
    return Prior(
        is_exact=is_exact,
        attempts=len(members),
        covered_seconds=max((one.trained_seconds for one in members), default=0.0),
        covered_lines=max((one.lines for one in members), default=0),
        phases=phases,
    )
