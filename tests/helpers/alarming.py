"""Attempts, incidents and alarms made by hand for tests of scoring. Times are in seconds."""

from __future__ import annotations

from typing import Any

from relume.dataset import IgnoreInterval, Incident
from relume.models.scoring.alarm import Alarm
from relume.models.scoring.attempt import SECOND, ScoredAttempt
from relume.verdict import Domain, Kind

ATTEMPT = "lab/7@0.0"


def micros(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * SECOND)


def make_alarm(at: float | None = None, kind: Kind = Kind.CRASH, **fields: Any) -> Alarm:
    """Return a settled alarm at so many seconds."""
    return Alarm(**{"attempt": ATTEMPT, "kind": kind, "time": micros(at), "settled": True} | fields)


def make_incident(
    onset: float | None = None,
    end: float | None = None,
    kind: Kind = Kind.CRASH,
    **fields: Any,
) -> Incident:
    """Return an incident; `visible` is in seconds, too."""
    made: dict[str, Any] = {"incident_id": f"{kind.value}@{onset}", "attempt": ATTEMPT}
    made |= {"kind": kind, "onset": micros(onset), "end": micros(end)}
    if "visible" in fields:
        fields["visible"] = micros(fields["visible"])
    return Incident(**(made | fields))


def make_attempt(
    incidents: tuple[Incident, ...] | None = (), *alarms: Alarm, **fields: Any
) -> ScoredAttempt:
    """Return an attempt that ran from 0 to 10,000 s; `ignore` are pairs of seconds."""
    made: dict[str, Any] = {"attempt": ATTEMPT, "title": "attempt", "start": 0, "nodes": 4}
    made |= {"end": 10_000 * SECOND, "incidents": incidents, "alarms": alarms}
    for name in ("start", "end"):
        if name in fields:
            fields[name] = micros(fields[name])
    ignore = fields.pop("ignore", ())
    made["ignore"] = tuple(
        IgnoreInterval(start=round(a * SECOND), end=round(b * SECOND), reason="test")
        for a, b in ignore
    )
    return ScoredAttempt(**(made | fields))


WORKLOAD, HARDWARE = Domain.WORKLOAD, Domain.HARDWARE
