"""Tells when a frozen calibration no longer fits: ADWIN on the ratio to what was usual."""

from __future__ import annotations

import math

from river import drift

from relume.models.streaming.kept import dump, load


class StaleCalibration:
    """Says when the samples of a stream no longer are what they were at its calibration.

    That is no alarm: it says that a new calibration would be another one, so a regime may be
    declared over, and with it this object. Memory grows with the logarithm of the samples.

    Parameters
    ----------
    usual
        What the calibration takes for usual.
    confidence
        ADWIN's delta: the probability of a false finding at each look.
    effect
        A move below this share is none.

    Examples
    --------
    >>> stale = StaleCalibration(5.0)
    >>> for seconds in [5.0] * 500 + [5.5] * 500:
    ...     stale.take(seconds)
    >>> stale.is_stale, round(stale.ratio, 2)
    (True, 1.1)
    """

    def __init__(self, usual: float, *, confidence: float = 1e-6, effect: float = 0.02) -> None:
        self.usual = usual
        self.effect = effect
        self._window = drift.ADWIN(delta=confidence)
        self._has_moved = False
        self.is_stale = False

    @property
    def ratio(self) -> float:
        """Mean of what the window holds by now, as a share of what was usual."""
        return float(self._window.estimation)

    def take(self, value: float) -> None:
        """Take one sample; what isn't a number says nothing."""
        if not math.isfinite(value):
            return
        self._window.update(value / self.usual)
        # ADWIN sees the change first, and only then forgets what was before it.
        self._has_moved |= self._window.drift_detected
        self.is_stale |= self._has_moved and abs(self.ratio - 1) >= self.effect

    def save(self) -> bytes:
        """Return everything that is known, for `restore`."""
        return dump(self._window, self._has_moved, self.is_stale)

    def restore(self, saved: bytes) -> None:
        """Go on from what was saved of the same stream.

        Raises
        ------
        InputError
            When it can't be read.
        """
        self._window, self._has_moved, self.is_stale = load(saved, drift.ADWIN, bool, bool)
