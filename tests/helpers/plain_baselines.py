"""The baselines of one series, written for reading: what the kernels must agree with, bit for bit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from relume.models.baselines.kernels import CUSUM, HUGE, PAGE_HINKLEY
from relume.models.baselines.series import BLOCK, BaselineSettings


def stored(value: float) -> float:
    """What is left of a number that is kept in four bytes."""
    return float(np.float32(value))


@dataclass
class Plain:
    """One series. Arithmetic in 8 bytes, what is kept in 4."""

    settings: BaselineSettings
    worse: int = 1
    last_seen: int | None = None
    count: int = 0
    mean: float = 0.0
    variance: float = 0.0
    quantile: float = 0.0
    spread: float = 0.0
    block: list[float] = field(default_factory=list)
    medians: int = 0
    base: float = 0.0
    scale: float = 0.0
    cusum: float = 0.0
    page: float = 0.0

    def take(self, time: int, value: float) -> tuple[int, float] | None:
        """Take one sample; return kind and statistic of an alarm."""
        if self.last_seen is not None and time <= self.last_seen:
            return None
        self.last_seen = time
        if math.isnan(value) or abs(value) > HUGE:
            return None
        self.follow(value)
        self.block.append(stored(value))
        if len(self.block) < BLOCK:
            return None
        middle = float(np.median(self.block))
        self.block.clear()
        if self.medians < self.settings.calibration_blocks:
            self.calibrate(middle)
            return None
        return self.judge(middle)

    def follow(self, value: float) -> None:
        s = self.settings
        self.count += 1
        if self.count == 1:
            self.mean = self.quantile = stored(value)
            return
        weight = max(1 / self.count, s.memory)
        away = value - self.mean
        self.mean = stored(self.mean + weight * away)
        self.variance = stored((1 - weight) * (self.variance + weight * away * away))
        deviation = abs(value - self.quantile)
        step = weight * max(self.spread, s.noise_floor * abs(self.quantile) + 1e-12)
        up = value >= self.quantile
        self.quantile = stored(self.quantile + 2 * step * (s.quantile if up else s.quantile - 1))
        if self.count == 2:
            self.spread = stored(deviation)
        else:
            moved = self.spread + (step if deviation > self.spread else -step)
            self.spread = stored(max(0.0, moved))

    def calibrate(self, middle: float) -> None:
        self.medians += 1
        if self.medians == 1:
            self.base = stored(middle)
            return
        away = abs(middle - self.base)
        self.base = stored(self.base + (middle - self.base) / self.medians)
        self.scale = stored(self.scale + (away - self.scale) / (self.medians - 1))

    def judge(self, middle: float) -> tuple[int, float] | None:
        s = self.settings
        scale = max(1.2533 * self.scale, s.noise_floor * abs(self.base) + 1e-12)

        def summed(total: float, usual: float) -> float:
            excess = self.worse * (middle - usual) - s.effect * abs(usual)
            return max(0.0, total + min(excess / scale - s.slack, s.reading_cap))

        cusum, page = summed(self.cusum, self.base), summed(self.page, self.mean)
        kind = CUSUM * (cusum >= s.threshold) + PAGE_HINKLEY * (page >= s.threshold)
        if kind and s.calibrate_again:
            self.medians, self.base, self.scale = 0, 0.0, 0.0
        self.cusum, self.page = (0.0, 0.0) if kind else (stored(cusum), stored(page))
        return (kind, stored(max(cusum, page))) if kind else None
