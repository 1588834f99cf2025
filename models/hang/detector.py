"""The hang detector: a job hangs when it is silent for much longer than such a job ever is.

Two levels (DESIGN 4.3). *Suspicion* only asks for evidence. *Actionable* may lead to Advice: a
second, independent signal agrees, or the silence exceeds one and a half times the longest gap that
the attempt or its family ever had in the phase, and 90 s. Those 90 s count only where the pauses of
the job are known: from attempts of the same job, framework and size that trained for as long, or
from a day of its own. Where they are not, the first save that says nothing of itself would look
like a hang, and the wait is longer (`HangSettings.unknown_seconds`).

Time is that of the events and ticks; a broken log pipe (a source that is not healthy) is never a
hang.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

import msgspec

from relume.errors import InputError
from relume.models.family.attempt import AttemptGaps
from relume.models.family.gaps import PhaseGaps
from relume.models.family.prior import Family
from relume.models.hang.known import LAUNCH, MICROSECONDS, STARTING, TRAIN, Known
from relume.models.hang.patience import (
    PAUSES_KNOWN,
    Thresholds,
    governing,
    thresholds,
    usual_gaps,
)
from relume.models.hang.settings import HangSettings
from relume.models.hang.signs import Sign, Signs


class Level(StrEnum):
    """How sure the detector is."""

    SUSPICION = "suspicion"
    ACTIONABLE = "actionable"


@dataclass(frozen=True, slots=True)
class HangDetection:
    """A silence that is too long. Times are UTC microseconds.

    `agreed` is the source that agrees where that made it actionable, null where time alone did;
    `is_startup` says that no step ever came. `setting` is the one by which it would have been
    allowed to last longer, null for none.
    """

    level: Level
    phase: str
    since: int
    gap_seconds: float
    threshold_seconds: float
    reason: str
    agreed: str | None = None
    is_startup: bool = False
    setting: str | None = None


@dataclass(slots=True)
class HangDetector:
    """The detector over one attempt. Bounded state.

    Attributes
    ----------
    settings, family
        Thresholds, and what earlier attempts of the job teach.
    known
        What the attempt has shown of itself.
    signs
        What other sources say.
    last_line
        When the log went on last without a step, UTC microseconds; null for never.
    refuted
        How often a silence that was suspected ended by itself.
    reported
        The level that was told of the present silence.

    Examples
    --------
    >>> detector = HangDetector()
    >>> for second in range(10):
    ...     detector.progress(second * MICROSECONDS)
    >>> detector.advance(60 * MICROSECONDS)[0].level.value
    'suspicion'
    >>> detector.advance(320 * MICROSECONDS)[0].level.value
    'actionable'
    """

    settings: HangSettings = field(default_factory=HangSettings)
    family: Family = field(default_factory=Family)
    known: Known = field(default_factory=Known)
    signs: Signs = field(default_factory=Signs)
    last_line: int | None = None
    refuted: int = 0
    reported: Level | None = None

    def __post_init__(self) -> None:
        self.signs.distrust(self.family.wrong_signs())

    def start(self, event_time: int) -> None:
        """Take the start of the attempt."""
        self.known.started_at = event_time

    def progress(self, event_time: int, lines: int = 1, step: int | None = None) -> None:
        """Take new steps, in so many lines; they end every silence.

        Late ones (before the last) are ignored.
        """
        last = self.known.last_progress
        if last is not None and event_time < last:
            return
        if self.reported is not None and last is not None:
            self.refuted += 1
            self.signs.note_wrong(last, event_time)
        self.reported = None
        self.known.progress(event_time, lines, step)

    def talk(self, event_time: int) -> None:
        """Take that the log went on, without a step."""
        self.last_line = event_time

    def enter(self, phase: str) -> None:
        """Take the begin of a phase with legal pauses, such as a checkpoint."""
        self.known.phase = phase

    def excuse(self, event_time: int) -> None:
        """Take that nobody looked until now: the silence before it says nothing, and is no gap."""
        self.known.excuse(event_time)
        self.reported = None

    def sign(self, sign: Sign) -> None:
        """Take what another source says."""
        self.signs.take(sign)

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
        since = self.known.silent_since
        if self.reported is Level.ACTIONABLE or since is None:
            return None
        limits = self.thresholds()
        agreement = self.signs.first_agreement(since)
        seconds = limits.suspicion_seconds
        if self.reported is not None and agreement is None:
            seconds = limits.actionable_seconds
        if seconds == float("inf"):
            return None
        due = since + int(seconds * MICROSECONDS)
        return due if agreement is None or self.reported is None else max(due, agreement)

    def thresholds(self) -> Thresholds:
        """Return how long the present silence may last."""
        return thresholds(self.known, self.family, self.settings, self.refuted)

    def is_suspect(self, event_time: int) -> bool:
        """Whether the present silence is long enough for what other sources say to count."""
        since, s = self.known.silent_since, self.settings
        if since is None:
            return False
        gap = (event_time - since) / MICROSECONDS
        if gap <= min(s.suspicion_seconds, s.actionable_seconds):
            return False
        limits = self.thresholds()
        return gap > min(limits.suspicion_seconds, limits.actionable_seconds)

    def is_quiet(self, event_time: int) -> bool:
        """Whether neither a step nor any other line came for suspiciously long.

        It is the second signal that a failure line of a running job needs. In a phase with legal
        pauses it takes as long as for a hang.
        """
        s, known = self.settings, self.known
        gaps = known.gaps.get(TRAIN, PhaseGaps())
        spoke = max(known.silent_since or 0, self.last_line or 0)
        is_paced = known.last_progress is not None and gaps.count >= s.few_gaps
        seconds = s.suspicion_seconds if is_paced else s.unsure_seconds
        seconds = max(seconds, s.suspicion_gaps * gaps.usual_seconds)
        if known.last_progress is not None and known.phase != TRAIN:
            seconds = max(seconds, self.thresholds().actionable_seconds)
        return event_time - spoke > seconds * MICROSECONDS

    def left(self, attempt: str, known_at: int) -> AttemptGaps:
        """Return what the attempt leaves to its family, now that it is over (`known_at`)."""
        return self.known.left(attempt, known_at, self.signs.wrong_seconds)

    def save(self) -> bytes:
        """Return the state, settings and family included."""
        return msgspec.json.encode(self)

    @classmethod
    def restore(cls, saved: bytes) -> Self:
        """Return a detector that goes on like the one that was saved.

        Raises
        ------
        InputError
            For anything else than `save` gives.
        """
        try:
            return msgspec.json.decode(saved, type=cls)
        except msgspec.DecodeError as error:
            raise InputError(
                "state of a hang detector", found=str(error), expected="what save() gives"
            ) from error

    def _judge(self, now: int) -> HangDetection | None:
        since = self.known.silent_since
        if since is None:
            return None
        gap, s = (now - since) / MICROSECONDS, self.settings
        if gap <= min(s.suspicion_seconds, s.actionable_seconds):
            return None  # it costs next to nothing while all is well
        limits = self.thresholds()
        if gap > limits.actionable_seconds and not self._is_busy(now, since, limits):
            return self._found(Level.ACTIONABLE, since, gap, limits.actionable_seconds)
        if gap <= limits.suspicion_seconds:
            return None
        agreed = self.signs.agreeing(since, now)
        if agreed is not None:
            seconds = limits.suspicion_seconds
            if limits.basis not in PAUSES_KNOWN:  # nothing moves while a first save is written, too
                seconds = max(seconds, s.actionable_seconds - s.agreed_seconds)
            begun = max(agreed.since, since + int(seconds * MICROSECONDS))
            if now - begun >= s.agreed_seconds * MICROSECONDS:
                return self._found(Level.ACTIONABLE, since, gap, limits.suspicion_seconds, agreed)
        return self._found(Level.SUSPICION, since, gap, limits.suspicion_seconds)

    def _is_busy(self, now: int, since: int, limits: Thresholds) -> bool:
        """Whether the log went on, or another source saw the job work: then it takes longer."""
        s = self.settings
        if now - since > s.talking_seconds * MICROSECONDS:
            return False
        recent = min(limits.actionable_seconds, s.unknown_seconds) * MICROSECONDS
        spoke = self.last_line
        talks = spoke is not None and spoke > since and now - spoke <= recent
        return talks or self.signs.works(since, now)

    def _found(
        self, level: Level, since: int, gap: float, threshold: float, agreed: Sign | None = None
    ) -> HangDetection:
        known, phase = self.known, self.known.phase
        is_startup = known.last_progress is None
        if is_startup:
            phase = phase if phase in STARTING else LAUNCH
            reason = f"no first step for {gap:.0f} s after the start"
        else:
            gaps = usual_gaps(known, self.family, self.settings)
            reason = (
                f"no new step for {gap:.0f} s in phase {phase}; usual gap "
                f"{gaps.usual_seconds:.1f} s, longest {gaps.longest_seconds:.1f} s"
            )
        if agreed is not None:
            reason = f"{reason}; {agreed.source} agrees: {agreed.reason}"
        name, setting = None if agreed is None else agreed.source, None
        if level is Level.ACTIONABLE:
            setting = governing(known, self.family, self.settings, is_agreed=agreed is not None)
        return HangDetection(level, phase, since, gap, threshold, reason, name, is_startup, setting)
