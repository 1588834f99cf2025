"""How jobs show progress: points read from lines, markers of phases, pace over time."""

from __future__ import annotations

from relume.features.progress.assess import ProgressAssessment, ProgressState, assess
from relume.features.progress.parse import parse_progress
from relume.features.progress.point import ProgressPoint
from relume.features.progress.tracker import ProgressTracker
from relume.features.progress.user import user_format

__all__ = [
    "ProgressAssessment",
    "ProgressPoint",
    "ProgressState",
    "ProgressTracker",
    "assess",
    "parse_progress",
    "user_format",
]
