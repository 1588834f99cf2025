"""One scan for everything: which pattern of the combined database belongs to whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from relume.features.progress.formats import ProgressFormat
from relume.features.progress.markers import MARKER_LOCATE
from relume.features.progress.parse import LOCATE
from relume.models.ranks.reading import RANK_PATTERNS
from relume.models.signatures.engine import Engine
from relume.models.signatures.matcher import Matcher
from relume.models.signatures.ruleset import Catalogue


class Scanner(NamedTuple):
    """What reads the lines of an attempt, made once a process."""

    engine: Engine
    plan: ScanPlan
    matcher: Matcher
    catalogue: Catalogue


class Located(NamedTuple):
    """The patterns found in one line, by owner; positions count within each owner's own list."""

    signatures: list[int]
    user_progress: list[int]
    progress: list[int]
    markers: list[int]
    places: list[int]


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """All patterns in one list, section after section in the order of `Located`."""

    patterns: tuple[str, ...]
    sections: tuple[tuple[int, int], ...]
    """For each pattern, its section and its position there."""
    user_formats: tuple[ProgressFormat, ...]
    """The format of each pattern in the section of user patterns."""

    def split(self, patterns: Sequence[int]) -> Located:
        """Sort the patterns that an engine found in one line by who reads them."""
        located = Located([], [], [], [], [])
        for pattern in patterns:
            section, position = self.sections[pattern]
            located[section].append(position)
        return located


def make_plan(catalogue: Catalogue, user_formats: Sequence[ProgressFormat] = ()) -> ScanPlan:
    """Lay out the combined pattern list of a catalogue and the site's own progress formats."""
    user = [(pattern, form) for form in user_formats for pattern in form.locate]
    lists = (catalogue.patterns, tuple(p for p, _ in user), LOCATE, MARKER_LOCATE, RANK_PATTERNS)
    return ScanPlan(
        patterns=tuple(pattern for patterns in lists for pattern in patterns),
        sections=tuple((section, i) for section, ps in enumerate(lists) for i in range(len(ps))),
        user_formats=tuple(form for _, form in user),
    )
