"""Choose the line that best names the cause: by causality, not by count and not by who shouts first.

The ordering rule of the signature reference: confirmations, hardware roots, exceptions, NCCL library
roots, collective time-outs, pointers, teardown. Within a tier specific wording beats generic, then
the earlier line wins. What a stronger or earlier line explains is set aside, and *why* says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from relume.models.diagnosis.episode import Episode
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import TIER_ORDER, Implicates, Role, Tier
from relume.verdict import Domain

GENERIC_SPECIFICITY = 20
"""Rules at or below this say only 'some exception', 'some fatal line'."""
WEAK_HARDWARE_SPECIFICITY = 49
"""Device errors below the normal 50 also follow an application fault (Xid 109 after 13)."""
SAME_REPORT_LINES = 40
"""A report of one event spans at most so many lines (an oom-kill report prints a table)."""
CLOCK_SLACK_MICROSECONDS = 1_000_000
"""Clocks of one file this close do not prove an order."""

_ANCHORS = frozenset({Role.ROOT, Role.CONFIRMATION, Role.CASCADE, Role.POINTER})
_CAUSES = frozenset({Role.ROOT, Role.CONFIRMATION})


@dataclass(frozen=True, slots=True)
class Root:
    """The chosen line, the other lines that could have been it, and the reasons in words."""

    hit: Hit
    contenders: tuple[Hit, ...]
    why: tuple[str, ...]


def choose_root(episode: Episode) -> Root | None:
    """Return the root of the episode, or null when no line of it is a sign of failure."""
    open_hits = [h for h in episode.all_hits() if h.signature.role in _ANCHORS]
    anchors = one_per_line(h for h in open_hits if not episode.recovered(h))
    if not anchors:
        return None
    why = _count_recovered(open_hits, anchors)
    causes = [h for h in anchors if h.signature.role in _CAUSES]
    if causes:
        kept = _without_consequences(episode, anchors, causes, why)
        return _strongest(episode, kept or causes, why)
    if _after_clean_end(episode, anchors):
        return None
    why.append("only lines that victims print: no first cause is visible")
    return _strongest(episode, anchors, why)


def one_per_line(hits: Iterable[Hit]) -> list[Hit]:
    """Keep the most specific hit of each line."""
    best: dict[tuple[str, int, str], Hit] = {}
    for hit in hits:
        key = (hit.line.file, hit.line.line, hit.line.text)
        held = best.get(key)
        if held is None or hit.signature.specificity > held.signature.specificity:
            best[key] = hit
    return list(best.values())


def is_generic(hit: Hit) -> bool:
    """Whether the rule says no more than that something failed."""
    return hit.signature.specificity <= GENERIC_SPECIFICITY


def _count_recovered(open_hits: Sequence[Hit], anchors: Sequence[Hit]) -> list[str]:
    gone = {(h.line.file, h.line.line) for h in open_hits} - {
        (h.line.file, h.line.line) for h in anchors
    }
    return [f"{len(gone)} failure lines set aside: the job went on after them"] if gone else []


def _after_clean_end(episode: Episode, anchors: Sequence[Hit]) -> bool:
    """Whether all that is left are leavings of a run that had already ended well."""
    end = episode.clean_end
    return end is not None and all(episode.position(hit) > end for hit in anchors)


def _without_consequences(
    episode: Episode, anchors: Sequence[Hit], causes: Sequence[Hit], why: list[str]
) -> list[Hit]:
    kept, first = list(causes), _first_of_each(episode, anchors)
    for reason, is_consequence in _CONSEQUENCES:
        left = [h for h in kept if not any(is_consequence(episode, h, e) for e in first)]
        if left and len(left) < len(kept):
            why.append(f"{len(kept) - len(left)} lines ruled out: {reason}")
            kept = left
    return kept


def _first_of_each(episode: Episode, hits: Sequence[Hit]) -> list[Hit]:
    """The earliest line of each rule, file and GPU: enough to explain all the later ones."""
    first: dict[tuple[str, str, str | None], Hit] = {}
    for hit in sorted(hits, key=episode.position):
        first.setdefault((hit.signature.id, hit.line.file, hit.captures.get("gpu")), hit)
    return list(first.values())


def precedes(episode: Episode, first: Hit, second: Hit) -> bool:
    """Whether `first` is known to come before `second`.

    Inside one file the reading order decides unless both clocks contradict it; between files only
    the clocks can.
    """
    times = (first.line.event_time, second.line.event_time)
    if first.line.file == second.line.file:
        if None not in times and abs(times[0] - times[1]) > CLOCK_SLACK_MICROSECONDS:  # type: ignore[operator]
            return times[0] < times[1]  # type: ignore[operator]
        return episode.position(first) < episode.position(second)
    return None not in times and times[0] + CLOCK_SLACK_MICROSECONDS < times[1]  # type: ignore[operator]


def _generic_after_known(episode: Episode, hit: Hit, earlier: Hit) -> bool:
    """An unspecific exception after a known failure is how that failure surfaced."""
    return (
        is_generic(hit)
        and hit.signature.tier is Tier.EXCEPTION
        and not is_generic(earlier)
        and earlier.signature.tier in {Tier.FABRIC, Tier.TIMEOUT, Tier.EXCEPTION}
        and precedes(episode, earlier, hit)
    )


def _exception_after_timeout(episode: Episode, hit: Hit, earlier: Hit) -> bool:
    """After a collective timed out the abort itself raises exceptions on every rank."""
    return (
        hit.signature.tier in {Tier.EXCEPTION, Tier.FABRIC}
        and earlier.signature.tier is Tier.TIMEOUT
        and earlier.signature.role is Role.ROOT
        and precedes(episode, earlier, hit)
    )


def _limit_after_failure(episode: Episode, hit: Hit, earlier: Hit) -> bool:
    """A job that had already failed or stood still then ran into its limit or was cancelled."""
    return (
        hit.signature.domain is Domain.SCHEDULER
        and hit.signature.tier is Tier.EXCEPTION
        and earlier.signature.role in _CAUSES
        and earlier.signature.domain is not Domain.SCHEDULER
        and precedes(episode, earlier, hit)
    )


def _after_scheduler_end(episode: Episode, hit: Hit, earlier: Hit) -> bool:
    """What processes print while the scheduler ends them is teardown."""
    return (
        earlier.signature.domain is Domain.SCHEDULER
        and earlier.signature.role is Role.ROOT
        and earlier.signature.tier is Tier.EXCEPTION
        and not is_generic(earlier)
        and hit.signature.tier in {Tier.EXCEPTION, Tier.FABRIC, Tier.TIMEOUT}
        and hit.signature.domain is not Domain.SCHEDULER
        and precedes(episode, earlier, hit)
    )


def _device_after_application(episode: Episode, hit: Hit, earlier: Hit) -> bool:
    """A context-switch time-out on the GPU that just had an application fault follows from it."""
    return (
        hit.signature.tier is Tier.HARDWARE
        and hit.signature.specificity <= WEAK_HARDWARE_SPECIFICITY
        and earlier.signature.category == hit.signature.category
        and earlier.signature.tier is Tier.EXCEPTION
        and earlier.captures.get("gpu") == hit.captures.get("gpu")
        and precedes(episode, earlier, hit)
    )


_Consequence = Callable[[Episode, Hit, Hit], bool]
_CONSEQUENCES: tuple[tuple[str, _Consequence], ...] = (
    ("the scheduler had ended the job before them", _after_scheduler_end),
    ("the job had already failed when the scheduler ended it", _limit_after_failure),
    ("device errors that follow an application fault on the same GPU", _device_after_application),
    ("exceptions raised by the abort after a collective timed out", _exception_after_timeout),
    ("unspecific exceptions after a known failure", _generic_after_known),
)


def _strongest(episode: Episode, hits: Sequence[Hit], why: list[str]) -> Root:
    tier = min((TIER_ORDER[h.signature.tier] for h in hits), default=0)
    ranked = sorted(hits, key=lambda h: TIER_ORDER[h.signature.tier])
    top = [h for h in ranked if TIER_ORDER[h.signature.tier] == tier]
    specific = [h for h in top if not is_generic(h)] or top
    if top[0].signature.tier is Tier.TIMEOUT:
        # a report that names who is missing says more than the time-outs of those who wait
        specific = [h for h in specific if _accuses(h)] or specific
    root = _best_wording(_earliest(episode, specific), specific)
    why.append(
        f"rule {root.signature.id}: the earliest of {len(specific)} lines in the strongest tier"
        f" present ({root.signature.tier})"
    )
    confirmed = _what_was_confirmed(episode, root, hits)
    if confirmed is not None:
        why.append(f"{root.signature.id} confirms {confirmed.signature.id} on the same GPU")
        root = confirmed
    return Root(root, tuple(h for h in ranked if h is not root), tuple(why))


def _accuses(hit: Hit) -> bool:
    return hit.signature.implicates is Implicates.NAMED


def _best_wording(root: Hit, hits: Sequence[Hit]) -> Hit:
    """Of the lines that tell the same cause together (an oom-kill report has four), the clearest."""
    near = [
        h
        for h in hits
        if h.signature.cause == root.signature.cause
        and h.line.file == root.line.file
        and 0 <= h.line.line - root.line.line <= SAME_REPORT_LINES
    ]
    return max(near, key=lambda h: (h.signature.specificity, -h.line.line), default=root)


def _earliest(episode: Episode, hits: Sequence[Hit]) -> Hit:
    """Earliest by clock when every line has one and they lie in several files, else by position."""
    files = {h.line.file for h in hits}
    if len(files) > 1 and all(h.line.event_time is not None for h in hits):
        return min(hits, key=lambda h: (h.line.event_time or 0, episode.position(h)))
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

