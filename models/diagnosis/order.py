"""Choose the line that best names the cause: by causality, not by count or by who prints first.

The ordering rule of the signature reference: confirmations, hardware roots, exceptions, NCCL
library roots, collective time-outs, pointers, teardown. Within a tier specific wording beats
generic, then the earlier line wins. What a stronger or earlier line explains is set aside, and
*why* says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from relume.models.diagnosis.citing import cited, ruled_out
from relume.models.diagnosis.consequences import (
    ANCHORS,
    CAUSES,
    CLOCK_SLACK_MICROSECONDS,
    CONSEQUENCES,
    died_by_signal,
    is_forgeable,
    is_generic,
    is_quoted,
    precedes,
)
from relume.models.diagnosis.episode import Episode
from relume.models.diagnosis.outlived import without_outlived, without_words_of_victims
from relume.models.diagnosis.retrying import is_retried
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import TIER_ORDER, Exclude, Implicates, Role, Tier
from relume.reasons import Reason, ReasonCode
from relume.slurm.nodes import short_name
from relume.verdict import Domain

IGNORED_RULE = "exception_ignored"
"""Rule of Python's notice that it ignored the exception printed after it."""
LINK_SECONDS = 900
"""How long after a link went down those who used it may find out."""
SAME_REPORT_LINES = 40
"""A report of one event spans at most so many lines (an oom-kill report prints a table)."""
MAX_COMPARED = 500_000
"""Pairs of lines that are compared one by one: some seconds. Thousands of ranks make fewer."""
OF_A_WAVE = 16
"""Earliest lines of each rule and file that stand for all of a larger wave."""


@dataclass(frozen=True, slots=True)
class Root:
    """The chosen line, the other lines that could have been it, and the reasons."""

    hit: Hit
    contenders: tuple[Hit, ...]
    reasons: tuple[Reason, ...]


def choose_root(episode: Episode) -> Root | None:
    """Return the root of the episode, or null when no line of it is a sign of failure."""
    told = [h for h in episode.all_hits() if h.signature.role in ANCHORS]
    forged = [h for h in told if is_forged_decision(h)]
    open_hits = [h for h in told if not is_forged_decision(h)] if forged else told
    ignored = _ignored_exceptions(episode)
    anchors = one_per_line(
        h
        for h in open_hits
        if not (
            is_retried(h)
            or _survived_quote(episode, h)
            or episode.recovered(h)
            or episode.taken_back(h)
            or _place(h) in ignored
        )
    )
    anchors = without_outlived(without_words_of_victims(_without_echoes(anchors)))
    if not anchors:
        return None
    why = [Reason(ReasonCode.FORGED, cited(forged), len(forged))] if forged else []
    why += _got_over(open_hits, anchors)
    causes = [h for h in anchors if h.signature.role in CAUSES or died_by_signal(h)]
    if causes:
        kept = _without_consequences(episode, anchors, causes, why)
        return _strongest(episode, kept or causes, why)
    if _after_clean_end(episode, anchors):
        return None
    why.append(Reason(ReasonCode.ONLY_VICTIMS))
    lost = _lost_link(episode, anchors)
    if lost is not None:
        return _strongest(episode, [lost], why)
    kept = _without_consequences(episode, anchors, anchors, why)
    return _strongest(episode, kept, why)


def one_per_line(hits: Iterable[Hit]) -> list[Hit]:
    """Keep the most specific hit of each line."""
    best: dict[tuple[str, int, str], Hit] = {}
    for hit in hits:
        key = (hit.line.file, hit.line.line, hit.line.text)
        held = best.get(key)
        if held is None or hit.signature.specificity > held.signature.specificity:
            best[key] = hit
    return list(best.values())


def is_forged_decision(hit: Hit) -> bool:
    """Whether a rank says what only srun or slurmctld may say: that a node failed."""
    return is_forgeable(hit) and hit.signature.category == "slurm" and _excludes(hit)


