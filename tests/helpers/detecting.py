"""Every detector of step times behind one form, for the suite that all of them must pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from relume.models.baselines.baselines import Baselines
from relume.models.baselines.guaranteed import EDetector, GuaranteedSettings, alpha_of
from relume.models.streaming.stale import StaleCalibration

SECOND = 1_000_000


class Detector(Protocol):
    """Takes step times of one stream in order, says at which of them it alarms."""

    def take(self, values: Sequence[float]) -> list[int]: ...
    def save(self) -> bytes: ...
    def restore(self, saved: bytes) -> None: ...


class Fast:
    """`Baselines` of one series."""

    def __init__(self) -> None:
        self.baselines, self.taken = Baselines(), 0

    def take(self, values: Sequence[float]) -> list[int]:
        first, self.taken = self.taken, self.taken + len(values)
        times = np.arange(first, self.taken) * SECOND
        found = self.baselines.update(np.zeros(len(values), int), times, values)
        return [int(time) // SECOND for time in found.times]

    def save(self) -> bytes:
        return self.taken.to_bytes(8, "little") + self.baselines.save()

    def restore(self, saved: bytes) -> None:
        self.taken = int.from_bytes(saved[:8], "little")
        self.baselines = Baselines.restore(saved[8:])


class Guaranteed:
    """`EDetector`."""

    def __init__(self) -> None:
        settings = GuaranteedSettings(alpha=alpha_of(0.01, 5.0))
        self.detector, self.taken = EDetector(settings, "lab/7@1.0", "train"), 0

    def take(self, values: Sequence[float]) -> list[int]:
        first, self.taken = self.taken, self.taken + len(values)
        return [first + int(place) for place in self.detector.take(values)]

    def save(self) -> bytes:
        return self.taken.to_bytes(8, "little") + self.detector.save()

    def restore(self, saved: bytes) -> None:
        self.taken = int.from_bytes(saved[:8], "little")
        self.detector.restore(saved[8:])


class Stale:
    """`StaleCalibration` of a stream whose steps take five seconds."""

    def __init__(self) -> None:
        self.detector, self.taken = StaleCalibration(5.0), 0

    def take(self, values: Sequence[float]) -> list[int]:
        found = []
        for value in values:
            was_stale = self.detector.is_stale
            self.detector.take(value)
            if self.detector.is_stale and not was_stale:
                found.append(self.taken)
            self.taken += 1
        return found

    def save(self) -> bytes:
        return self.taken.to_bytes(8, "little") + self.detector.save()

    def restore(self, saved: bytes) -> None:
        self.taken = int.from_bytes(saved[:8], "little")
        self.detector.restore(saved[8:])


@dataclass(frozen=True)
class Kind:
    """One detector of the suite: how it is made, the most its state may take, its patience."""

    name: str
    make: Callable[[], Detector]
    most_bytes: int
    within: int


KINDS = (
    Kind("fast", Fast, 4096, 20),
    Kind("guaranteed", Guaranteed, 8192, 20),
    Kind("stale calibration", Stale, 16384, 400),
)
