"""When a job counts as slow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from relume.models.baselines.ranges import require_within

if TYPE_CHECKING:
    from relume.models.baselines.series import BaselineSettings


@dataclass(frozen=True, slots=True)
class StragglerSettings:
    """Thresholds of the straggler detector.

    Attributes
    ----------
    budget
        False alarms per job-day that are accepted of the guaranteed mode. Less makes alarms later:
        a tenth of it costs two steps.
    effect
        Effect gate: what is slower by less than this share of the calibration isn't slow.
    calibration
        Steps that calibrate the guaranteed mode, and are then frozen. Fewer are done sooner and
        prove less a step: with n = 100 a slowdown takes three times as many steps.
    eta
        Probability that a calibration misleads by more than its margin.
    full_bets
        Whether the bets of the guaranteed mode pay in full; see `GuaranteedSettings`.
    fast_blocks, fast_threshold
        The fast mode: medians of five steps that calibrate it, and the sum of readings (spreads of
        the calibration beyond the gate) that is a suspicion. One block may reach it alone.
    warm_up
        Steps after a start that no stream sees: compilation, autotuning, the first batches.
    seed
        Of the draws that break ties.

    Raises
    ------
    InputError
        For a value out of its range.
    """

    budget: float = 0.01
    effect: float = 0.05
    calibration: int = 1000
    eta: float = 1e-3
    full_bets: bool = True
    fast_blocks: int = 20
    fast_threshold: float = 7.0
    warm_up: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        ranges = {
            "budget": (0, 100),
            "effect": (-1e-9, 10),
            "calibration": (1, 2000),
            "eta": (0, 1),
            "fast_blocks": (1, 60_000),
            "fast_threshold": (0, 1e6),
            "warm_up": (-1, 1e6),
        }
        require_within(self, "straggler", ranges)

    def fast(self) -> BaselineSettings:
        """Settings of the fast mode's baseline."""
        from relume.models.baselines.series import BaselineSettings  # noqa: PLC0415 - numpy

        return BaselineSettings(
            calibration_blocks=self.fast_blocks,
            effect=self.effect,
            threshold=self.fast_threshold,
            reading_cap=self.fast_threshold,
        )
