"""Join what dumps show with what logs say: dumps know who waits for whom, logs why.

A dump is written by the job itself, so it names a culprit but never gets a node excluded. Where
logs and dumps disagree, the verdict says both.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from relume.features.progress.assess import ProgressState
from relume.models.collectives.evidence import DumpEvidence
from relume.models.collectives.finding import CollectiveFinding, Pattern
from relume.models.collectives.state import ranks_text
from relume.models.diagnosis.blame import Blame
from relume.models.diagnosis.episode import Episode
from relume.models.diagnosis.finding import Finding
from relume.models.diagnosis.locating import placed
from relume.models.diagnosis.order import Root
from relume.models.diagnosis.scheduler import COMPLETED
from relume.models.signatures.rule import Role, Tier
from relume.reasons import Reason, ReasonCode
from relume.slurm.nodes import short_name
from relume.verdict import Domain, Kind, Locator, Mention, Retry, Stuck

OLDER_MICROSECONDS = 60_000_000
"""Steps so long after the last time in the dumps show that the job was not held up by it."""
MAX_PLACES = 16
"""Culprits that a verdict lists."""
_WEAK_TIERS = frozenset({Tier.POINTER, Tier.TEARDOWN})
_CAUSES: dict[Pattern, tuple[str, Domain, Retry]] = {
    Pattern.MISMATCH: ("collective_mismatch", Domain.WORKLOAD, Retry.NO),
    Pattern.LEFT_BEHIND: ("rank_stalled", Domain.UNKNOWN, Retry.UNCLEAR),
    Pattern.NEVER_JOINED: ("rank_never_joined", Domain.UNKNOWN, Retry.UNCLEAR),
    Pattern.NOT_STARTED: ("kernel_never_started", Domain.UNKNOWN, Retry.UNCLEAR),
    Pattern.CYCLE: ("collective_deadlock", Domain.WORKLOAD, Retry.UNCLEAR),
    Pattern.ODD_ONE_OUT: ("collective_deadlock", Domain.WORKLOAD, Retry.UNCLEAR),
    Pattern.LATE: ("rank_late", Domain.UNKNOWN, Retry.UNCLEAR),
    Pattern.ALL_STARTED: ("collective_stalled", Domain.UNKNOWN, Retry.UNCLEAR),
    Pattern.NO_DUMP: ("rank_lost", Domain.UNKNOWN, Retry.UNCLEAR),
    Pattern.GAVE_UP: ("rank_never_joined", Domain.UNKNOWN, Retry.UNCLEAR),
    Pattern.MANY_ABSENT: ("collective_stalled", Domain.UNKNOWN, Retry.UNCLEAR),
}


@dataclass(frozen=True, slots=True)
class _Told:
    """What the dumps say: whom they name, of what they are about, in words."""

    places: tuple[Locator, ...]
    cause: str
    domain: Domain
    retry: Retry
    confidence: float
    reasons: tuple[Reason, ...]


def join_dumps(
    episode: Episode, root: Root | None, blame: Blame, finding: Finding, own: Collection[str]
) -> tuple[Blame, Finding]:
    """Return blame and finding with what the dumps show.

    A failure that the log tells keeps its cause; a time-out gets its culprit from the dumps; where
    the log shows victims only, or nothing, the dumps say what happened. `own` are the short names
    of the attempt's nodes, empty while nobody knows them.
    """
    dumps = episode.dumps
    if dumps is None:
        return blame, finding
    refused = tuple(Reason(ReasonCode.DUMP_REFUSED, detail=text) for text in dumps.refused)
    told = _told(episode, dumps, own)
    if told is not None and _went_on(episode, dumps):
        told = None
        refused = (*refused, Reason(ReasonCode.DUMPS_OLD))
    if told is None:
        silent = () if dumps.shows_failure else _nothing_open(dumps)
        return blame, replace(finding, reasons=(*finding.reasons, *silent, *refused))
    reasons = (*told.reasons, *refused)
    if root is None or _shows_victims(root):
        return _by_dumps(told, finding, reasons)
    if root.hit.signature.tier is Tier.TIMEOUT and finding.kind is Kind.HANG:
        return _of_wave(dumps, told, blame, finding, reasons)
    return _beside(told, blame, finding, reasons)


def by_dumps(
    episode: Episode, finding: Finding, own: Collection[str]
) -> tuple[Blame, Finding] | None:
    """Return what the dumps alone show, for a log of which nothing is sure; null without them."""
    told = _told(episode, episode.dumps, own) if episode.dumps is not None else None
    if told is None or episode.dumps is None or _went_on(episode, episode.dumps):
        return None
    return _by_dumps(told, replace(finding, kind=Kind.HANG), ())


def _nothing_open(dumps: DumpEvidence) -> tuple[Reason, ...]:
    if not dumps.files:
        return ()
    detail = f"nothing is open in the dumps of {ranks_text(sorted(dumps.files))}"
    return (Reason(ReasonCode.DUMPS, detail=detail),)


def stuck_of(episode: Episode, own: Collection[str]) -> Stuck | None:
    """Return what the recorders show of the work that stands still, for people and programs."""
    dumps = episode.dumps
    found = dumps.collectives if dumps is not None else None
    if dumps is None or found is None:
        return None
    work = found.work
    return Stuck(
        pattern=found.pattern.value,
        culprits=_places(episode, dumps, found.culprits, own),
        suspects=found.suspects,
        group=work.group if work is not None else None,
        sequence=work.sequence if work is not None else None,
        operation=work.operation if work is not None else None,
        waiting=work.waiting if work is not None else (),
        absent=work.absent if work is not None else (),
        waits=found.waits,
        dumped=found.dumped,
        missing=found.missing,
    )


def dump_mentions(episode: Episode) -> tuple[Mention, ...]:
    """Return the ranks that the dumps name, each with its dump."""
    dumps = episode.dumps
    if dumps is None or dumps.collectives is None:
        return ()
    named = dumps.collectives.culprits or dumps.collectives.suspects
    return tuple(
        Mention(placed(episode, Locator(rank=rank)), 0, dumps.files[rank])
        for rank in named[:MAX_PLACES]
        if rank in dumps.files
    )


# --- what the dumps say ------------------------------------------------------------------------


def _told(episode: Episode, dumps: DumpEvidence, own: Collection[str]) -> _Told | None:
    found = dumps.collectives
    if found is None:
        return _of_others(episode, dumps, own)
    cause, domain, retry = _CAUSES[found.pattern]
    reasons = [Reason(ReasonCode.DUMPS, detail=_sentence(found, why)) for why in found.why]
    places = _places(episode, dumps, found.culprits, own)
    beside = _of_others(episode, dumps, own)
    confidence = found.confidence
    if beside is not None:
        reasons += beside.reasons
        if not places and _is_joined(dumps, found):
            places, confidence = beside.places, min(confidence, beside.confidence)
        elif places and beside.places and _meet(places, beside.places):
            confidence = min(0.97, confidence + 0.04)
    return _Told(places, cause, domain, retry, confidence, tuple(reasons))


def _is_joined(dumps: DumpEvidence, found: CollectiveFinding) -> bool:
    """Whether RAS may name somebody where the recorders can't tell one from another."""
    return dumps.ras is not None and found.pattern in {Pattern.ALL_STARTED, Pattern.NO_DUMP}


