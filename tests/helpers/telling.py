"""Alarms, outcomes and labels in a real ledger, for tests of what reports say of them."""

from __future__ import annotations

from typing import Any

from advising import CREATED, make_advice, make_attempt
from relume.advice import Advice, Mode
from relume.models.worth.outcomes import Label
from relume.serve.ledger import LabelRecord, Ledger, OutcomeRecord
from relume.verdict import Domain, Kind, Measurement

SECOND = 1_000_000
HOUR = 3600 * SECOND
DAY = 24 * HOUR
HANG = "actionable_gap"


def name(number: int, count: int = 0) -> str:
    """The attempt of one job of these tests."""
    return f"lab/{number}@1767323045.{count}"


def silence(seconds: float = 100.0, limit: float = 90.0, **changes: Any) -> Measurement:
    """What was measured of a silence that ended a while before `CREATED`."""
    fields: dict[str, Any] = {
        "since": CREATED - int(seconds * SECOND),
        "setting": "hang.actionable_seconds",
    }
    return Measurement("silence_seconds", seconds, limit, **(fields | changes))


def alarm(ledger: Ledger, number: int = 1, **changes: Any) -> Advice:
    """Write an alarm about a hang of a job, as a service in mode *monitor* does."""
    fields: dict[str, Any] = {
        "attempt": name(number),
        "kind": Kind.HANG,
        "domain": Domain.UNKNOWN,
        "cause": "no_progress",
        "rule": HANG,
        "evidence": (),
        "mode": Mode.MONITOR,
        "measured": silence(),
    }
    advice = make_advice(**(fields | changes))
    ledger.put_advice(advice)
    return advice


def became(
    ledger: Ledger, advice: Advice, label: Label, silent_seconds: float | None = None
) -> None:
    """Write what became of an alarm by itself."""
    ledger.note(
        OutcomeRecord(
            advice_id=advice.advice_id,
            attempt=advice.attempt,
            rule=advice.rule,
            label=label,
            reason="new steps came",
            alarm_at=advice.created_at,
            known_at=advice.created_at + SECOND,
            silent_seconds=silent_seconds,
        )
    )


def say(ledger: Ledger, advice: Advice, *, right: bool, at: int = CREATED) -> None:
    """Write what a person says of an alarm."""
    ledger.put_label(
        LabelRecord(advice_id=advice.advice_id, right=right, who="on call", why="I saw it", at=at)
    )


def ran(ledger: Ledger, number: int, begin: int, end: int | None, **changes: Any) -> None:
    """Write that an attempt ran on two nodes, from and to so long after `CREATED`."""
    count = changes.pop("count", 0)
    ledger.put_attempt(
        make_attempt(
            **{
                "attempt": name(number, count),
                "run": f"run {number}",
                "start_time": CREATED + begin,
                "end_time": None if end is None else CREATED + end,
                "ended": end is not None,
                **changes,
            }
        )
    )
