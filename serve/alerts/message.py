"""What is told of an incident. Pure: log text is hostile, so it is cut here and stays text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from relume.advice import Advice, Operation, Scope
from relume.clock import to_iso
from relume.printing import printable
from relume.serve.ledger import IncidentRecord
from relume.verdict import Kind

MAX_TEXT = 300
"""Characters of a line of a log, of a cause or a name, that are sent."""
MAX_LINES = 3
"""Lines of logs in one message."""
MAX_NODES = 8


class Happened(StrEnum):
    """Why there is a message."""

    OPENED = "opened"
    UPDATED = "updated"
    RESOLVED = "resolved"


class Level(StrEnum):
    """How much it matters, least first."""

    INFO = "info"
    """A silence that is only suspicious."""
    WARNING = "warning"
    """Something is wrong, and nothing is to be done about it."""
    CRITICAL = "critical"
    """A job is to be restarted, stopped or held, nodes kept from jobs; or many jobs failed."""

    @property
    def rank(self) -> int:
        """Its place among the others."""
        return list(Level).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message about one incident. Times are UTC microseconds.

    Attributes
    ----------
    sequence
        1 for the first about the incident: with its id, the key by which a receiver knows repeats.
    title
        One line.
    lines
        What proves it, at most `MAX_LINES`.
    link
        Where the incident can be read; null where nobody configured that.
    """

    happened: Happened
    sequence: int
    level: Level
    incident: IncidentRecord
    title: str
    lines: tuple[str, ...]
    link: str | None


def level_of(incident: IncidentRecord) -> Level:
    """Return how much an incident matters, by what is advised about it."""
    if incident.scope is Scope.CLUSTER or incident.operation is not Operation.OBSERVE:
        return Level.CRITICAL
    if incident.kind in {Kind.UNKNOWN, Kind.BENIGN}:
        return Level.INFO
    return Level.WARNING


def said(incident: IncidentRecord) -> str:
    """Return what an incident says, as one text: another one is worth another message."""
    parts = (incident.kind, incident.domain, incident.cause or "", incident.operation)
    return "|".join((*parts, *incident.nodes))


def message_of(
    incident: IncidentRecord,
    advice: Advice | None,
    happened: Happened,
    *,
    sequence: int,
    base: str = "",
) -> Message:
    """Return the message about an incident.

    Parameters
    ----------
    advice
        Its newest Advice, whose evidence is shown; null for none.
    base
        The address of the service as people reach it; empty: no link.
    """
    evidence = () if advice is None else advice.evidence[:MAX_LINES]
    return Message(
        happened=happened,
        sequence=sequence,
        level=level_of(incident),
        incident=incident,
        title=_title(incident, happened),
        lines=tuple(cut(f"{one.file}:{one.line + 1} {one.text}") for one in evidence),
        link=f"{base.rstrip('/')}/incidents/{incident.incident_id}" if base else None,
    )


def cut(text: str) -> str:
    r"""Return text of somebody else as one short line.

    >>> cut("a\x1b[2J\n" + "b" * 400)[-3:]
    'bb…'
    """
    plain = printable(text.strip())
    return plain if len(plain) <= MAX_TEXT else f"{plain[:MAX_TEXT]}…"


def _title(incident: IncidentRecord, happened: Happened) -> str:
    what = cut((incident.cause or "cause unknown").replace("_", " "))
    about = cut(incident.subject)
    head = f"{incident.kind} of {about}: {what} ({incident.domain})"
    if happened is Happened.RESOLVED and incident.closed_at is not None:
        ending = f": {cut(incident.ending)}" if incident.ending else ""
        return f"over since {to_iso(incident.closed_at)}: {head}{ending}"
    nodes = ", ".join(cut(node) for node in incident.nodes[:MAX_NODES])
    more = len(incident.nodes) - MAX_NODES
    where = f" without {nodes}{f' and {more} more' if more > 0 else ''}" if nodes else ""
    return f"{head}; advice: {incident.operation}{where}"
