"""What was told to a target, and what is still to be told. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from relume.clock import MICROSECONDS_PER_SECOND
from relume.serve.alerts.message import Happened, Level, level_of, said
from relume.serve.ledger import IncidentRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What was told of one incident, and when (UTC microseconds).

    Attributes
    ----------
    said
        What it said then.
    level
        The highest that was told.
    sequence
        How many messages there were.
    is_over
        Whether its end was told.
    """

    subject: str
    said: str
    level: Level
    sequence: int
    at: int
    is_over: bool = False

    def to_text(self) -> str:
        """Return the form in which it is kept."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def of_text(cls, text: str) -> Told | None:
        """Return what was kept; null for what isn't in that form."""
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.DecodeError:
            return None


@dataclass(frozen=True, slots=True)
class Rules:
    """Which incidents are told, and how often.

    `least` is the lowest level that is told; after a message about a subject the next one about it
    waits for `cooldown_seconds`, unless it matters more or the incident is over.
    """

    least: Level = Level.WARNING
    cooldown_seconds: float = 300.0


def due(
    incident: IncidentRecord,
    told: Mapping[str, Told],
    quiet: Mapping[str, Told],
    now: int,
    rules: Rules,
) -> Happened | None:
    """Return what is to be told of an incident now; null for nothing.

    Parameters
    ----------
    told
        What was told, by incident.
    quiet
        The newest of it by subject.
    """
    before, level = told.get(incident.incident_id), level_of(incident)
    if before is not None and before.is_over:
        return None
    if before is not None and incident.closed_at is not None:
        return Happened.RESOLVED
    if level.rank < rules.least.rank:
        return None
    newest = quiet.get(incident.subject)
    if newest is not None and level.rank <= newest.level.rank:
        waited = (now - newest.at) / MICROSECONDS_PER_SECOND
        if 0 <= waited < rules.cooldown_seconds:
            return None
    if before is None:
        return Happened.OPENED
    return Happened.UPDATED if before.said != said(incident) else None


def after(incident: IncidentRecord, before: Told | None, happened: Happened, now: int) -> Told:
    """Return what is told of an incident once a message about it was taken."""
    level = level_of(incident)
    if before is not None and before.level.rank > level.rank:
        level = before.level
    return Told(
        subject=incident.subject,
        said=said(incident),
        level=level,
        sequence=1 if before is None else before.sequence + 1,
        at=now,
        is_over=happened is Happened.RESOLVED,
    )


def newest_by_subject(told: Mapping[str, Told]) -> dict[str, Told]:
    """Return what was told last of each subject."""
    found: dict[str, Told] = {}
    for one in told.values():
        if one.subject not in found or found[one.subject].at < one.at:
            found[one.subject] = one
    return found
