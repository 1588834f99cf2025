"""Precision, recall and F1 over incidents and alarms, never over samples (metrics section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from relume.models.scoring.intervals import Proportion
from relume.models.scoring.matching import Matching
from relume.verdict import Domain, Kind


@dataclass(slots=True)
class Detection:
    """What was found, missed and made up, of one kind, one domain or all.

    Examples
    --------
    >>> counts = Detection(true_positives=8, false_positives=2, misses=4)
    >>> counts.precision.value, round(counts.recall.value, 3), round(counts.f1, 3)
    (0.8, 0.667, 0.727)
    """

    true_positives: int = 0
    false_positives: int = 0
    misses: int = 0

    @property
    def incidents(self) -> int:
        """How many there were."""
        return self.true_positives + self.misses

    @property
    def precision(self) -> Proportion:
        """True alarms of all."""
        return Proportion(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> Proportion:
        """Found incidents of all."""
        return Proportion(self.true_positives, self.incidents)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of both; null when there is neither an incident nor an alarm.

        It is no share of anything, and so has no interval.
        """
        total = 2 * self.true_positives + self.misses + self.false_positives
        return 2 * self.true_positives / total if total else None


@dataclass(frozen=True, slots=True)
class Macro:
    """Means over the kinds that have a value; null when none has one. No interval."""

    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(slots=True)
class DetectionTable:
    """Counts by kind and by domain, and over all.

    An incident counts under its own kind and domain, a false alarm under those that it claimed.
    """

    all: Detection = field(default_factory=Detection)
    by_kind: dict[Kind, Detection] = field(default_factory=dict)
    by_domain: dict[Domain, Detection] = field(default_factory=dict)

    def add(self, matching: Matching) -> None:
        """Count one attempt."""
        for found in matching.found:
            for counts in self._counts(found.incident.kind, found.incident.domain):
                counts.true_positives += 1
        for missed in matching.missed:
            for counts in self._counts(missed.kind, missed.domain):
                counts.misses += 1
        for group in matching.false_alarms:
            for counts in self._counts(group.first.kind, group.alarms[-1].domain):
                counts.false_positives += 1

    def macro(self) -> Macro:
        """Return the means over kinds."""
        kinds = self.by_kind
        return Macro(
            precision=_mean({kind: one.precision.value for kind, one in kinds.items()}),
            recall=_mean({kind: one.recall.value for kind, one in kinds.items()}),
            f1=_mean({kind: one.f1 for kind, one in kinds.items()}),
        )

    def _counts(self, kind: Kind, domain: Domain | None) -> tuple[Detection, ...]:
        named = domain or Domain.UNKNOWN
        return (
            self.all,
            self.by_kind.setdefault(kind, Detection()),
            self.by_domain.setdefault(named, Detection()),
        )


def _mean(values: Mapping[Kind, float | None]) -> float | None:
    known = [values[kind] for kind in sorted(values)]
    numbers = [value for value in known if value is not None]
    return sum(numbers) / len(numbers) if numbers else None
