"""What speaks against a failure that the lines show: each doubt makes the verdict less sure.

A doubt that a running or a finished job may be healthy halves the confidence, and so the verdict
abstains unless somebody has lowered the threshold. Acting on a healthy job is the worst error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from relume.features.progress.assess import ProgressState
from relume.features.progress.regular import goes_on_after, is_waiting, last_work
from relume.models.diagnosis.consequences import (
    ANCHORS,
    CAUSES,
    SYSTEM_CATEGORIES,
    is_generic,
    is_quoted,
    is_system_log,
    is_undated,
)
from relume.models.diagnosis.episode import Episode, LogEnd
from relume.models.diagnosis.finding import Finding
from relume.models.diagnosis.order import Root
from relume.models.diagnosis.own import MICROSECONDS, failed_itself, failure_shown, said_its_end
from relume.models.diagnosis.scheduler import ALIVE_STATES, COMPLETED, FAILED_STATES
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Tier
from relume.reasons import Reason, ReasonCode
from relume.verdict import JOB_STREAMS, Kind

HALF = 0.5
"""Factor of a doubt that makes the verdict abstain."""
SOME = 0.7
"""Factor of a doubt that the verdict survives."""
OUTLIVED_SECONDS = 120
"""How long a log goes on after the last words of a process that died with it, at most."""
OUTLIVED_LINES = 20
"""Lines of those that work, not of those that wait for somebody."""
CLOSING_LINES = 10
"""Where all the last lines of a log wait, nobody works any more."""
MISSED_STEPS = 3
"""So many usual gaps without a step, and steps have ended."""
_GOING_ON = frozenset({ProgressState.ADVANCING, ProgressState.FINISHED})


@dataclass(frozen=True, slots=True)
class Doubt:
    """One reason against the failure, and what it leaves of the confidence (0-1)."""

    factor: float
    why: str


def doubted(episode: Episode, root: Root | None, finding: Finding) -> Finding:
    """Return `finding` with its doubts: the confidence by the strongest one, the words of all."""
    if finding.kind not in {Kind.CRASH, Kind.HANG}:
        return finding  # a slow run may end well
    doubts = [*_of_record(episode, finding), *_of_end(episode, root)]
    if root is not None:
        doubts += [*_of_line(episode, root.hit), *_of_life(episode, root.hit)]
    if not doubts:
        return finding
    factor = min(doubt.factor for doubt in doubts)
    against = (Reason(ReasonCode.DOUBT, detail=doubt.why) for doubt in doubts)
    reasons = (*finding.reasons, *against)
    return replace(finding, confidence=finding.confidence * factor, reasons=reasons)


def _of_record(episode: Episode, finding: Finding) -> Iterator[Doubt]:
    """What accounting says against it."""
    state = episode.scheduler.state
    if state == COMPLETED:
        yield Doubt(HALF, "accounting says COMPLETED")
    if state in ALIVE_STATES and finding.kind is Kind.CRASH:
        yield Doubt(HALF, f"accounting says {state}: a job that is there did not crash as a whole")


def _of_end(episode: Episode, root: Root | None) -> Iterator[Doubt]:
    """What the end of the log says against it."""
    lost = [file for file in episode.lost_ends if _is_of_job(episode, file)]
    if lost:
        yield Doubt(SOME, f"the end of {lost[0]} is lost, and with it what came after")
    if not said_its_end(episode) or failed_itself(episode):
        return
    if root is None:
        yield Doubt(HALF, "the job had said that it came to its end")
    elif is_system_log(root.hit) or root.hit.signature.category in SYSTEM_CATEGORIES:
        yield Doubt(HALF, "the job had said that it came to its end, and tells of no failure")


def _of_line(episode: Episode, hit: Hit) -> Iterator[Doubt]:
    """What the root line itself leaves open."""
    if is_undated(hit):
        is_healthy = episode.progress.state in _GOING_ON and not failure_shown(episode)
        yield Doubt(HALF if is_healthy else SOME, "its log has no clock: it may be long ago")
    if is_quoted(hit):
        factor = SOME if _others_fail(episode, hit) else HALF
        yield Doubt(factor, "a process of the job quotes it, no kernel's log shows it")


def _of_life(episode: Episode, hit: Hit) -> Iterator[Doubt]:
    """What the job did after the root line."""
    file, line = hit.line.file, hit.line.line
    if hit.line.stream not in JOB_STREAMS:
        return
    advances = episode.advances.get(file)
    steps = advances.steps_after(line) if advances is not None else 0
    if steps and (hit.signature.tier is Tier.HARDWARE or is_quoted(hit)):
        yield Doubt(HALF, f"{steps} new steps came after it, on hardware said to be lost")
    if episode.restarts.get(file, -1) >= line:
        yield Doubt(SOME, "the launcher starts the processes anew after it, how that ends is open")
    end = episode.ends.get(file)
    if end is not None and _is_outlived(episode, hit, end):
        yield Doubt(HALF, "it only calls itself a failure, and its log goes on long after it")
    if end is not None and goes_on_after(end.lines, line):
        yield Doubt(HALF, "lines of the job go on after it as before, and a number in them grows")


def _is_outlived(episode: Episode, hit: Hit, end: LogEnd) -> bool:
    """Whether a line that names no failure is the only one, and its log goes on for minutes.

    What dies prints its last lines within seconds; a service that logs a failed request, or a
    logger's word for another process, goes on. Those that wait for the dead print lines as well.
    """
    time = hit.line.event_time
    if not is_generic(hit) or time is None or end.time is None:
        return False
    later = [(number, text) for number, text in end.lines if number > hit.line.line]
    active = [number for number, text in later if not is_waiting(text)]
    closing = later[-CLOSING_LINES:][0][0] if later else 0
    if len(active) < OUTLIVED_LINES or active[-1] < closing:
        return False
    is_long = (end.time - time) / MICROSECONDS >= OUTLIVED_SECONDS
    if not is_long or episode.scheduler.state in FAILED_STATES or _named(episode):
        return False
    return not _steps_ended(episode, hit) or (last_work(later) or 0) >= closing


def _steps_ended(episode: Episode, hit: Hit) -> bool:
    """Whether the job made steps up to `hit`, and long none since; false where nobody knows."""
    progress = episode.progress
    usual, without = progress.usual_gap_seconds, progress.seconds_without_progress
    if usual is None or without is None or without < MISSED_STEPS * usual:
        return False
    return all(
        not tail.steps_after(hit.line.line)
        if file == hit.line.file
        else bool(tail.times) and tail.times[-1] <= (hit.line.event_time or 0)
        for file, tail in episode.advances.items()
    )


def _named(episode: Episode) -> bool:
    """Whether any line names a failure."""
    return any(
        other.signature.role in ANCHORS and not is_generic(other) for other in episode.all_hits()
    )


def _others_fail(episode: Episode, hit: Hit) -> bool:
    """Whether another line tells of a failure too."""
    return any(
        other.signature.role in CAUSES and other.signature.id != hit.signature.id
        for other in episode.all_hits()
        if not (episode.recovered(other) or is_quoted(other))
    )


def _is_of_job(episode: Episode, file: str) -> bool:
    end = episode.ends.get(file)
    return end is None or end.stream in JOB_STREAMS
