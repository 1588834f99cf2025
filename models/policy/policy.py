"""The site's limits, and three sets of them to begin with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from relume.advice import Operation


class Preset(StrEnum):
    """How much is done without a person."""

    CAUTIOUS = "cautious"
    STANDARD = "standard"
    AGGRESSIVE = "aggressive"


@dataclass(frozen=True, slots=True)
class Policy:
    """The site's limits; a job's comment may only tighten them.

    Attributes
    ----------
    max_restarts
        Restarts of one run that count as tries; a try that made progress does not count.
    window_restarts, window_seconds
        Tries within so many seconds: a limit for runs that get many; null for none.
    identical_failures
        The n-th failure in a row with one fingerprint and no progress stops the run.
    exclusion_cap
        Nodes that may be excluded for one job.
    partition_cap
        Share of a partition's nodes that may be excluded at once, over all jobs.
    breaker_jobs, breaker_share
        So many jobs, and such a share of those that run, failing together are one incident of the
        cluster: they are held instead of restarted into it.
    breaker_seconds
        Within how long they fail together.
    useful_seconds
        What a restart has to get done before the job's time is over, else it isn't worth it.
    hold_seconds
        How long a HOLD lasts before the job is let go.
    advice_seconds
        How long other Advice may be carried out.
    numeric
        What comes of a numeric failure: OBSERVE, HOLD or STOP.
    """

    max_restarts: int = 3
    window_restarts: int | None = None
    window_seconds: int = 86_400
    identical_failures: int = 2
    exclusion_cap: int = 2
    partition_cap: float = 0.05
    breaker_jobs: int = 5
    breaker_share: float = 0.25
    breaker_seconds: float = 600.0
    useful_seconds: float = 600.0
    hold_seconds: int = 1800
    advice_seconds: int = 3600
    numeric: Operation = Operation.OBSERVE

    @classmethod
    def of(cls, preset: Preset) -> Self:
        """Return the limits of a preset.

        Examples
        --------
        >>> [Policy.of(preset).max_restarts for preset in Preset]
        [1, 3, 8]
        """
        if preset is Preset.CAUTIOUS:
            return cls(
                max_restarts=1,
                exclusion_cap=1,
                partition_cap=0.02,
                breaker_jobs=3,
                breaker_share=0.1,
                useful_seconds=3600.0,
                hold_seconds=3600,
                numeric=Operation.HOLD,
            )
        if preset is Preset.AGGRESSIVE:
            return cls(
                max_restarts=8,
                window_restarts=4,
                exclusion_cap=4,
                partition_cap=0.1,
                breaker_jobs=10,
                breaker_share=0.5,
                useful_seconds=60.0,
                hold_seconds=900,
            )
        return cls()
