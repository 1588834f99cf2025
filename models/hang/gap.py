"""The plain gap rule: a job hangs when it is silent for much longer than it ever was in its phase.

Two levels (DESIGN 4.3): *suspicion* only asks for evidence, *actionable* may lead to Advice. Time
is that of the events and ticks; a broken log pipe (a source that is not healthy) is never a hang.
The detectors of a later change stand behind the same interface.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

MICROSECONDS = 1_000_000


class Level(StrEnum):
    """How sure the detector is."""

    SUSPICION = "suspicion"
    ACTIONABLE = "actionable"


@dataclass(frozen=True, slots=True)
class GapSettings:
    """Thresholds of the rule.

    Attributes
    ----------
    suspicion_seconds, suspicion_gaps
        Suspicion when the silence exceeds both this and so many times the usual gap.
    actionable_seconds, actionable_ratio
        Actionable when it exceeds both this and this multiple of the longest gap ever seen in the
        phase. More than the 90 s of DESIGN 4.3 as long as nothing is learned from earlier attempts:
        the first checkpoint that says nothing of itself must not be taken for a hang.
    few_gaps, few_steps, few_gaps_seconds
        With fewer gaps and fewer steps than these nothing is known of a job's pace, and the least
        actionable silence is the latter: it may print a step every ten minutes. With as many steps
        but fewer gaps (they were there when it was first looked at, or come in lumps) the time up
        to the first ones counts as a gap.
    startup_seconds
        Silence before the first step that counts as a suspicion; it is never actionable alone,
        since loading and compiling can take arbitrarily long.
    unsure_seconds
        What counts as quiet after a failure line while the pace isn't known, or before the first
        step.
    phase_seconds
        The least silence that is actionable in a phase with legal pauses (evaluation, checkpoint)
        of which no gap was seen yet.
    talking_seconds
        The least time without a step that is actionable while the log goes on with other lines: an
        evaluation, a download, a wrapper's heartbeat.
    """

    suspicion_seconds: float = 30.0
    suspicion_gaps: float = 3.0
    actionable_seconds: float = 300.0
    actionable_ratio: float = 1.5
    few_gaps: int = 3
    few_steps: int = 10
    few_gaps_seconds: float = 1800.0
    startup_seconds: float = 1800.0
    unsure_seconds: float = 300.0
    phase_seconds: float = 3600.0
    talking_seconds: float = 1800.0


@dataclass(frozen=True, slots=True)
class HangDetection:
    """A silence that is too long. Times are UTC microseconds."""

    level: Level
    phase: str
    since: int
    gap_seconds: float
    threshold_seconds: float
    reason: str


@dataclass(slots=True)
class PhaseGaps:
    """What is known of the gaps of one phase: how many, their running median, the longest."""

    count: int = 0
    median_seconds: float = 0.0
    longest_seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """Take one gap; the median moves by a tenth of itself, so no history is kept."""
        self.count += 1
        self.longest_seconds = max(self.longest_seconds, seconds)
        if self.count == 1:
            self.median_seconds = seconds
            return
        # By a tenth of itself, but not past the gap: an even pace is met exactly.
        step = 0.1 * max(self.median_seconds, 1e-3)
        distance = seconds - self.median_seconds
        self.median_seconds += max(-step, min(step, distance))


@dataclass(slots=True)
class GapDetector:
    """The gap rule over one attempt. Bounded: one `PhaseGaps` a phase.

    Examples
    --------
    >>> detector = GapDetector()
    >>> for second in range(10):
    ...     _ = detector.progress(second * MICROSECONDS, "train")
    >>> detector.advance(60 * MICROSECONDS)[0].level.value
    'suspicion'
    >>> detector.advance(320 * MICROSECONDS)[0].level.value
    'actionable'
    """

    settings: GapSettings = field(default_factory=GapSettings)
    started_at: int | None = None
    first_progress: int | None = None
    last_progress: int | None = None
    steps: int = 0
    last_line: int | None = None
    phase: str = "launch"
    gaps: dict[str, PhaseGaps] = field(default_factory=dict)
    reported: Level | None = None

    def start(self, event_time: int) -> list[HangDetection]:
        """Take the start of the attempt."""
        self.started_at = event_time
        return []

    def progress(self, event_time: int, phase: str, steps: int = 1) -> list[HangDetection]:
        """Take new steps; they end every silence. Late ones (before the last) are ignored."""
        if self.last_progress is not None:
            if event_time < self.last_progress:
                return []
            gap = (event_time - self.last_progress) / MICROSECONDS
            self.gaps.setdefault(self.phase, PhaseGaps()).add(gap)
        self.first_progress = event_time if self.first_progress is None else self.first_progress
        self.last_progress, self.phase, self.reported = event_time, phase, None
        self.steps += steps
        return []

    def talk(self, event_time: int) -> None:
        """Take that the log went on, without a step."""
        self.last_line = event_time

    def excuse(self, event_time: int) -> None:
        """Take that nobody looked until now: the silence before it says nothing, and is no gap."""
        if self.last_progress is not None:
            self.last_progress = max(self.last_progress, event_time)
        elif self.started_at is not None:
            self.started_at = max(self.started_at, event_time)
        self.reported = None

    def is_quiet(self, event_time: int) -> bool:
        """Whether neither a step nor any other line came for suspiciously long.

        It is the second signal that a failure line of a running job needs. In a phase with legal
        pauses it takes as long as for a hang.
        """
        s, known = self.settings, self.gaps.get("train", PhaseGaps())
        spoke = max(self.started_at or 0, self.last_progress or 0, self.last_line or 0)
        is_paced = self.last_progress is not None and known.count >= s.few_gaps
        seconds = s.suspicion_seconds if is_paced else s.unsure_seconds
        seconds = max(seconds, s.suspicion_gaps * known.median_seconds)
        if self.last_progress is not None and self.phase != "train":
            seconds = max(seconds, self._patience())
        return event_time - spoke > seconds * MICROSECONDS

    def _known(self) -> PhaseGaps:
        """What is known of the present phase."""
        return self.gaps.get(self.phase, PhaseGaps())

    def _patience(self) -> float:
        """Seconds without a step that are actionable in the present phase."""
        s, known = self.settings, self._known()
        longest = known.longest_seconds
        least = s.actionable_seconds
        if known.count < s.few_gaps and self.phase != "train":
            least = s.phase_seconds
        elif known.count < s.few_gaps and self.steps < s.few_steps:
            least = s.few_gaps_seconds
        elif known.count < s.few_gaps and self.started_at is not None:
            first = (self.first_progress or self.started_at) - self.started_at
            longest = max(longest, first / MICROSECONDS)
        return max(least, s.actionable_ratio * longest)

    def _suspicious(self) -> float:
        """Seconds without a step that are suspicious in the present phase."""
        s = self.settings
        return max(s.suspicion_seconds, s.suspicion_gaps * self._known().median_seconds)

    def enter(self, phase: str) -> list[HangDetection]:
        """Take the begin of a phase with legal pauses, such as a checkpoint."""
        self.phase = phase
        return []

    def advance(self, event_time: int) -> list[HangDetection]:
        """Take the clock; return a detection when a level is reached for the first time."""
        found = self._judge(event_time)
        if found is None or found.level is self.reported:
            return []
        if self.reported is Level.ACTIONABLE:
            return []
        self.reported = found.level
        return [found]

    def next_change(self) -> int | None:
        """Return a time before which `advance` returns nothing, if nothing is taken in till then.

        UTC microseconds; null when it never will.
        """
        s = self.settings
        if self.reported is Level.ACTIONABLE:
            return None
        if self.last_progress is None:
            if self.started_at is None or self.reported is not None:
                return None
            return self.started_at + int(s.startup_seconds * MICROSECONDS)
        seconds = self._patience()
        if self.reported is None:
            seconds = min(seconds, self._suspicious())
        return self.last_progress + int(seconds * MICROSECONDS)

    def _judge(self, event_time: int) -> HangDetection | None:
        if self.last_progress is None:
            return self._judge_start(event_time)
        gap = (event_time - self.last_progress) / MICROSECONDS
        known, s = self._known(), self.settings
        actionable = self._patience()
        if self._talks(event_time, s.actionable_seconds):
            actionable = max(actionable, s.talking_seconds)
        levels = ((Level.ACTIONABLE, actionable), (Level.SUSPICION, self._suspicious()))
        for level, threshold in levels:
            if gap > threshold:
                reason = (
                    f"no new step for {gap:.0f} s in phase {self.phase}; usual gap "
                    f"{known.median_seconds:.1f} s, longest {known.longest_seconds:.1f} s"
                )
                return HangDetection(level, self.phase, self.last_progress, gap, threshold, reason)
        return None

    def _talks(self, event_time: int, seconds: float) -> bool:
        """Whether the log had other lines within the last `seconds`."""
        spoke = self.last_line
        is_news = spoke is not None and spoke > (self.last_progress or 0)
        return is_news and event_time - (spoke or 0) <= seconds * MICROSECONDS

    def _judge_start(self, event_time: int) -> HangDetection | None:
        if self.started_at is None:
            return None
        gap = (event_time - self.started_at) / MICROSECONDS
        if gap <= self.settings.startup_seconds:
            return None
        reason = f"no first step for {gap:.0f} s after the start"
        return HangDetection(
            Level.SUSPICION,
            "launch",
            self.started_at,
            gap,
            self.settings.startup_seconds,
            reason,
        )
