"""An explanation as one document, described in `docs/explain.md`."""

from __future__ import annotations

import math
from typing import Any

from relume.clock import to_iso
from relume.models.hang.patience import Thresholds
from relume.serve.explain.explain import Explained
from relume.serve.explain.recorder import Silence
from relume.serve.explain.spread import Course
from relume.serve.explain.words import outcome, why_hang, why_slow

SHARES = (0.5, 0.9, 0.99)


def to_document(one: Explained) -> dict[str, Any]:
    """Return its JSON form; times are ISO 8601, null where nothing is known."""
    seen, slow = one.seen, one.seen.slowdown
    return {
        "attempt": one.attempt,
        "title": one.title,
        "start": _time(one.start),
        "end": _time(one.end),
        "missing": list(one.missing),
        "advice": [
            {
                "time": _time(advice.created_at),
                "operation": advice.operation.value,
                "kind": advice.kind.value,
                "rule": advice.rule,
                "cause": advice.cause,
                "settled": advice.settled,
            }
            for advice in seen.advice
        ],
        "hang": {
            "why": list(why_hang(one)),
            "thresholds": None if seen.limits is None else _limits(seen.limits),
            "relatives": seen.relatives,
            "unread": seen.unread,
            "phases": {
                name: {
                    "count": spread.count,
                    **{f"p{share * 100:g}": spread.quantile(share) for share in SHARES},
                    "longest": spread.longest,
                }
                for name, spread in seen.phases.items()
            },
            "silences": [_silence(silence) for silence in seen.silences],
            "gaps": _course(seen.gaps),
        },
        "straggler": {
            "why": list(why_slow(one)),
            "slowdown": None
            if slow is None
            else {"level": slow.level.name.lower(), "step": slow.since.step, "ratio": slow.ratio},
            "regimes": {
                name: {
                    "steps": stream.steps,
                    "usual": stream.usual,
                    "is_calibrated": stream.is_calibrated,
                    "evidence": stream.evidence,
                }
                for name, stream in seen.streams.items()
            },
            "step_times": _course(seen.paces),
        },
    }


def _time(time: int | None) -> str | None:
    return None if time is None else to_iso(time)


def _limits(limits: Thresholds) -> dict[str, Any]:
    patience = limits.actionable_seconds
    return {
        "suspicion_seconds": limits.suspicion_seconds,
        "actionable_seconds": patience if math.isfinite(patience) else None,
        "basis": limits.basis.value,
    }


def _silence(silence: Silence) -> dict[str, Any]:
    return {
        "since": to_iso(silence.since),
        "seconds": silence.seconds,
        "phase": silence.phase,
        "level": None if silence.level is None else silence.level.value,
        "outcome": outcome(silence),
        **_limits(silence.limits),
    }


def _course(course: Course) -> list[tuple[str, float]]:
    return [(to_iso(time), value) for time, value in course.points]
