"""The settings of a diagnosis; the configuration file's `[diagnose]` section fills them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DiagnosisSettings:
    """How sure a verdict must be, and how much it shows.

    `confidence_threshold` (0-1): below it the kind is *unknown*; raising it abstains more often.
    `max_evidence` and `max_mentions` bound the lines shown; counting is not affected.
    """

    confidence_threshold: float = 0.5
    max_evidence: int = 12
    max_mentions: int = 200
