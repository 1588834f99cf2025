"""Which lines are about this attempt: kernels and controllers also log other jobs, and other days.

What such a log says counts only if it happened on a node of the attempt and while it ran. The
job's own lines always count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from relume.features.progress.assess import ProgressState
from relume.models.diagnosis.citing import cited
from relume.models.diagnosis.consequences import (
    ANCHORS,
    CAUSES,
    SYSTEM_CATEGORIES,
    is_generic,
    is_system_log,
)
from relume.models.diagnosis.episode import Episode, LogEnd, SignatureHits
from relume.models.diagnosis.locating import named_nodes
from relume.models.diagnosis.retrying import is_retried
from relume.models.diagnosis.scheduler import COMPLETED, FAILED_STATES
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Implicates
from relume.reasons import Reason, ReasonCode
from relume.slurm.nodes import END_SLACK_SECONDS, START_SLACK_SECONDS, short_name
from relume.verdict import JOB_STREAMS

MICROSECONDS = 1_000_000
SILENT_SECONDS = 600
"""How long after its last line a job that says nothing of an end is taken to be there still: a
peer that was lost shows when a collective times out, by default after 10 minutes."""
SILENT_GAPS = 20
"""The same in usual gaps between its steps, for jobs that print rarely."""
FIRST_LINE_SECONDS = 900
"""How long before its first line with a clock an attempt may have begun, where nobody says."""
JOB_SLACK_SECONDS = 300
"""By how much clocks of the job's own lines may be behind the scheduler's."""
MIN_LINES_AFTER = 20
"""Lines that a file must have after a requeue before what fails there is another attempt."""
REQUEUE_RULE = "stepd_requeue"
"""Rule of Slurm's word that the job begins again: with `--open-mode=append` in the same file."""
LATE_SECONDS = 300
"""How long after the end a system's line may still tell why an attempt failed, where nothing of its
own does (metrics section 6): clocks differ, and a node may log late what it died of."""

_Test = Callable[[Hit], bool]


def own_evidence(episode: Episode) -> tuple[Episode, tuple[Reason, ...]]:
    """Return the episode without the lines that are not about it, and why those were set aside.

    Examples of what goes: an Xid after the job had ended well, one on a node that the job didn't
    run on, one from before it started.
    """
    hits, reasons = dict(episode.hits), list[Reason]()
    for reason, is_foreign in _tests(episode):
        gone: list[Hit] = []
        for name, group in list(hits.items()):
            lost = [hit for hit in group.kept() if is_foreign(hit)]
            if lost:
                kept = [hit for hit in group.kept() if not is_foreign(hit)]
                hits[name] = SignatureHits.of(kept)
                gone += lost
                if not kept:
                    del hits[name]
        if gone:
            reasons.append(replace(reason, lines=cited(gone), count=len(gone)))
    return (replace(episode, hits=hits), tuple(reasons)) if reasons else (episode, ())


def ended_well(episode: Episode) -> bool:
    """Whether the attempt came to a good end: by accounting, else by its own last words."""
    state = episode.scheduler.state
    if state == COMPLETED:
        return not episode.scheduler.exit_code
    return state not in FAILED_STATES and said_its_end(episode) and not failed_itself(episode)


def said_its_end(episode: Episode) -> bool:
    """Whether an explicit clean end is the last that the job's progress shows."""
    is_finished = episode.progress.state is ProgressState.FINISHED
    return is_finished and episode.clean_end is not None


def failed_itself(episode: Episode) -> bool:
    """Whether the job's own lines show a cause of failure that it did not get over."""
    return any(
        not is_system_log(hit)
        and hit.signature.role in CAUSES
        and hit.signature.category not in SYSTEM_CATEGORIES
        and _stands(episode, hit)
        for hit in episode.all_hits()
    )


def failure_shown(episode: Episode) -> bool:
    """Whether something else than a log of the system says that the attempt failed."""
    return episode.scheduler.state in FAILED_STATES or any(
        not is_system_log(hit) and hit.signature.role in ANCHORS and _stands(episode, hit)
        for hit in episode.all_hits()
    )


def _tests(episode: Episode) -> Iterator[tuple[Reason, _Test]]:
    facts, own = episode.scheduler, own_nodes(episode)
    if own:
        yield Reason(ReasonCode.FOREIGN_NODE), lambda hit: _is_elsewhere(own, hit)
    if episode.starts or REQUEUE_RULE in episode.hits:
        last = _last_starts(episode)
        yield (
            Reason(ReasonCode.EARLIER_ATTEMPT),
            lambda hit: hit.line.line < last.get(hit.line.file, 0),
        )
    yield Reason(ReasonCode.BEFORE_START), lambda hit: _is_before(episode, hit)
    if ended_well(episode):
        how = "accounting says COMPLETED" if facts.state == COMPLETED else "it says so itself"
        yield (
            Reason(ReasonCode.AFTER_GOOD_END, detail=how),
            lambda hit: is_system_log(hit) or _follows_clean_end(episode, hit),
        )
        return
    end = _end(episode)
    if end is not None:
        yield Reason(ReasonCode.AFTER_END), lambda hit: _time(episode, hit, end) > end


