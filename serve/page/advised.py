"""The pages of Advice: what waits for a person, what is to be carried out, and one in full."""

from __future__ import annotations

from dataclasses import dataclass, replace

from relume.advice import Advice, Disposition
from relume.serve.ledger import AttemptRecord, IncidentRecord, Ledger, Standing
from relume.serve.page.jobs import shown_evidence
from relume.serve.page.missing import no_such
from relume.serve.trackrecord import TrackRecord, track_record

PAGE = 50
RECENT = 20
LOOKED_AT = 200
"""Newest Advice among which those are looked for that are no longer in force."""
MAX_EARLIER = 500
"""Earlier Advice from which a track record is counted."""


@dataclass(frozen=True, slots=True)
class AdviceRow:
    """One Advice in a list.

    Attributes
    ----------
    waits
        Whether a person has to approve it.
    attempt
        Whose it is; null where the ledger doesn't know that.
    """

    advice: Advice
    waits: bool
    attempt: AttemptRecord | None


@dataclass(frozen=True, slots=True)
class AdvicePage:
    """The queue.

    Attributes
    ----------
    waiting
        What waits for a person, the one that expires first at the top.
    active
        What else is to be carried out, or only written down (mode *monitor*); newest first.
    waiting_total, active_total
        How many there are: not all are listed.
    recent
        What came last of what is no longer in force.
    """

    waiting: list[AdviceRow]
    active: list[AdviceRow]
    waiting_total: int
    active_total: int
    recent: list[AdviceRow]


def waits_for_person(advice: Advice) -> bool:
    """Whether somebody has to say yes or no to an Advice, if it hasn't expired."""
    return advice.is_waiting and advice.reconciliation.disposition is Disposition.PENDING


def count_waiting(ledger: Ledger, now: int) -> int:
    """Return how many Advice wait for a person."""
    return sum(map(waits_for_person, ledger.active(now)))


def advice_page(ledger: Ledger, now: int) -> AdvicePage:
    """Look up the queue."""
    active = ledger.active(now)
    waiting = sorted(filter(waits_for_person, active), key=lambda one: one.expires_at)
    others = [one for one in reversed(active) if not waits_for_person(one)]
    in_force = {one.advice_id for one in active}
    recent = [one for one in ledger.listed(limit=LOOKED_AT) if one.advice_id not in in_force]
    del recent[RECENT:]
    names = {one.attempt for one in (*waiting[:PAGE], *others[:PAGE], *recent)}
    known = ledger.attempts_named(names)

    asked = {one.advice_id for one in waiting}

    def rows(advice: list[Advice]) -> list[AdviceRow]:
        return [
            AdviceRow(_slim(one), one.advice_id in asked, known.get(one.attempt)) for one in advice
        ]

    return AdvicePage(
        waiting=rows(waiting[:PAGE]),
        active=rows(others[:PAGE]),
        waiting_total=len(waiting),
        active_total=len(others),
        recent=rows(recent),
    )


def _slim(advice: Advice) -> Advice:
    """Leave all but the first line of its evidence out: lists show no more."""
    return replace(advice, evidence=tuple(shown_evidence(advice)[:1]))


@dataclass(frozen=True, slots=True)
class OneAdvice:
    """One Advice in full.

    Attributes
    ----------
    waits
        Whether it waits for a person.
    is_newest
        Whether no newer generation about its subject is there.
    track
        What earlier Advice tells of it.
    """

    advice: Advice
    waits: bool
    is_newest: bool
    attempt: AttemptRecord | None
    incident: IncidentRecord | None
    standing: Standing
    track: TrackRecord


def one_advice(ledger: Ledger, advice_id: str, now: int) -> OneAdvice:
    """Look up one Advice.

    Raises
    ------
    NotFoundError
        When it isn't in the ledger.
    """
    advice = ledger.get(advice_id)
    if advice is None:
        raise no_such("advice", advice_id)
    newest = ledger.newest(advice.subject)
    is_newest = newest is None or newest.advice_id == advice.advice_id
    is_alive = is_newest and advice.expires_at > now
    return OneAdvice(
        advice=replace(advice, evidence=tuple(shown_evidence(advice))),
        waits=is_alive and waits_for_person(advice),
        is_newest=is_newest,
        attempt=ledger.get_attempt(advice.attempt),
        incident=ledger.incident_of(advice_id),
        standing=ledger.standing(advice_id),
        track=track_record(advice, ledger.known(advice, MAX_EARLIER)),
    )
