"""Answers with a confidence, where silence is allowed: coverage and calibration (metrics 6)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from relume.models.scoring.intervals import Proportion

BINS = 10


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Coverage and selective accuracy when only answers of at least `confidence` are given."""

    confidence: float
    coverage: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class Bin:
    """One of the equal-mass bins: how sure its answers were, and how often they were right."""

    confidence: float
    right: float
    n: int


@dataclass(slots=True)
class Answers:
    """What was answered to one question, over all incidents that it can be asked about.

    Examples
    --------
    >>> answers = Answers()
    >>> answers.add(0.9, right=True)
    >>> answers.add(0.4, right=False)
    >>> answers.abstain()
    >>> answers.coverage, answers.selective_accuracy, answers.accuracy
    (Proportion(right=2, total=3), Proportion(right=1, total=2), Proportion(right=1, total=3))
    """

    given: list[tuple[float, bool]] = field(default_factory=list)
    abstained: int = 0

    def add(self, confidence: float, *, right: bool) -> None:
        """Count an answer."""
        self.given.append((confidence, right))

    def abstain(self) -> None:
        """Count a question without an answer."""
        self.abstained += 1

    @property
    def total(self) -> int:
        """How often it was asked."""
        return len(self.given) + self.abstained

    @property
    def right(self) -> int:
        """How often the answer was right."""
        return sum(right for _, right in self.given)

    @property
    def accuracy(self) -> Proportion:
        """Right answers of all; to abstain is not to be right."""
        return Proportion(self.right, self.total)

    @property
    def coverage(self) -> Proportion:
        """Answers of all."""
        return Proportion(len(self.given), self.total)

    @property
    def selective_accuracy(self) -> Proportion:
        """Right answers of those given."""
        return Proportion(self.right, len(self.given))

    def curve(self) -> list[CurvePoint]:
        """Return coverage against selective accuracy, the surest answers first."""
        points: list[CurvePoint] = []
        right = given = 0
        ordered = sorted(self.given, reverse=True)
        for confidence, equals in groupby(ordered, key=lambda answer: answer[0]):
            judged = [is_right for _, is_right in equals]
            right, given = right + sum(judged), given + len(judged)
            points.append(CurvePoint(confidence, given / self.total, right / given))
        return points


def reliability(answers: Iterable[tuple[float, bool]], bins: int = BINS) -> list[Bin]:
    """Return mean confidence and accuracy in bins of equal mass, the least sure first.

    Answers of equal confidence have no order: each counts with the accuracy of them all, so that a
    border among them changes nothing. With fewer answers than bins, each has its own.
    """
    ordered: list[tuple[float, float]] = []
    for confidence, equals in groupby(sorted(answers), key=lambda answer: answer[0]):
        judged = [right for _, right in equals]
        ordered += [(confidence, sum(judged) / len(judged))] * len(judged)
    borders = [len(ordered) * number // bins for number in range(bins + 1)]
    parts = [ordered[begin:end] for begin, end in pairwise(borders) if end > begin]
    return [
        Bin(
            confidence=math.fsum(confidence for confidence, _ in part) / len(part),
            right=math.fsum(right for _, right in part) / len(part),
            n=len(part),
        )
        for part in parts
    ]


def expected_calibration_error(answers: Iterable[tuple[float, bool]], bins: int = BINS) -> float:
    """Return the mean gap between confidence and accuracy over equal-mass bins; 0 of nothing.

    Examples
    --------
    >>> round(expected_calibration_error([(0.9, True), (0.9, False)]), 3)
    0.4
    """
    return calibration_error(reliability(answers, bins))


def calibration_error(table: Sequence[Bin]) -> float:
    """Return the expected calibration error of the bins that `reliability` made."""
    total = sum(part.n for part in table)
    return math.fsum(part.n / total * abs(part.right - part.confidence) for part in table)
