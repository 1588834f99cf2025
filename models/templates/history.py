"""What healthy attempts print: templates of the fleet, and which families they were seen in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from relume.models.templates.drain import Drain, DrainSettings, DrainState
from relume.models.templates.familiar import Seen

FORMAT = 1
SETTINGS = DrainSettings(max_templates=16_384, max_siblings=64)
MAX_FAMILIES = 512
"""Families remembered; the one that was added to longest ago goes first."""
MAX_OF_FAMILY = 1024
"""Templates remembered of each; those go first that fewest of its attempts printed."""
MAX_LINES = 16_384
"""Lines learned of one attempt; more of them cost time and are of the same kinds."""
MAX_LEARNED = 8192
"""Attempts remembered by name, so that none is learned from twice."""


class FamilyState(msgspec.Struct, array_like=True):
    """A family: how many healthy attempts it had, and how many of them printed each template."""

    attempts: int = 0
    counts: dict[int, int] = {}


class HistoryState(msgspec.Struct, forbid_unknown_fields=True):
    """Everything that a `TemplateHistory` knows, for JSON (`docs/unknown.md`)."""

    format: int
    drain: DrainState
    fleet: dict[int, int]
    families: dict[str, FamilyState]
    learned: list[str]


class TemplateHistory:
    """Learns from attempts that ended well. Bounded, some MB; not thread-safe.

    What it knows depends only on what it learned, in which order. `version` counts the attempts
    that it learned from since it was made or restored.

    Examples
    --------
    >>> history = TemplateHistory()
    >>> history.learn("lab/7@0.0", ["run ada/llm"], [b"ward 3 is open", b"ward 4 is open"])
    True
    >>> history.familiar(["run ada/llm"]).seen(b"ward 9 is open")
    Seen(family=1, fleet=1)
    >>> history.familiar(["run eve/cnn"]).seen(b"ward 9 is open")
    Seen(family=0, fleet=1)
    """

    def __init__(self) -> None:
        self._drain = Drain(SETTINGS)
        self._fleet: dict[int, int] = {}
        self._families: dict[str, FamilyState] = {}
        self._learned: dict[str, None] = {}
        self.version = 0

    def __len__(self) -> int:
        """How many templates are known."""
        return len(self._drain)

    def knows(self, attempt: str) -> bool:
        """Whether it has learned from an attempt, and not yet forgotten that."""
        return attempt in self._learned

    def learn(self, attempt: str, families: Sequence[str], lines: Iterable[bytes]) -> bool:
        """Take what a healthy attempt printed; false for one that is known already."""
        if attempt in self._learned:
            return False
        while len(self._learned) >= MAX_LEARNED:
            del self._learned[next(iter(self._learned))]
        self._learned[attempt] = None
        self.version += 1
        taken = islice(lines, MAX_LINES)
        printed = {found.id for line in taken if (found := self._drain.add(line)) is not None}
        printed = {number for number in printed if self._drain.get(number) is not None}
        _count(self._fleet, printed)
        for name in families:
            family = self._families.pop(name, None) or FamilyState(0, {})
            family.attempts += 1
            _count(family.counts, printed)
            if len(family.counts) > MAX_OF_FAMILY:
                family.counts = self._commonest(family.counts)
            while len(self._families) >= MAX_FAMILIES:
                del self._families[next(iter(self._families))]
            self._families[name] = family
        if len(self._fleet) > len(self._drain):  # some templates have gone
            self._fleet = {n: c for n, c in self._fleet.items() if self._drain.get(n) is not None}
        return True

    def familiar(self, families: Iterable[str]) -> FamilyView:
        """Return what is known as seen from a job: by the first of its families that is known."""
        known = next((one for name in families if (one := self._families.get(name))), None)
        return FamilyView(self._drain, self._fleet, known or FamilyState(0, {}))

    def state(self) -> HistoryState:
        """Return what it knows."""
        return HistoryState(
            FORMAT,
            self._drain.state(),
            dict(self._fleet),
            {n: FamilyState(one.attempts, dict(one.counts)) for n, one in self._families.items()},
            list(self._learned),
        )

    @classmethod
    def restore(cls, state: HistoryState) -> TemplateHistory:
        """Return the history whose state it was."""
        history = cls()
        history._drain = Drain.restore(state.drain, SETTINGS)
        history._fleet = dict(state.fleet)
        for name, family in state.families.items():
            history._families[name] = FamilyState(family.attempts, dict(family.counts))
        history._learned = dict.fromkeys(state.learned)
        return history

    def _commonest(self, counts: dict[int, int]) -> dict[int, int]:
        """Return the counts of what most attempts printed, the newer ones of those alike."""
        known = [number for number in counts if self._drain.get(number) is not None]
        known.sort(key=lambda number: (-counts[number], -number))
        return {number: counts[number] for number in sorted(known[:MAX_OF_FAMILY])}


@dataclass(frozen=True, slots=True)
class FamilyView:
    """The history as seen from one job (`relume.models.templates.familiar.Familiar`)."""

    _drain: Drain
    _fleet: dict[int, int]
    _family: FamilyState = field(default_factory=FamilyState)

    @property
    def family_attempts(self) -> int:
        """How many healthy attempts of the job's family are known."""
        return self._family.attempts

    def seen(self, line: bytes) -> Seen:
        """Return in how many healthy attempts a line like this one was, of the family and of all.

        A line that several templates cover was in at least as many as any of them.
        """
        numbers = [one.id for one in self._drain.covering(line)]
        family = max((self._family.counts.get(number, 0) for number in numbers), default=0)
        return Seen(family, max((self._fleet.get(number, 0) for number in numbers), default=0))


def _count(counts: dict[int, int], numbers: Iterable[int]) -> None:
    for number in sorted(numbers):
        counts[number] = counts.get(number, 0) + 1
