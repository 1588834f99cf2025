"""Which settings keep a budget of false alarms, and find most, soonest. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from relume.models.scoring.attempt import SECOND, ScoredAttempt, ScoreSettings
from relume.models.scoring.exposure import exposure_of
from relume.models.scoring.intervals import NO_EVENT, Proportion, Rate
from relume.models.scoring.matching import match
from relume.verdict import Kind


@dataclass(slots=True)
class Tally:
    """What settings did to labelled attempts, as far as one kind is concerned.

    Attributes
    ----------
    false_alarms, quiet_days
        Alarms of the kind that were none, and job-days in which there was nothing to alarm about.
        Only attempts whose exposure is known count in either.
    found, missed
        Incidents of the kind.
    delays
        Seconds from the onset to the alarm of those that were found and have both.
    """

    false_alarms: int = 0
    quiet_days: float = 0.0
    found: int = 0
    missed: int = 0
    delays: list[float] = field(default_factory=list)

    @property
    def rate(self) -> Rate:
        """False alarms a job-day."""
        return Rate(self.false_alarms, self.quiet_days)

    @property
    def recall(self) -> Proportion:
        """Share of the incidents that were found."""
        return Proportion(self.found, self.found + self.missed)

    def tells(self, budget: float) -> bool:
        """Whether it has enough quiet job-days to show that a budget is kept to.

        Examples
        --------
        >>> Tally(0, 299.0).tells(0.01), Tally(2, 300.0).tells(0.01)
        (False, True)
        """
        return self.quiet_days * budget >= NO_EVENT

    @property
    def delay(self) -> float | None:
        """Median of the delays; null when there is none."""
        return median(self.delays) if self.delays else None

    def keeps(self, budget: float, *, surely: bool = False) -> bool:
        """Whether false alarms keep to a budget: as counted, or `surely`, with 95 % confidence.

        Examples
        --------
        >>> Tally(0, 30.0).keeps(0.01), Tally(0, 30.0).keeps(0.01, surely=True)
        (True, False)
        >>> Tally(0, 300.0).keeps(0.01, surely=True)
        True
        """
        return self.rate.holds(budget) if surely else self.false_alarms <= budget * self.quiet_days


def tally(attempts: Iterable[ScoredAttempt], kind: Kind) -> Tally:
    """Count what was said of labelled attempts; the others say nothing."""
    total, settings = Tally(), ScoreSettings()
    for attempt in attempts:
        if attempt.incidents is None:
            continue
        matching = match(attempt, settings)
        exposure = exposure_of(attempt, settings)
        if exposure is not None:
            total.quiet_days += exposure.quiet_days
            total.false_alarms += sum(one.first.kind is kind for one in matching.false_alarms)
        total.missed += sum(one.kind is kind for one in matching.missed)
        for found in matching.found:
            if found.incident.kind is kind:
                total.found += 1
                onset, time = found.incident.onset, found.alarm.first.time
                if onset is not None and time is not None:
                    total.delays.append((time - onset) / SECOND)
    return total


@dataclass(frozen=True, slots=True)
class Trial:
    """A combination of settings, what it did, and whether any alarms sooner than at present."""

    values: tuple[float, ...]
    tally: Tally
    is_eager: bool = False
    is_present: bool = False

    def keeps(self, budget: float) -> bool:
        """Whether it may be chosen: one that alarms sooner must have shown that it keeps to it.

        Acting on a healthy job is the worst that can happen, so few quiet days speak for caution.
        """
        return self.tally.keeps(budget, surely=self.is_eager)


def best(trials: Sequence[Trial], budget: float) -> Trial:
    """Return the trial that finds most, then soonest, of those that keep to the budget.

    The present one stays unless another is better; of equal ones the first stays. Where none keeps
    to the budget, it is the one with the fewest false alarms.

    Examples
    --------
    >>> slow = Trial((0.01,), Tally(0, 400.0, found=3, delays=[300.0]), is_present=True)
    >>> soon = Trial((0.10,), Tally(0, 400.0, found=3, delays=[155.0]), is_eager=True)
    >>> best([slow, soon], 0.01).values, best([slow, soon], 0.001).values
    ((0.1,), (0.01,))
    """
    keeping = [one for one in trials if one.keeps(budget)]
    if not keeping:
        cautious = [one for one in trials if not one.is_eager] or list(trials)
        return min(cautious, key=lambda one: (one.tally.false_alarms, not one.is_present))
    return max(keeping, key=_merit)


def _merit(trial: Trial) -> tuple[int, float, bool, int]:
    tally_ = trial.tally
    delay = float("inf") if tally_.delay is None else round(tally_.delay)
    return tally_.found, -delay, trial.is_present, -tally_.false_alarms
