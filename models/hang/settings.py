"""Thresholds of the hang detector, and how they follow from the accepted false alarms."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

from relume.errors import InputError

DEFAULT_BUDGET = 0.01
"""False alarms a job-day that are accepted where nobody says otherwise."""
_SAVE_SECONDS, _SAVE_SPREAD = 30.0, 0.8
"""What is taken for granted of a save that nobody announced: half a minute in the middle, and the
standard deviation of the logarithm."""
_LEAST_BUDGET = 1e-6
"""False alarms a job-day: one in a million days is none."""
_ROUNDED = 0.05
"""What rounding to a tenth of a second may take off a wait."""
_SHARE_OF_BUDGET = 0.2
"""A first pause longer than `HangSettings.unknown_seconds` may cost so much of the budget."""


@dataclass(frozen=True, slots=True)
class HangSettings:
    """Thresholds, all in seconds but for counts and ratios; `of_budget` makes them.

    Attributes
    ----------
    suspicion_seconds, suspicion_gaps
        Suspicion when a silence exceeds both this and so many times the usual gap.
    suspicions_per_day
        How often in a day a suspicion may turn out to be nothing; beyond it only a silence longer
        than all before is one.
    actionable_seconds, actionable_ratio
        Actionable when it exceeds both this and this multiple of the longest gap ever seen in the
        phase, by the attempt or by its family. Counts only where the pauses of the job are known.
    few_ratio
        The ratio while fewer than `few_gaps` gaps of about that length were seen.
    unknown_seconds, unknown_gaps
        The least actionable silence where they are not known, and the same in usual gaps (up to
        `phase_seconds`): the first save or evaluation that says nothing of itself must not be
        taken for a hang.
    known_seconds
        An attempt that trained for so long knows its own pauses: those of a day have come.
    covered_ratio
        The pauses of a family are known up to so many times as long as one of it has trained.
    few_gaps, few_steps, few_seconds
        With fewer gaps and fewer steps than these nothing is known of a job's pace, and the least
        actionable silence is the latter: it may print a step every ten minutes. With as many steps
        but fewer gaps (they were there when it was first looked at, or come in lumps) the time up
        to the first ones counts as a gap.
    startup_seconds, startup_known_seconds
        Silence before the first step that is suspected: where nothing is known of the family's
        start-ups, and at least, beside `actionable_ratio` times the longest of them.
    startup_actionable_seconds, startup_ratio
        What is actionable before the first step, at least, and in the longest start-ups of the
        family; only where `few_gaps` of them are known. Loading and compiling can take arbitrarily
        long, and a restart loads more than a first start.
    unsure_seconds
        What counts as quiet after a failure line while the pace isn't known, or before the first
        step; and the first suspicion in an announced phase of which no gap is known.
    phase_seconds
        The least silence that is actionable in a phase with legal pauses (evaluation, checkpoint,
        teardown) of which no gap was seen yet; and the most that attempts of another size or
        framework may add to the patience.
    talking_seconds
        The least time without a step that is actionable while the log goes on with other lines, or
        another source says that the job works: an evaluation, a download.
    agreed_seconds
        For how long a second signal must agree with a suspicion. Where the job's pauses are not
        known, the silence must have lasted `actionable_seconds`, too.
    """

    suspicion_seconds: float = 30.0
    suspicion_gaps: float = 3.0
    suspicions_per_day: float = 24.0
    actionable_seconds: float = 90.0
    actionable_ratio: float = 1.5
    few_ratio: float = 2.0
    unknown_seconds: float = 300.0
    unknown_gaps: float = 20.0
    known_seconds: float = 86400.0
    covered_ratio: float = 1.25
    few_gaps: int = 3
    few_steps: int = 10
    few_seconds: float = 1800.0
    startup_seconds: float = 1800.0
    startup_known_seconds: float = 300.0
    startup_actionable_seconds: float = 1800.0
    startup_ratio: float = 3.0
    unsure_seconds: float = 300.0
    phase_seconds: float = 3600.0
    talking_seconds: float = 1800.0
    agreed_seconds: float = 5.0

    @classmethod
    def of_budget(
        cls, false_alarms_per_job_day: float = DEFAULT_BUDGET, **changes: float
    ) -> HangSettings:
        """Return the settings that keep to a budget, with `changes` of your own.

        A job of which nothing is known may save without a word. Saves of half of the jobs do, and
        the wait is such that one in a day's budget is longer: 300 s for 0.01 a job-day, 510 s for
        0.001, 155 s for 0.1. What is learned from earlier attempts needs no such guess.

        Raises
        ------
        InputError
            For a budget that isn't between 0 and 1.

        Examples
        --------
        >>> [round(HangSettings.of_budget(one).unknown_seconds) for one in (0.1, 0.01, 0.001)]
        [155, 300, 509]
        """
        if not 0.0 < false_alarms_per_job_day <= 1.0:
            raise InputError(
                "accepted false alarms of the hang detector",
                found=f"{false_alarms_per_job_day} a job-day",
                expected="more than 0, and at most 1",
            )
        tail = _SHARE_OF_BUDGET * false_alarms_per_job_day
        wait = _SAVE_SECONDS * math.exp(_SAVE_SPREAD * NormalDist().inv_cdf(1.0 - tail))
        return replace(cls(unknown_seconds=round(wait, 1)), **changes)  # type: ignore[arg-type]


def budget_for(seconds: float) -> float | None:
    """Return the largest budget by which a job of unknown pauses may be silent for so long.

    Rounded down to two digits; null where the longest wait of any budget is shorter, or even the
    largest budget waits longer.

    Examples
    --------
    >>> budget_for(300.0), HangSettings.of_budget(0.0099).unknown_seconds >= 300.0
    (0.0099, True)
    """
    if seconds <= HangSettings.of_budget(1.0).unknown_seconds:
        return None
    above = math.log((seconds + _ROUNDED) / _SAVE_SECONDS) / _SAVE_SPREAD
    budget = NormalDist().cdf(-above) / _SHARE_OF_BUDGET
    if budget < _LEAST_BUDGET:
        return None
    digit = 10.0 ** (math.floor(math.log10(budget)) - 1)
    return float(f"{math.floor(budget / digit) * digit:.2g}")
