"""The forms in which messages are sent: Alertmanager's API v2, a JSON of our own, Slack's."""

from __future__ import annotations

from typing import Any

from relume.clock import MICROSECONDS_PER_SECOND, to_iso
from relume.serve.alerts.message import Happened, Level, Message

VERSION = 1
"""Of the webhook's form."""
MAX_SLACK = 3000
ALERT, ALIVE = "RelumeIncident", "RelumeAlive"
_SLACK = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def alertmanager(message: Message, *, now: int, holds_seconds: float) -> dict[str, Any]:
    """Return one alert of ``POST /api/v2/alerts``.

    Its labels are what doesn't change while an incident goes on, but for the level. One that goes
    on is resolved by itself when nobody repeats it for `holds_seconds`.
    """
    incident = message.incident
    over = message.happened is Happened.RESOLVED
    closed = min(incident.closed_at or now, now)
    ends = closed if over else now + int(holds_seconds * MICROSECONDS_PER_SECOND)
    alert: dict[str, Any] = {
        "labels": {
            "alertname": ALERT,
            "cluster": incident.cluster,
            "severity": message.level.value,
            "scope": incident.scope.value,
            "attempt": incident.attempt,
            "incident": incident.incident_id,
        },
        "annotations": {
            "summary": message.title,
            "description": "\n".join(message.lines),
            "kind": incident.kind.value,
            "operation": incident.operation.value,
        },
        "startsAt": to_iso(min(incident.opened_at, ends)),
        "endsAt": to_iso(ends),
    }
    if message.link is not None:
        alert["generatorURL"] = message.link
    return alert


def levelled(alert: dict[str, Any], level: Level, ends: int | None = None) -> dict[str, Any]:
    """Return an alert under another level, which ends at a time if one is given."""
    changed = alert | {"labels": alert["labels"] | {"severity": level.value}}
    return changed if ends is None else changed | {"endsAt": to_iso(ends)}


def alive(now: int, *, holds_seconds: float) -> dict[str, Any]:
    """Return the alert that always fires: when it stops, something is dead."""
    return {
        "labels": {"alertname": ALIVE, "severity": "none"},
        "annotations": {"summary": "Relume watches jobs; when this ends, it doesn't any more"},
        "endsAt": to_iso(now + int(holds_seconds * MICROSECONDS_PER_SECOND)),
    }


def webhook(message: Message) -> dict[str, Any]:
    """Return the body for a generic webhook; `docs/alerts.md` describes it."""
    incident = message.incident
    return {
        "version": VERSION,
        "event": message.happened.value,
        "sequence": message.sequence,
        "level": message.level.value,
        "title": message.title,
        "lines": list(message.lines),
        "link": message.link,
        "incident_id": incident.incident_id,
        "cluster": incident.cluster,
        "attempt": incident.attempt,
        "scope": incident.scope.value,
        "kind": incident.kind.value,
        "domain": incident.domain.value,
        "cause": incident.cause,
        "operation": incident.operation.value,
        "nodes": list(incident.nodes),
        "opened_at": to_iso(incident.opened_at),
        "closed_at": None if incident.closed_at is None else to_iso(incident.closed_at),
        "ending": incident.ending,
    }


def slack(message: Message) -> dict[str, Any]:
    """Return the body for an incoming webhook of Slack, and of those that understand its form.

    Nothing in it is markup, a link to be shown, or calls anybody.
    """
    text = "\n".join((f"[{message.level}] {message.title}", *message.lines))
    if message.link is not None:
        text = f"{text}\n{message.link}"
    return {
        "text": text[:MAX_SLACK].translate(_SLACK),
        "mrkdwn": False,
        "parse": "none",
        "link_names": False,
        "unfurl_links": False,
        "unfurl_media": False,
    }
