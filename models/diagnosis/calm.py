"""Verdicts of episodes without a failure line: slow, stopped, numerically sick, healthy."""

from __future__ import annotations

from relume.features.progress.assess import ProgressAssessment, ProgressState
from relume.models.diagnosis.episode import Episode
from relume.models.diagnosis.finding import Finding
from relume.models.diagnosis.numeric import numeric_finding
from relume.reasons import Reason, ReasonCode
from relume.verdict import Domain, Kind, Retry

_STRAGGLERS = {
    ProgressState.SLOWING: ("sustained_slowdown", Domain.UNKNOWN, Retry.UNCLEAR, 0.9),
    ProgressState.IRREGULAR: ("irregular_steps", Domain.WORKLOAD, Retry.NO, 0.9),
    ProgressState.DATA_BOUND: ("waiting_for_data", Domain.WORKLOAD, Retry.NO, 0.9),
}
_MOVING = frozenset({ProgressState.ADVANCING, ProgressState.FINISHED})
CLEAN_END_CONFIDENCE = 0.97
LOST_END_CONFIDENCE = 0.7
ADVANCING_CONFIDENCE = 0.95
HANG_CONFIDENCE = 0.9
HANG_IN_PHASE_CONFIDENCE = 0.6
"""Long silences of an evaluation or a checkpoint are legal (DESIGN 4.3)."""
SILENT_CONFIDENCE = 0.85
"""Where nothing was seen, that nothing can be said is itself right most of the time."""


def calm_finding(episode: Episode) -> Finding:
    """Judge an episode by its progress alone.

    *Benign* needs positive proof: progress, or a clean end. Nothing seen is *unknown*.
    """
    progress = episode.progress
    if progress.state is ProgressState.STOPPED:
        return _hang(progress)
    numeric = numeric_finding(progress)
    if numeric is not None:
        return numeric
    if progress.state in _STRAGGLERS:
        return _straggler(progress)
    if progress.state is ProgressState.BUSY:
        return _unknown(progress.reason)
    return _healthy(episode)


def _healthy(episode: Episode) -> Finding:
    """Judge an episode that shows nothing wrong; what the lost end of a log held, nobody knows."""
    progress, lost = episode.progress, ""
    if episode.lost_ends:
        lost = "; what came after is lost with the end of the log"
    if episode.clean_end is not None or progress.state is ProgressState.FINISHED:
        confidence = LOST_END_CONFIDENCE if lost else CLEAN_END_CONFIDENCE
        return _benign(confidence, f"the log shows a clean end{lost}")
    if progress.state in _MOVING:
        reason = f"steps advance: {progress.reason}{lost}"
        return _unknown(reason) if lost else _benign(ADVANCING_CONFIDENCE, reason)
    return _unknown("no failure line, no progress and no clean end were seen")


def _unknown(reason: str) -> Finding:
    return Finding(
        Kind.UNKNOWN,
        None,
        Domain.UNKNOWN,
        Retry.UNCLEAR,
        SILENT_CONFIDENCE,
        reasons=_said(reason),
    )


def _straggler(progress: ProgressAssessment) -> Finding:
    cause, domain, retry, confidence = _STRAGGLERS[progress.state]
    return Finding(
        Kind.STRAGGLER,
        cause,
        domain,
        retry,
        confidence,
        file=progress.slow_file,
        line=progress.slow_line,
        reasons=_said(progress.reason),
    )


def _hang(progress: ProgressAssessment) -> Finding:
    return Finding(
        Kind.HANG,
        "no_progress",
        Domain.UNKNOWN,
        Retry.UNCLEAR,
        HANG_CONFIDENCE if progress.open_phase is None else HANG_IN_PHASE_CONFIDENCE,
        file=progress.last_file,
        line=progress.last_line,
        reasons=_said(progress.reason),
    )


def _benign(confidence: float, reason: str) -> Finding:
    return Finding(
        Kind.BENIGN,
        None,
        Domain.UNKNOWN,
        Retry.UNCLEAR,
        confidence,
        reasons=_said(reason),
    )


def _said(words: str) -> tuple[Reason, ...]:
    return (Reason(ReasonCode.PROGRESS, detail=words),)
