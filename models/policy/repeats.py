"""Which attempts of a run failed in the same way again, with nothing gained in between. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from relume.models.policy.view import PastAttempt


@dataclass(frozen=True, slots=True)
class Streak:
    """Failures in a row with one fingerprint, none of which came further than all before it.

    `attempts` are in order; the first one may have made progress.
    """

    fingerprint: str
    attempts: tuple[PastAttempt, ...]

    def __len__(self) -> int:
        return len(self.attempts)


def with_progress(attempts: Iterable[PastAttempt]) -> list[tuple[PastAttempt, bool]]:
    """Return the attempts of a run in order, each with whether it passed every step before it.

    The first step that is seen at all is progress; an attempt without steps made none.
    """
    best: int | None = None
    told = []
    for one in sorted(attempts, key=lambda attempt: attempt.restart_count):
        advanced = one.last_step is not None and (best is None or one.last_step > best)
        best = one.last_step if advanced else best
        told.append((one, advanced))
    return told


def streaks(attempts: Iterable[PastAttempt]) -> tuple[Streak, ...]:
    """Split the failures of a run into streaks, in order; single failures are streaks of one.

    What didn't fail (its fingerprint is null) is passed over, but the steps that it made count.

    Examples
    --------
    >>> past = [
    ...     PastAttempt(0, "a", 1, 90),
    ...     PastAttempt(1, "a", 80, 90),
    ...     PastAttempt(2, "b", 80, 90),
    ... ]
    >>> [(streak.fingerprint, len(streak)) for streak in streaks(past)]
    [('a', 2), ('b', 1)]
    """
    found: list[list[PastAttempt]] = []
    is_broken = True
    for one, advanced in with_progress(attempts):
        is_broken = is_broken or advanced
        if one.fingerprint is None:
            continue
        if is_broken or found[-1][0].fingerprint != one.fingerprint:
            found.append([])
        found[-1].append(one)
        is_broken = False
    return tuple(Streak(group[0].fingerprint or "", tuple(group)) for group in found)
