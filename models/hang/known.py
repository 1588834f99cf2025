"""What an attempt has shown of itself so far: its steps, its phases and the gaps in each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from relume.models.family.attempt import AttemptGaps
from relume.models.family.gaps import PhaseGaps
from relume.models.family.prior import Kin

MICROSECONDS: Final = 1_000_000
TRAIN: Final = "train"
LAUNCH: Final = "launch"
FIRST_STEP: Final = "first_step"
STARTING: Final = frozenset({LAUNCH, FIRST_STEP})
"""Phases before the first step."""


@dataclass(slots=True)
class Known:
    """The silences of one attempt. Bounded: one `PhaseGaps` a phase. Times are UTC microseconds.

    Attributes
    ----------
    nodes, framework
        How many it runs on, and the format of its progress lines; null while not known.
    first_progress, last_progress, last_step
        When steps came, and the number of the last one; null before, and for none.
    lines
        How many progress lines came.
    phase
        The present one.
    gaps
        By the phase in which each began.
    """

    nodes: int | None = None
    framework: str | None = None
    started_at: int | None = None
    first_progress: int | None = None
    last_progress: int | None = None
    last_step: int | None = None
    lines: int = 0
    phase: str = LAUNCH
    gaps: dict[str, PhaseGaps] = field(default_factory=dict)

    @property
    def silent_since(self) -> int | None:
        """When the present silence began: at the last step, or at the start; null before that."""
        return self.started_at if self.last_progress is None else self.last_progress

    @property
    def trained_seconds(self) -> float:
        """From the first step to the last; 0 without two."""
        if self.first_progress is None or self.last_progress is None:
            return 0.0
        return (self.last_progress - self.first_progress) / MICROSECONDS

    @property
    def launch_seconds(self) -> float | None:
        """From the start to the first step; null before that."""
        if self.first_progress is None or self.started_at is None:
            return None
        return max(0, self.first_progress - self.started_at) / MICROSECONDS

    def kin(self, few_gaps: int) -> Kin:
        """Return what it is like; its pace is known from so many gaps on."""
        gaps = self.gaps.get(TRAIN)
        is_paced = gaps is not None and gaps.count >= few_gaps
        return Kin(self.framework, self.nodes, gaps.usual_seconds if gaps and is_paced else None)

    def progress(self, event_time: int, lines: int, step: int | None) -> None:
        """Take new steps, in so many lines; they end the phase that they come in."""
        if self.last_progress is not None:
            gap = (event_time - self.last_progress) / MICROSECONDS
            self.gaps.setdefault(self.phase, PhaseGaps()).add(gap)
        if self.first_progress is None:
            self.first_progress = event_time
        self.last_progress, self.last_step, self.phase = event_time, step, TRAIN
        self.lines += lines

    def excuse(self, event_time: int) -> None:
        """Take that nobody looked until now: the silence before it says nothing, and is no gap."""
        if self.last_progress is not None:
            self.last_progress = max(self.last_progress, event_time)
        elif self.started_at is not None:
            self.started_at = max(self.started_at, event_time)

    def left(self, attempt: str, known_at: int, wrong_signs: dict[str, float]) -> AttemptGaps:
        """Return what the attempt leaves to its family, now that it is over (`known_at`)."""
        silent = 0 if self.last_progress is None else known_at - self.last_progress
        return AttemptGaps(
            attempt=attempt,
            known_at=known_at,
            framework=self.framework,
            nodes=self.nodes,
            launch_seconds=self.launch_seconds,
            trained_seconds=self.trained_seconds,
            lines=self.lines,
            stalled_step=self.last_step,
            stalled_seconds=silent / MICROSECONDS,
            phases={name: gaps.copy() for name, gaps in self.gaps.items()},
            wrong_signs=dict(wrong_signs),
        )
