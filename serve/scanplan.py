"""Two scans for everything: which pattern belongs to whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from relume.features.progress.formats import ProgressFormat
from relume.features.progress.markers import MARKER_LOCATE
from relume.features.progress.parse import LOCATE
from relume.models.ranks.reading import RANK_PATTERNS
from relume.models.signatures.engine import Candidate, DatabaseStore, Engine, build_engine
from relume.models.signatures.matcher import Matcher
from relume.models.signatures.ruleset import Catalogue


class Scanner(NamedTuple):
    """What reads the lines of an attempt, made once a process.

    All rules are in one database, and what shows progress is in another. Progress is looked for by
    short words that stand on every other line: in one database with the rules they would make
    Hyperscan slower than both scans together.
    """

    rules: Engine
    steps: Engine
    plan: ScanPlan
    matcher: Matcher
    catalogue: Catalogue

    def scan(self, data: bytes) -> list[Candidate]:
        """Return what both scans find, in order; a line that both of them find comes twice."""
        return sorted(self.rules.scan(data) + self.steps.scan(data))


class Located(NamedTuple):
    """The patterns found in one line, by owner; positions count within each owner's own list."""

    signatures: list[int]
    places: list[int]
    user_progress: list[int]
    progress: list[int]
    markers: list[int]


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """All patterns in one list, section after section in the order of `Located`."""

    patterns: tuple[str, ...]
    steps_from: int
    """The first pattern that the scan for progress looks for; those before are of the rules."""
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


def make_scanner(
    catalogue: Catalogue,
    user_formats: Sequence[ProgressFormat] = (),
    *,
    engine: str = "hyperscan",
    store: DatabaseStore | None = None,
) -> Scanner:
    """Compile what `AttemptAnalysis` needs; see `build_engine` for the parameters.

    Raises
    ------
    RuleError
        If an engine refuses a pattern.
    """
    plan = make_plan(catalogue, user_formats)
    rules, steps = plan.patterns[: plan.steps_from], plan.patterns[plan.steps_from :]
    return Scanner(
        build_engine(rules, prefer=engine, store=store),
        build_engine(steps, prefer=engine, store=store, first=plan.steps_from),
        plan,
        Matcher(catalogue),
        catalogue,
    )


def make_plan(catalogue: Catalogue, user_formats: Sequence[ProgressFormat] = ()) -> ScanPlan:
    """Lay out the combined pattern list of a catalogue and the site's own progress formats."""
    user = [(pattern, form) for form in user_formats for pattern in form.locate]
    lists = (catalogue.patterns, RANK_PATTERNS, tuple(p for p, _ in user), LOCATE, MARKER_LOCATE)
    return ScanPlan(
        patterns=tuple(pattern for patterns in lists for pattern in patterns),
        steps_from=len(catalogue.patterns) + len(RANK_PATTERNS),
        sections=tuple((section, i) for section, ps in enumerate(lists) for i in range(len(ps))),
        user_formats=tuple(form for _, form in user),
    )
