"""What a new attempt starts from: the silences of its family, as near to it as there are any."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from relume.models.family.attempt import AttemptGaps
from relume.models.family.gaps import PhaseGaps

MAX_MEMBERS = 32
"""Attempts that teach. Older ones are forgotten, and with them pauses that aren't made any more."""
SAME_STEP_RATIO = 2.0
"""How many times as long to wait at a step at which an attempt before was silent to its end: what
comes twice at one step is a pause of the job, or a restart doesn't help."""


@dataclass(frozen=True, slots=True)
class Prior:
    """What is known before anything is seen.

    Attributes
    ----------
    is_exact
        Whether it comes from attempts of the same framework and number of nodes. Only those say
        how long pauses are; others say that there are some.
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

    Examples
    --------
    >>> before = AttemptGaps(
    ...     attempt="lab/7@1.0",
    ...     known_at=5,
    ...     framework="megatron",
    ...     nodes=4,
    ...     lines=901,
    ...     phases={"train": PhaseGaps(900, 42.0, 9)},
    ... )
    >>> family = Family([before])
    >>> family.prior("megatron", 4).is_exact, family.prior("megatron", 8).is_exact
    (True, False)
    >>> family.prior("nanogpt", 8).phases["train"].longest_seconds
    42.0
    """

    members: list[AttemptGaps] = field(default_factory=list)
    _asked: tuple[str | None, int | None] | None = field(default=None, compare=False)
    _prior: Prior = field(default_factory=Prior, compare=False)

    def __post_init__(self) -> None:
        self.members = newest(self.members)

    def prior(self, framework: str | None, nodes: int | None) -> Prior:
        """Return what attempts of this framework and size knew.

        Falls back to any size, then to any framework: what is further to the right is dropped
        first. A size or framework that isn't known is no size and no framework.
        """
        if self._asked != (framework, nodes):
            self._asked, self._prior = (framework, nodes), self._nearest(framework, nodes)
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

    def _nearest(self, framework: str | None, nodes: int | None) -> Prior:
        trained = [one for one in self.members if one.lines]
        alike = [one for one in trained if framework is not None and one.framework == framework]
        exact = [one for one in alike if nodes is not None and one.nodes == nodes]
        return _joined(exact or alike or trained, is_exact=bool(exact))


def newest(members: Iterable[AttemptGaps]) -> list[AttemptGaps]:
    """Return the last `MAX_MEMBERS` of some attempts, the one that was over first at first."""
    return sorted(members, key=lambda one: (one.known_at, one.attempt))[-MAX_MEMBERS:]


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
