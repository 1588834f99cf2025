"""Why the detectors fired or didn't, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from relume.errors import counted
from relume.models.hang.detector import Level
from relume.models.hang.known import STARTING
from relume.models.hang.patience import Basis, Thresholds
from relume.models.straggler.levels import Level as PaceLevel
from relume.serve.explain.explain import Explained
from relume.serve.explain.recorder import Recorder, Silence, Stream

BASES: Final = {
    Basis.FEW: "too few gaps to know its pace",
    Basis.LUMPS: "its steps come in lumps",
    Basis.UNKNOWN: "its pace is known, its pauses are not",
    Basis.FAMILY: "its family's pauses are known",
    Basis.OWN: "it has trained for a day: its own pauses are known",
    Basis.PHASE: "it announced a phase of its own",
}
"""What a threshold rests on."""
STARTS: Final = {
    Basis.UNKNOWN: "how long it takes to start is not known",
    Basis.FEW: "few starts of its family are known",
    Basis.FAMILY: "starts of its family are known",
}
"""The same before the first step."""
UNREAD: Final = "nobody could tell when its lines came"


def why_hang(one: Explained) -> Iterator[str]:
    """Yield why it was called a hang, or wasn't."""
    seen = one.seen
    if one.start is None:
        yield "no clock says when its lines came, so no silence is judged"
        return
    if seen.unread and not seen.silences:
        yield f"{UNREAD}, so no silence could be judged"
        return
    if seen.limits is None or not seen.silences:
        yield "it showed no step, and nobody said that it runs: there is no silence to judge"
        return
    furthest = seen.silences[0]
    about = f"{_seconds(furthest.seconds)} in phase {furthest.phase}"
    limit = furthest.limits
    if furthest.level is Level.ACTIONABLE:
        yield (
            f"called a hang: a silence of {about}; {_patience(furthest.phase, limit)}"
            if furthest.seconds > limit.actionable_seconds
            else f"called a hang: a silence of {about}, and another source agreed"
        )
    elif furthest.level is Level.SUSPICION:
        yield f"suspected, not called a hang: the silence that came furthest is {about}"
        yield _patience(furthest.phase, limit)
        if furthest.seconds > limit.actionable_seconds:
            yield "other lines went on meanwhile, or another source saw it work"
    else:
        yield (
            f"nothing was suspected: the silence that came furthest is {about}, and a suspicion "
            f"takes more than {_seconds(limit.suspicion_seconds)}"
        )
        yield _patience(furthest.phase, limit)
    if seen.unread:
        yield f"{UNREAD} ({counted(seen.unread, 'time')}): what was silent then isn't judged"
    yield _relatives(seen.relatives)


def _patience(phase: str, limits: Thresholds) -> str:
    if limits.actionable_seconds == float("inf"):
        return "before the first step a silence of any length is no hang by itself"
    return (
        f"a hang takes more than {_seconds(limits.actionable_seconds)} ({because(phase, limits)})"
    )


def because(phase: str, limits: Thresholds) -> str:
    """Return what a threshold rests on.

    Examples
    --------
    >>> because("launch", Thresholds(1800.0, float("inf"), Basis.UNKNOWN))
    'how long it takes to start is not known'
    """
    return (STARTS if phase in STARTING else BASES)[limits.basis]


def _relatives(count: int) -> str:
    if not count:
        return "no earlier attempt of its family is known"
    return f"known: {counted(count, 'earlier attempt')} of its family"


def outcome(silence: Silence) -> str:
    """Return what came of a silence."""
    said = {None: "", Level.SUSPICION: "suspected; ", Level.ACTIONABLE: "called a hang; "}
    ended = "a step ended it" if silence.ended else "no step came any more"
    return said[silence.level] + ended


def why_slow(one: Explained) -> Iterator[str]:
    """Yield why it was called slow, or wasn't."""
    seen = one.seen
    if not seen.streams:
        yield "its lines tell no time of a step, so its pace isn't judged"
        return
    if seen.slowdown is not None:
        slow = seen.slowdown
        sure = slow.level is PaceLevel.ACTIONABLE
        yield f"{'called' if sure else 'suspected to be'} slow: {slow.reason}"
    for name, stream in seen.streams.items():
        yield _of_stream(name, stream, seen)


def _of_stream(name: str, stream: Stream, seen: Recorder) -> str:
    about = f"regime {name}: {stream.steps} steps"
    if not stream.is_calibrated:
        return f"{about}; the mode that keeps a budget needs {seen.calibration} to calibrate"
    return (
        f"{about}, usually {stream.usual:.3g}; evidence of a slowdown came to "
        f"{min(1.0, stream.evidence):.2g} of what is an alarm"
    )


def _seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s"  # noqa: PLR2004 - people count so
