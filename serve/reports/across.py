"""Which slowdowns hold across jobs, as a part of a score report (`docs/formats/score.md`)."""

from __future__ import annotations

from math import isfinite
from typing import Any

from relume.clock import to_iso
from relume.errors import InputError
from relume.serve.backtest.outcome import AcrossJobs, SlowAlarm


def to_document(across: AcrossJobs) -> dict[str, Any]:
    """Return the JSON form."""
    return {
        "false_share": across.false_share,
        "windows": across.windows,
        "alarms": len(across.alarms),
        "held": sum(one.holds for one in across.alarms),
        "slowdowns": [_alarm(one) for one in across.alarms],
    }


def _alarm(alarm: SlowAlarm) -> dict[str, Any]:
    judged = alarm.judged
    document: dict[str, Any] = {
        "attempt": alarm.attempt,
        "told_at": to_iso(alarm.told_at),
        "holds": alarm.holds,
        "held_at": None,
        "stream": None,
        "window_begin": None,
        "e_value": None,
        "needed": None,
        "evidence": [],
    }
    if judged is not None:
        document |= {
            "held_at": None if judged.held_at is None else _shown(judged.held_at),
            "stream": judged.window.stream,
            "window_begin": _shown(judged.window.begin),
            "e_value": judged.value,
            "needed": judged.needed if isfinite(judged.needed) else None,
            "evidence": [[_shown(time), value] for time, value in judged.window.evidence],
        }
    return document


def _shown(time: int) -> str | None:
    """Return a time that a job's own clock said; null for one that no calendar has."""
    try:
        return to_iso(time)
    except InputError:
        return None