def _of_others(episode: Episode, dumps: DumpEvidence, own: Collection[str]) -> _Told | None:
    """What RAS and the stacks say, RAS first: it counts, stacks only look alike."""
    ras, stacks = dumps.ras, dumps.stacks
    reasons: list[Reason] = []
    places: tuple[Locator, ...] = ()
    confidence = 0.0
    if ras is not None:
        reasons += [Reason(ReasonCode.RAS, detail=why) for why in ras.why]
        names = episode.ranks.addresses
        told = [
            Locator(rank=p.rank, node=names.get(p.node or "", p.node), gpu=p.gpu)
            for p in ras.places
        ]
        places = tuple(_own(placed(episode, where), own) for where in told)
        confidence = ras.confidence
    if stacks is not None:
        reasons.append(Reason(ReasonCode.STACKS, detail=stacks.why))
        if not places:
            places = _places(episode, dumps, stacks.ranks, own)
            confidence = stacks.confidence
    if not reasons:
        return None
    cause = "rank_lost" if ras is not None and ras.is_dead else "rank_never_joined"
    return _Told(places, cause, Domain.UNKNOWN, Retry.UNCLEAR, confidence, tuple(reasons))


def _places(
    episode: Episode, dumps: DumpEvidence, ranks: Sequence[int], own: Collection[str]
) -> tuple[Locator, ...]:
    """Where the ranks are: by the lines of the logs, else by the dumps themselves."""
    places = []
    for rank in ranks[:MAX_PLACES]:
        where = placed(episode, Locator(rank=rank))
        if where.node is None:
            where = replace(where, node=dumps.nodes.get(rank))
        places.append(_own(where, own))
    return tuple(places)