def _without_echoes(anchors: Sequence[Hit]) -> list[Hit]:
    """Leave out what the job only repeats of a log that is there itself."""
    told = {h.signature.id for h in anchors if not is_quoted(h)}
    return [h for h in anchors if not is_quoted(h) or h.signature.id not in told]


def _survived_quote(episode: Episode, hit: Hit) -> bool:
    """Whether the job took a step after it had quoted a kernel: it was no word on this job."""
    advances = episode.advances.get(hit.line.file)
    return is_quoted(hit) and advances is not None and advances.steps_after(hit.line.line) > 0


def _excludes(hit: Hit) -> bool:
    return hit.signature.exclude is not Exclude.NEVER


def _ignored_exceptions(episode: Episode) -> set[tuple[str, int]]:
    """Places of the exceptions that Python itself says it ignored: the first after each notice."""
    notices = episode.hits.get(IGNORED_RULE)
    raised = sorted(
        (h for h in episode.all_hits() if h.signature.tier is Tier.EXCEPTION), key=episode.position
    )
    ignored: set[tuple[str, int]] = set()
    for notice in notices.first if notices is not None else ():
        for hit in raised:
            gap = hit.line.line - notice.line.line
            if hit.line.file == notice.line.file and 0 < gap <= SAME_REPORT_LINES:
                ignored.add(_place(hit))
                break
    return ignored


def _place(hit: Hit) -> tuple[str, int]:
    return hit.line.file, hit.line.line


def _got_over(open_hits: Sequence[Hit], anchors: Sequence[Hit]) -> list[Reason]:
    kept = set(map(_place, anchors))
    gone = one_per_line(hit for hit in open_hits if _place(hit) not in kept)
    return [Reason(ReasonCode.GOT_OVER, cited(gone), len(gone))] if gone else []


def _after_clean_end(episode: Episode, anchors: Sequence[Hit]) -> bool:
    """Whether all that is left are leavings of a run that had already ended well."""
    end = episode.clean_end
    return end is not None and all(episode.position(hit) > end for hit in anchors)


def _lost_link(episode: Episode, victims: Sequence[Hit]) -> Hit | None:
    """The link that went down on one node alone just before all that is known are victims.

    By itself that is a warning: a host has links that the job doesn't use.
    """
    times = [time for h in victims if (time := episode.time(h)) is not None]
    if not times:
        return None
    until = min(times) + CLOCK_SLACK_MICROSECONDS
    down = [
        (time, h)
        for h in episode.all_hits()
        if h.signature.role is Role.WARNING
        and h.signature.tier is Tier.FABRIC
        and h.line.stream == "kernel"
        and not episode.taken_back(h)
        and (time := episode.time(h)) is not None
        and until - LINK_SECONDS * 1_000_000 <= time <= until
    ]
    nodes = {short_name(h.line.node) for _, h in down if h.line.node is not None}
    return min(down, key=lambda one: one[0])[1] if len(nodes) == 1 else None


def _without_consequences(
    episode: Episode, anchors: Sequence[Hit], causes: Sequence[Hit], why: list[Reason]
) -> list[Hit]:
    kept, first = _few(episode, causes, _first_of_each(episode, anchors))
    for code, is_consequence in CONSEQUENCES:
        explained: list[tuple[Hit, Hit]] = []
        left: list[Hit] = []
        for hit in kept:
            by = next((earlier for earlier in first if is_consequence(episode, hit, earlier)), None)
            if by is None:
                left.append(hit)
            else:
                explained.append((hit, by))
        if left and explained:
            why.append(Reason(code, ruled_out(explained), len(explained)))
            kept = left
    return kept


def _few(
    episode: Episode, hits: Sequence[Hit], first: Sequence[Hit]
) -> tuple[list[Hit], list[Hit]]:
    """Return both as they are; of a wave that would take minutes the earliest of each rule."""
    if len(hits) * len(first) <= MAX_COMPARED:
        return list(hits), list(first)
    return _earliest_of_each(episode, hits), _earliest_of_each(episode, first)