def own_nodes(episode: Episode) -> frozenset[str]:
    """Return the short names of the attempt's nodes; empty while nobody knows them.

    Without the scheduler's word: the nodes of all ranks, where each one's is known, or what the
    job's environment says.
    """
    ranks = episode.ranks
    nodes = episode.scheduler.nodes or ranks.nodes
    if not nodes and ranks.is_complete:
        nodes = tuple(place.node for place in ranks.places.values() if place.node is not None)
    return frozenset(map(short_name, nodes))


def _is_before(episode: Episode, hit: Hit) -> bool:
    """Whether a line is from before the attempt: by the scheduler, its node, or its own lines.

    Lines of the job itself are of an earlier attempt then, in a file that both wrote.
    """
    time, raw = episode.time(hit), hit.line.event_time
    if time is None or raw is None:
        return False
    start, slack = episode.scheduler.start, float(START_SLACK_SECONDS)
    if not is_system_log(hit):
        return start is not None and time < start - JOB_SLACK_SECONDS * MICROSECONDS
    if start is None and hit.line.node in episode.launches:
        return raw < episode.launches[hit.line.node] - slack * MICROSECONDS
    if start is None:
        start, slack = episode.begin_time, FIRST_LINE_SECONDS
    return start is not None and time < start - slack * MICROSECONDS


def _last_starts(episode: Episode) -> dict[str, int]:
    """The line of each of the job's files at which the ranks were last started, if they fail again.

    A file that a requeued job appends to holds the failures of its earlier attempts, too.
    """
    starts = dict(episode.starts)
    requeues = episode.hits.get(REQUEUE_RULE)
    for hit in requeues.kept() if requeues is not None else ():
        file, line = hit.line.file, hit.line.line
        if starts.get(file, -1) < line and _goes_on(episode, file, line):
            starts[file] = line + 1
    failed_again = {
        hit.line.file
        for hit in episode.all_hits()
        if hit.signature.role in ANCHORS and hit.line.line >= starts.get(hit.line.file, 1 << 62)
    }
    return {file: line for file, line in starts.items() if file in failed_again}


def _goes_on(episode: Episode, file: str, line: int) -> bool:
    """Whether a log goes on after a line with more than what is left to tear down."""
    tail, end = episode.advances.get(file), episode.ends.get(file)
    if tail is not None and tail.steps_after(line):
        return True
    last = end.lines[-1][0] if end is not None and end.lines else 0
    return last - line >= MIN_LINES_AFTER


def _is_elsewhere(own: frozenset[str], hit: Hit) -> bool:
    """Whether a line of the system, in its own log or repeated in the job's, is of other nodes."""
    if not is_system_log(hit) and hit.signature.category not in SYSTEM_CATEGORIES:
        return False
    is_named = hit.signature.implicates is Implicates.NAMED
    nodes = named_nodes(hit) if is_named else [hit.line.node] if hit.line.node else []
    return bool(nodes) and own.isdisjoint(map(short_name, nodes))


def _time(episode: Episode, hit: Hit, default: int) -> int:
    time = episode.time(hit)
    return time if time is not None and is_system_log(hit) else default


def _follows_clean_end(episode: Episode, hit: Hit) -> bool:
    """Whether a system's line stands in the job's own log after its clean end: it is leavings."""
    end, position = episode.clean_end, episode.position(hit)
    is_system = hit.signature.category in SYSTEM_CATEGORIES
    return (
        end is not None
        and is_system
        and position.file_index == end.file_index
        and position.line > end.line
    )


def _end(episode: Episode) -> int | None:
    """Latest time that still belongs to the attempt, null when nobody knows."""
    if episode.scheduler.end is not None:
        seconds = LATE_SECONDS if _only_victims(episode) else END_SLACK_SECONDS
        return episode.scheduler.end + seconds * MICROSECONDS
    last = _last_clock(episode)
    if last is None:
        return None
    slack = float(END_SLACK_SECONDS)
    if not failed_itself(episode):
        usual = episode.progress.usual_gap_seconds or 0.0
        slack = max(SILENT_SECONDS, SILENT_GAPS * usual)
    return last + int(slack * MICROSECONDS)


def _only_victims(episode: Episode) -> bool:
    """Whether the job's own lines tell of a failure, and none of them of its cause."""
    own = [
        hit
        for hit in episode.all_hits()
        if not is_system_log(hit) and hit.signature.role in ANCHORS and _stands(episode, hit)
    ]
    return bool(own) and not any(h.signature.role in CAUSES and not is_generic(h) for h in own)


def _last_clock(episode: Episode) -> int | None:
    """Last clock of the job's output; null unless the log that shows its steps ends with one."""
    ends: list[LogEnd] = [end for end in episode.ends.values() if end.stream in JOB_STREAMS]
    steps = episode.ends.get(episode.progress.last_file or "")
    if steps is not None and steps.time is None:
        return None
    return max((end.time for end in ends if end.time is not None), default=None)


def _stands(episode: Episode, hit: Hit) -> bool:
    return not (episode.recovered(hit) or episode.taken_back(hit) or is_retried(hit))
