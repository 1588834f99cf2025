"""The truth of one episode, as far as its lines can tell it to a careful reader."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

Place = tuple[str, int]
"""A file of the episode and the 0-based line in it."""


class Forms(StrEnum):
    """Who has seen the forms of an episode: its wordings, prefixes, launchers and layout.

    Rules and readers were written for `KNOWN`; for `OTHER` they were not, but they were looked at
    since. `UNSEEN` are those that nobody who writes rules may read (`unseen`).
    """

    KNOWN = "known"
    OTHER = "other"
    UNSEEN = "unseen"


@dataclass(frozen=True, slots=True)
class Label:
    """What the lines say happened.

    Attributes
    ----------
    episode, story
        Its name, and the kind of accident.
    forms
        Which of the three groups it belongs to.
    kinds, domains
        Words that a right verdict may use; the first is the best.
    node, rank
        The culprit: null where the lines don't tell, or nobody is to blame.
    roots
        Lines that name the cause; one of them is right. Empty where none is left.
    harmless
        Names that are no mistake: of the place where the cause was printed, and the true culprit
        where the lines hardly tell it.
    excludable
        Nodes that it is right to leave out. Any other never is.
    nodes, ranks
        How large it was.
    variations
        What was done to its logs, for tables.
    """

    episode: str
    story: str
    forms: Forms
    kinds: tuple[str, ...]
    domains: tuple[str, ...]
    node: str | None
    rank: int | None
    roots: tuple[Place, ...]
    harmless: frozenset[str]
    excludable: frozenset[str]
    nodes: int
    ranks: int
    variations: tuple[str, ...] = ()

    @property
    def is_workload(self) -> bool:
        """Whether the job itself has to change: no node may be left out for it."""
        return self.domains[0] == "workload"
