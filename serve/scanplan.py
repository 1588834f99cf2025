"""One scan for everything: which pattern of the combined database belongs to whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relume.features.progress import LOCATE as PROGRESS_PATTERNS
from relume.features.progress import MARKER_PATTERNS, ProgressFormat
from relume.models.diagnosis.places import PLACE_PATTERNS
from relume.models.signatures.loader import Catalogue


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """Patterns in one list, ordered: signatures, progress, user progress, markers, places."""

    patterns: tuple[str, ...]
    signatures_end: int
    progress_end: int
    markers_end: int

    def is_progress(self, pattern: int) -> bool:
        """Whether this pattern locates progress lines."""
        return self.signatures_end <= pattern < self.progress_end

    def is_marker(self, pattern: int) -> bool:
        """Whether this pattern locates phase markers."""
        return self.progress_end <= pattern < self.markers_end

    def is_place(self, pattern: int) -> bool:
        """Whether this pattern locates lines that tell where ranks run."""
        return pattern >= self.markers_end


def make_plan(catalogue: Catalogue, user_formats: Sequence[ProgressFormat] = ()) -> ScanPlan:
    """Lay out the combined pattern list of a catalogue and the site's own progress formats."""
    signatures = tuple(catalogue.patterns)
    user = tuple(pattern for form in user_formats for pattern in form.locate)
    progress = (*PROGRESS_PATTERNS, *user)
    signatures_end = len(signatures)
    progress_end = signatures_end + len(progress)
    markers_end = progress_end + len(MARKER_PATTERNS)
    return ScanPlan(
        (*signatures, *progress, *MARKER_PATTERNS, *PLACE_PATTERNS),
        signatures_end,
        progress_end,
        markers_end,
    )
