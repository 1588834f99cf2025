"""Holds samples back until those before them can be expected to have come."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from relume.models.baselines.samples import Samples
from relume.models.baselines.series import NEVER


@dataclass(slots=True)
class Watermark:
    """Lets samples pass once the newest time seen is `lateness` past them; later ones are late.

    What passes doesn't depend on how the samples are cut into batches, nor on their order as long
    as none is late: a sample is late when it lies further than `lateness` behind the newest that
    came before it.

    Attributes
    ----------
    lateness
        Microseconds; with 0 everything passes at once.
    newest
        The newest time seen.
    late
        How many were late, and are lost.

    Examples
    --------
    >>> watermark = Watermark(lateness=10)
    >>> def batch(*times):
    ...     return Samples(np.zeros(len(times), int), np.array(times), np.ones(len(times)))
    >>> watermark.take(batch(100, 95)).times.tolist()
    []
    >>> watermark.take(batch(108, 80)).times.tolist(), watermark.late
    ([95], 1)
    """

    lateness: int = 0
    newest: int = NEVER
    late: int = 0
    held: Samples = field(default_factory=Samples.none)

    def take(self, samples: Samples) -> Samples:
        """Take samples in order of arrival and return those that pass."""
        times = samples.times
        if not len(times):
            return samples
        newest = np.maximum.accumulate(np.concatenate(([self.newest], times)))
        self.newest = int(newest[-1])
        if self.lateness == 0:
            return samples
        in_time = (newest[:-1] == NEVER) | (times > newest[:-1] - self.lateness)
        kept = int(np.count_nonzero(in_time))
        self.late += len(times) - kept
        if kept < len(times):
            samples = samples.chosen(in_time)
        return self._passed(samples)

    def advance(self, time: int) -> Samples:
        """Take the clock, which moves on though no sample comes; return what passes."""
        self.newest = max(self.newest, time)
        return self._passed(Samples.none())

    def _passed(self, samples: Samples) -> Samples:
        waiting = Samples.joined(self.held, samples)
        passes = waiting.times <= self.newest - self.lateness
        self.held = waiting.chosen(~passes)
        return waiting.chosen(passes)
