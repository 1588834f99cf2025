"""The silences of one attempt being watched: what the hang detector is told, and what it finds."""

from __future__ import annotations

from dataclasses import replace

from relume.features.progress.regular import is_waiting
from relume.ingest.blocks import Block
from relume.models.family.attempt import AttemptGaps
from relume.models.family.prior import Family
from relume.models.hang.detector import HangDetection, HangDetector, Level
from relume.models.hang.settings import HangSettings
from relume.models.hang.signs import Sign
from relume.models.policy.rules import CONFIRMED_HANG_RULE, SUSPECTED_HANG_RULE
from relume.reasons import Reason, ReasonCode
from relume.serve.live.measured import Measured
from relume.serve.progress import Progress
from relume.verdict import Domain, Kind, Measurement, Retry, Verdict

NO_PROGRESS, NO_FIRST_STEP = "no_progress", "no_first_step"
"""Causes: a job that stands still, and one that never got going."""
NO_CAPTURE = "stacks of the silent ranks: the job's comment names no capture"
SILENCE_SECONDS = "silence_seconds"
_HANG_CONFIDENCE, _SUSPICION_CONFIDENCE = 0.9, 0.3
_LOOKED_AT = 4096
"""Bytes at the end of a block in which a line is looked for that shows life."""


class Silence:
    """Feeds the hang detector of one attempt and words what it finds. Bounded state.

    Parameters
    ----------
    settings
        Thresholds.
    family
        What is known from attempts that ended before this one began.
    """

    def __init__(self, settings: HangSettings, family: Family | None = None) -> None:
        self._detector = HangDetector(settings, family or Family())
        self._found: HangDetection | None = None
        self._told_since: int | None = None
        self._left: AttemptGaps | None = None

    @property
    def left(self) -> AttemptGaps | None:
        """What the attempt leaves to its family; null until it is known to be over."""
        return self._left

    @property
    def detector(self) -> HangDetector:
        """Who judges the silences: for explanations, which only look."""
        return self._detector

    @property
    def is_hang(self) -> bool:
        """Whether the present silence is long enough to do something about it."""
        return self._found is not None and self._found.level is Level.ACTIONABLE

    @property
    def is_suspected(self) -> bool:
        """Whether the present silence is suspicious, or more."""
        return self._found is not None

    def start(self, event_time: int) -> None:
        """Take the start of the attempt (UTC microseconds)."""
        self._detector.start(event_time)

    def note_nodes(self, count: int | None) -> None:
        """Take on how many nodes it runs; what was told first counts."""
        known = self._detector.known
        known.nodes = known.nodes or count or None

    def note_lines(self, progress: Progress, steps: int, event_time: int) -> None:
        """Take that lines came which showed so many new steps."""
        if steps:
            known = self._detector.known
            known.framework = known.framework or progress.framework
            self._detector.progress(event_time, steps, progress.shown_step)
            self._found = None
        phase = progress.entered_phase
        if phase is not None:
            self._detector.enter(phase.value)

    def note_other_lines(self, block: Block, event_time: int) -> None:
        """Take lines of the job's own output that showed no step."""
        if _shows_life(block):
            self._detector.talk(event_time)

    def note_sign(self, sign: Sign) -> None:
        """Take what another source says about whether the job works."""
        self._detector.sign(sign)

    def hear(self, measured: Measured, nodes: int, event_time: int) -> None:
        """Ask the metrics of so many nodes, where the silence is long enough to be suspected.

        So they make nothing of a silence that nobody would look at.
        """
        since = self._detector.known.silent_since
        if since is None or not self._detector.is_suspect(event_time):
            return
        sign = measured.sign(since, nodes)
        if sign is not None:
            self._detector.sign(sign)

    def note_end(self, attempt: str, now: int) -> None:
        """Take that it is known at `now` (by the clock of the ticks) that the attempt is over."""
        if self._left is None:
            self._left = self._detector.left(attempt, now)

    def excuse(self, event_time: int) -> None:
        """Take that nobody looked until now."""
        self._detector.excuse(event_time)
        self._found = None

    def advance(self, event_time: int) -> None:
        """Take the clock."""
        for found in self._detector.advance(event_time):
            self._found = found

    def is_quiet(self, event_time: int) -> bool:
        """Whether neither a step nor any other line came for suspiciously long."""
        return self._detector.is_quiet(event_time)

    def next_change(self) -> int | None:
        """Return a time before which nothing is found, if nothing comes till then."""
        return self._detector.next_change()

    def hang(self, verdict: Verdict) -> Verdict:
        """Return the verdict on an attempt that hangs; `verdict` is what its lines say."""
        found = self._found
        if found is None or not self.is_hang:
            return verdict
        return replace(
            verdict,
            kind=Kind.HANG,
            cause=NO_FIRST_STEP if found.is_startup else NO_PROGRESS,
            domain=Domain.UNKNOWN,
            retry=Retry.YES,
            rule=CONFIRMED_HANG_RULE,
            confidence=_HANG_CONFIDENCE,
            reasons=(*verdict.reasons, Reason(ReasonCode.SILENCE, detail=found.reason)),
            measured=_measured(found),
        )

    def suspicion(self, verdict: Verdict) -> Verdict | None:
        """Return the verdict on a silence that is suspected, once; null while there is none."""
        found = self._found
        if found is None or self.is_hang or found.since == self._told_since:
            return None
        self._told_since = found.since
        return replace(
            verdict,
            rule=SUSPECTED_HANG_RULE,
            confidence=_SUSPICION_CONFIDENCE,
            reasons=(*verdict.reasons, Reason(ReasonCode.SILENCE, detail=found.reason)),
            measured=_measured(found),
        )


def _measured(found: HangDetection) -> Measurement:
    return Measurement(
        SILENCE_SECONDS, found.gap_seconds, found.threshold_seconds, found.since, found.setting
    )


def _shows_life(block: Block) -> bool:
    """Whether a line at the end of a block is more than a word of somebody who waits."""
    lines = block.data[-_LOOKED_AT:].decode("utf-8", "replace").split("\n")
    return any(line.strip() and not is_waiting(line) for line in reversed(lines))