def _earliest_of_each(episode: Episode, hits: Sequence[Hit]) -> list[Hit]:
    kept: dict[tuple[str, str], list[Hit]] = {}
    for hit in sorted(hits, key=episode.position):
        of_rule = kept.setdefault((hit.signature.id, hit.line.file), [])
        if len(of_rule) < OF_A_WAVE:
            of_rule.append(hit)
    return [hit for of_rule in kept.values() for hit in of_rule]


def _first_of_each(episode: Episode, hits: Sequence[Hit]) -> list[Hit]:
    """The earliest line of each rule, file and GPU: enough to explain all the later ones."""
    first: dict[tuple[str, str, str | None], Hit] = {}
    for hit in sorted(hits, key=episode.position):
        first.setdefault((hit.signature.id, hit.line.file, hit.captures.get("gpu")), hit)
    return list(first.values())


def _strongest(episode: Episode, hits: Sequence[Hit], why: list[Reason]) -> Root:
    tier = min((TIER_ORDER[h.signature.tier] for h in hits), default=0)
    ranked = sorted(hits, key=lambda h: TIER_ORDER[h.signature.tier])
    top = [h for h in ranked if TIER_ORDER[h.signature.tier] == tier]
    specific = [h for h in top if not is_generic(h)] or top
    if top[0].signature.tier is Tier.TIMEOUT:
        # a report that names who is missing says more than the time-outs of those who wait
        specific = [h for h in specific if _accuses(h)] or specific
    if top[0].signature.tier is Tier.TEARDOWN:
        specific = _who_ended_it(episode, specific)
    root = _best_wording(_earliest(episode, specific), specific)
    among = (
        "the only line" if len(specific) == 1 else f"the earliest or clearest of {len(specific)}"
    )
    detail = f"{among} in the strongest tier ({root.signature.tier})"
    why.append(Reason(ReasonCode.STRONGEST_TIER, cited([root]), detail=detail))
    confirmed = _what_was_confirmed(episode, root, hits)
    if confirmed is not None:
        why.append(Reason(ReasonCode.CONFIRMED, ruled_out([(confirmed, root)])))
        root = confirmed
    return Root(root, tuple(h for h in ranked if h is not root), tuple(why))


def _who_ended_it(episode: Episode, hits: list[Hit]) -> list[Hit]:
    """Among teardown lines the scheduler's tell who ended the job, unless a task was killed before.

    With `--kill-on-bad-exit` srun names the task that died first, and then cancels the step.
    """
    if _accuses(_earliest(episode, hits)):
        return hits
    return [h for h in hits if h.signature.domain is Domain.SCHEDULER] or hits


def _accuses(hit: Hit) -> bool:
    return hit.signature.implicates is Implicates.NAMED


def _best_wording(root: Hit, hits: Sequence[Hit]) -> Hit:
    """Of the lines that tell the same cause together (an oom-kill report has 4), the clearest."""
    near = [
        h
        for h in hits
        if h.signature.cause == root.signature.cause
        and h.line.file == root.line.file
        and 0 <= h.line.line - root.line.line <= SAME_REPORT_LINES
    ]
    return max(near, key=lambda h: (h.signature.specificity, -h.line.line), default=root)


def _earliest(episode: Episode, hits: Sequence[Hit]) -> Hit:
    """Earliest by clock when every line has one; what clocks leave open, reading order decides."""
    times = [(episode.time(h), h) for h in hits]
    known = [time for time, _ in times if time is not None]
    if len(known) == len(hits):
        latest = min(known) + CLOCK_SLACK_MICROSECONDS
        hits = [h for time, h in times if time is not None and time <= latest]
    return min(hits, key=episode.position)


def _what_was_confirmed(episode: Episode, root: Hit, hits: Sequence[Hit]) -> Hit | None:
    """The device error that a driver's recovery action answers, when it was printed before."""
    gpu = root.captures.get("gpu")
    if root.signature.role is not Role.CONFIRMATION or gpu is None:
        return None
    before = [
        h
        for h in hits
        if h.signature.tier is Tier.HARDWARE
        and h.captures.get("gpu") == gpu
        and precedes(episode, h, root)
    ]
    return _earliest(episode, before) if before else None
