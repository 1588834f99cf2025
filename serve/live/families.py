"""What the attempts of each job taught: a new one starts from those that were over before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from relume.models.family.attempt import AttemptGaps, FamilyKey
from relume.models.family.prior import Family, newest

MAX_FAMILIES = 10_000
"""Families remembered; the one that learned first goes first."""
RecallGaps = Callable[[FamilyKey, int], Iterable[AttemptGaps]]


@dataclass(slots=True)
class Families:
    """The silences of attempts that are over, by family. Bounded.

    An attempt knows only those of which it was known that they are over before it began, by the
    clock of the ticks: a live run, one that goes on after a kill, and a replay know the same.

    Parameters
    ----------
    recall
        Asked for attempts of a family that were over before a time (UTC microseconds), by whatever
        was judged before the first landing that is taken here.
    left
        What is known by now.
    """

    recall: RecallGaps
    left: dict[FamilyKey, dict[str, AttemptGaps]] = field(default_factory=dict)

    def put(self, key: FamilyKey, left: AttemptGaps) -> None:
        """Take what an attempt leaves, once it is known to be over."""
        members = self.left.pop(key, {})
        while len(self.left) >= MAX_FAMILIES:
            del self.left[next(iter(self.left))]
        members[left.attempt] = left
        self.left[key] = {one.attempt: one for one in newest(members.values())}

    def before(self, key: FamilyKey, began: int, job: str) -> Family:
        """Return what an attempt of `job` (text form) knows that began at `began`."""
        known = {one.attempt: one for one in self.recall(key, began)}
        known |= self.left.get(key, {})
        return Family([one for one in known.values() if one.known_at < began], job)
