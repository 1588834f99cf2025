"""Fit the table of confidence: weights with fixed signs, by penalised likelihood.

Weights of failure lines come from generated attempts only, those of findings without a line from
recorded cases only: the two are never pooled. Offline; nothing of it runs when attempts are judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from relume.models.diagnosis.confidence import STRENGTHS, TIER_MARKS, WEAKNESSES, Table
from relume.models.scoring.intervals import wilson
from relume.verdict import Kind

PENALTY = 2.0
"""Of the squares of how far weights move from where they start, which is where they stay as long as
attempts say nothing of them: without it what was never wrong would be certain."""
STEP, WEAKNESS, STRENGTH = -0.25, -0.5, 0.25
"""Where the weights start, in log-odds: of one tier down, of a weakness, of a strength."""
PRIOR_CASES = 10.0
"""How many cases the value that a rule states itself is worth."""
_SURE_ODDS = 6.0
"""Most that a base of all weights is let be, in log-odds (0.9975)."""
_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Observation:
    """One labelled attempt: what the verdict rested on, and whether its kind was right.

    `marks` are null for a finding that no line shows; `stated` is what its own rule says then.
    `group` keeps attempts together that are no independent evidence.
    """

    group: str
    right: bool
    kind: Kind
    marks: tuple[str, ...] | None
    stated: float
    factor: float = 1.0
    """What the doubts left of the confidence."""

    def confidence(self, table: Table) -> float:
        """Return the confidence by `table`."""
        if self.marks is None:
            return table.of_finding(self.kind, self.stated) * self.factor
        return table.of_line(self.marks) * self.factor


def fit(simulated: Iterable[Observation], recorded: Iterable[Observation]) -> Table:
    """Return the table that fits best; each part learns from its own observations only.

    Nothing is claimed to be surer than the lower end of the 95 % interval of what was right among
    the recorded cases: forms that no rule was written for go wrong more often than those here.
    """
    lines = [one for one in simulated if one.marks is not None]
    cases = list(recorded)
    base, marks = _weights(lines)
    least = wilson(sum(one.right for one in cases), len(cases))[0] if cases else 1.0
    return Table(base, marks, _shifts(cases), round(least, 3))


def cross_fitted(
    asked: Sequence[Observation], others: Sequence[Observation], *, recorded: bool, folds: int = 5
) -> list[tuple[float, bool]]:
    """Return confidence and truth of each of `asked` by a table that was fitted without its group.

    `recorded` says which of the two sorts `asked` are; `others` are the other sort, used whole.
    """
    names = sorted({one.group for one in asked})
    fold_of = {name: index % folds for index, name in enumerate(names)}
    answers: list[tuple[float, bool]] = []
    for fold in range(folds):
        kept = [one for one in asked if fold_of[one.group] != fold]
        table = fit(others, kept) if recorded else fit(kept, others)
        left = [one for one in asked if fold_of[one.group] == fold]
        answers += [(one.confidence(table), one.right) for one in left]
    return answers


def _weights(lines: Sequence[Observation]) -> tuple[float, dict[str, float]]:
    """Return the base and the weight of each mark.

    A tier is the sum of the steps down to it, none of which goes up: the order stays.
    """
    names = (*TIER_MARKS[1:], *STRENGTHS, *WEAKNESSES)
    rows = np.array([_row(one.marks or ()) for one in lines]).reshape(len(lines), len(names) + 1)
    right = np.array([one.right for one in lines], dtype=np.float64)
    ups = [(0.0, None)] * len(STRENGTHS)
    downs = [(None, 0.0)] * (len(names) - len(STRENGTHS))
    tiers = len(TIER_MARKS) - 1
    bounds = [(0.0, _SURE_ODDS), *downs[:tiers], *ups, *downs[tiers:]]
    priors = dict.fromkeys(TIER_MARKS, STEP) | dict.fromkeys(STRENGTHS, STRENGTH)
    start = np.array([1.0, *(priors.get(name, WEAKNESS) for name in names)])

    def loss(weights: _Floats) -> tuple[float, _Floats]:
        odds = rows @ weights
        wrong = np.logaddexp(0.0, odds) - right * odds
        gap = 1.0 / (1.0 + np.exp(-odds)) - right
        moved = weights - start
        moved[0] = 0.0
        value = float(wrong.sum() + PENALTY * (moved**2).sum())
        return value, rows.T @ gap + 2.0 * PENALTY * moved

    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    steps = dict(zip(names, found[1:], strict=True))
    down, weights = 0.0, {TIER_MARKS[0]: 0.0}
    for name in names:
        if name in TIER_MARKS:
            down += steps[name]
        weights[name] = round(float(down if name in TIER_MARKS else steps[name]), 3) + 0.0
    return round(float(found[0]), 3), weights


def _row(marks: Sequence[str]) -> list[float]:
    """One observation as numbers: 1, how far down its tier is, and its other marks."""
    tier = max((TIER_MARKS.index(mark) for mark in marks if mark in TIER_MARKS), default=0)
    down = [float(place <= tier) for place in range(1, len(TIER_MARKS))]
    return [1.0, *down, *(float(name in marks) for name in (*STRENGTHS, *WEAKNESSES))]


def _shifts(cases: Sequence[Observation]) -> dict[str, tuple[float, float]]:
    """Return how sure findings without a line are at least, and how much surer they turn out."""
    shifts: dict[str, tuple[float, float]] = {}
    for kind in Kind:
        known = [one for one in cases if one.marks is None and one.kind is kind]
        if known:
            stated = sum(one.stated for one in known) / len(known)
            right = sum(one.right for one in known) + PRIOR_CASES * stated
            gain = _odds(right / (len(known) + PRIOR_CASES)) - _odds(stated)
            shifts[kind.value] = min(one.stated for one in known), round(gain, 3)
    return shifts


def _odds(share: float) -> float:
    return math.log(share / (1.0 - share))