def _own(where: Locator, own: Collection[str]) -> Locator:
    """A dump is the job's own word: it names no node that is not the attempt's."""
    is_foreign = bool(own) and where.node is not None and short_name(where.node) not in own
    return replace(where, node=None) if is_foreign else where


def _sentence(found: CollectiveFinding, why: str) -> str:
    work = found.work
    if work is None:
        return why
    return f"{work.operation} number {work.sequence} of group {work.group}: {why}"


# --- against the logs --------------------------------------------------------------------------


def _went_on(episode: Episode, dumps: DumpEvidence) -> bool:
    """Whether the job is known to have gone on after its dumps, or to have ended well."""
    if episode.scheduler.state == COMPLETED:
        return True
    if episode.progress.state is ProgressState.FINISHED and episode.clean_end is not None:
        return True
    last = dumps.collectives.last_time if dumps.collectives is not None else None
    times = [time for tail in episode.advances.values() for time in tail.times[-1:]]
    return last is not None and any(time > last + OLDER_MICROSECONDS for time in times)


def _shows_victims(root: Root) -> bool:
    signature = root.hit.signature
    return signature.role is Role.CASCADE or signature.tier in _WEAK_TIERS


def _by_dumps(told: _Told, finding: Finding, reasons: tuple[Reason, ...]) -> tuple[Blame, Finding]:
    """The log shows no cause: what the dumps show is what happened."""
    where = told.places[0] if told.places else Locator()
    changed = Finding(
        Kind.HANG,
        told.cause,
        told.domain,
        told.retry,
        told.confidence,
        reasons=(*(finding.reasons if finding.kind is not Kind.UNKNOWN else ()), *reasons),
    )
    return Blame(where, is_sure=False), changed


def _of_wave(
    dumps: DumpEvidence,
    told: _Told,
    blame: Blame,
    finding: Finding,
    reasons: tuple[Reason, ...],
) -> tuple[Blame, Finding]:
    """Collectives timed out: the dumps say who is out of step, and in which way."""
    found = dumps.collectives
    if not told.places and (found is None or found.pattern is not Pattern.ALL_STARTED):
        return blame, replace(finding, reasons=(*finding.reasons, *reasons))
    cause, domain, retry = finding.cause, finding.domain, finding.retry
    if found is not None and found.pattern is Pattern.MISMATCH:
        cause, domain, retry = told.cause, told.domain, told.retry
    where = told.places[0] if told.places else Locator()
    reasons = (*reasons, *_compared(told, blame))
    changed = replace(
        finding,
        cause=cause,
        domain=domain,
        retry=retry,
        confidence=max(finding.confidence, told.confidence),
        reasons=(*finding.reasons, *reasons),
    )
    return Blame(where, blame.hit, is_sure=False), changed


def _beside(
    told: _Told, blame: Blame, finding: Finding, reasons: tuple[Reason, ...]
) -> tuple[Blame, Finding]:
    """The log tells a cause of its own: it stands, and the dumps say whether they agree."""
    changed = replace(finding, reasons=(*finding.reasons, *reasons, *_compared(told, blame)))
    if blame.where or blame.reasons or not told.places:
        return blame, changed
    return replace(blame, where=told.places[0], is_sure=False), changed


def _compared(told: _Told, blame: Blame) -> tuple[Reason, ...]:
    if not told.places or not blame.where:
        return ()
    if _meet(told.places, (blame.where,)):
        return (Reason(ReasonCode.DUMPS_AGREE),)
    named = ranks_text([p.rank for p in told.places if p.rank is not None])
    return (Reason(ReasonCode.DUMPS_DIFFER, detail=f"{named}, the log to {_words(blame.where)}"),)


def _meet(one: Sequence[Locator], other: Sequence[Locator]) -> bool:
    """Whether two lists of places have a rank in common, or where those aren't told, a node."""
    ranks = {p.rank for p in one} & {p.rank for p in other} - {None}
    if ranks:
        return True
    if all(p.rank is not None for p in (*one, *other)):
        return False
    ours = {short_name(p.node) for p in one if p.node is not None}
    return bool(ours & {short_name(p.node) for p in other if p.node is not None})


def _words(where: Locator) -> str:
    rank = None if where.rank is None else f"rank {where.rank}"
    node = None if where.node is None else f"node {where.node}"
    return ", ".join(part for part in (rank, node) if part) or "another place"
