"""What one scenario found, and how its numbers become measures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Found:
    """One scenario.

    Attributes
    ----------
    name
        A noun with underscores: the beginning of its measures.
    measures
        Numbers by name; a yes is 1.
    notes
        What was seen, in words.
    skipped
        Why it could not run here; null where it did.
    """

    name: str
    measures: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    skipped: str | None = None

    def note(self, name: str, value: float) -> None:
        """Keep a number."""
        self.measures[name] = float(value)

    def say(self, words: str) -> None:
        """Keep words."""
        self.notes.append(words[:300])


def joined(scenarios: Iterable[Found]) -> dict[str, float]:
    """Return all measures under the names of their scenarios.

    >>> joined([Found("disk_full", {"lost": 0.0}), Found("idle", {"served": 1.0})])
    {'disk_full_lost': 0.0, 'idle_served': 1.0}
    """
    return {
        f"{one.name}_{name}": value for one in scenarios for name, value in one.measures.items()
    }
