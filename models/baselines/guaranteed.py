"""Guaranteed mode: the e-detector of metrics section 4, for streams of step times.

Its null: the samples of a stream are exchangeable with its calibration, apart from a slowdown of at
most `effect`. Under it, alarms are on average at least ``1 / alpha`` samples apart, whatever the
distribution. Samples that hang together in time (a daily cycle, another input) break the null as
far as they move by more than `effect`; bench `false-alarms` shows what is left then.

Source: E-detectors (arXiv:2203.03532); the conformal p-value with the DKW margin for a calibration
that is frozen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from relume.errors import InputError
from relume.models.baselines.compiled import compiled
from relume.models.baselines.draws import stream_key, uniform
from relume.models.baselines.packing import packed, unpacked
from relume.models.baselines.ranges import require_within

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

BETS = (0.15, 0.25, 0.35, 0.5, 0.7)
"""The exponents k: what is bet on how small p-values get."""
DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class GuaranteedSettings:
    """What is promised, and against which null.

    Attributes
    ----------
    alpha
        Share of samples at which there may be a false alarm; see `alpha_of`.
    calibration
        Samples that are kept, and then frozen: n.
    eta
        Probability that the calibration misleads by more than its margin.
    effect
        Effect gate: a slowdown below it is none.
    seed
        Of the draws that break ties.
    full_bets
        Whether bets pay what their stake is worth. No p-value is below the margin, so the bets of
        metrics section 4 return 0.45 to 0.96 of their stake on average when nothing is slow; paid
        in full they are still fair, the promise is the same, and alarms come a third sooner. Off,
        it is the form of metrics section 4 to the letter.

    Raises
    ------
    InputError
        For a value out of its range.
    """

    alpha: float
    calibration: int = 1000
    eta: float = 1e-3
    effect: float = 0.05
    seed: int = 0
    full_bets: bool = False

    def __post_init__(self) -> None:
        ranges = {"alpha": (0, 1), "calibration": (1, 2000), "eta": (0, 1), "effect": (-1e-9, 10)}
        require_within(self, "guaranteed", ranges)

    @property
    def margin(self) -> float:
        """What is added to every p-value for the calibration's own error."""
        return math.sqrt(math.log(1 / self.eta) / (2 * self.calibration))

    def odds(self) -> tuple[float, ...]:
        """What each bet pays; see `full_bets`.

        A true p-value u is uniform, and ours is at least max(u - d, margin) with d = 1 / (n + 1),
        which the division by n + 1 may take from it. So a bet k p^(k-1) returns at most
        1 - (1 - k) margin^k + d k margin^(k-1).

        Examples
        --------
        >>> [round(k, 2) for k in GuaranteedSettings(0.01).odds()]
        [0.15, 0.25, 0.35, 0.5, 0.7]
        >>> [round(k, 2) for k in GuaranteedSettings(0.01, full_bets=True).odds()]
        [0.34, 0.4, 0.46, 0.57, 0.73]
        """
        short, margin = 1 / (self.calibration + 1), min(1.0, self.margin)
        if not self.full_bets or margin == 0.0:
            return BETS
        returned = [
            min(1.0, 1 - (1 - bet) * margin**bet + short * bet * margin ** (bet - 1))
            for bet in BETS
        ]
        return tuple(bet / mean for bet, mean in zip(BETS, returned, strict=True))


def alpha_of(budget: float, sample_seconds: float, *, streams: int = 1) -> float:
    """Return the alpha that keeps a budget of false alarms per job-day.

    Parameters
    ----------
    budget
        False alarms per job-day that are accepted.
    sample_seconds
        Seconds from one sample to the next.
    streams
        Streams of one job that are watched side by side; they share the budget.

    Examples
    --------
    >>> round(1 / alpha_of(0.01, 5.0))
    1728000
    """
    return min(1.0, budget * sample_seconds / DAY_SECONDS / streams)


class _Numbers(NamedTuple):
    key: int
    threshold: float
    margin: float
    effect: float
    odds: tuple[float, float, float, float, float]


class _State(NamedTuple):
    """What is known of a stream; `counts` are samples of the calibration, and draws after it."""

    calibration: NDArray[np.float32]
    evidence: NDArray[np.float64]
    counts: NDArray[np.int64]


class EDetector:
    """The e-detector of one stream: one regime of one attempt. At most 8 KiB.

    Parameters
    ----------
    settings
        What is promised.
    attempt, stream
        Whose stream it is: they choose the draws.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> detector = EDetector(GuaranteedSettings(alpha_of(0.01, 5.0)), "lab/7@1.0", "train")
    >>> detector.take(5 + 0.1 * rng.standard_normal(5000)).tolist()
    []
    >>> detector.take(6 + 0.1 * rng.standard_normal(60)).tolist()[:1]
    [18]
    """

    def __init__(self, settings: GuaranteedSettings, attempt: str, stream: str) -> None:
        self.settings = settings
        self._numbers = _Numbers(
            stream_key(settings.seed, attempt, stream) >> 1,  # within a signed word
            1 / settings.alpha,
            settings.margin,
            settings.effect,
            cast("tuple[float, float, float, float, float]", settings.odds()),
        )
        self._state = _State(
            np.zeros(settings.calibration, np.float32),
            np.zeros(len(BETS), np.float64),
            np.zeros(2, np.int64),
        )

    @property
    def is_calibrated(self) -> bool:
        """Whether it has seen enough to judge."""
        return bool(self._state.counts[0] >= self.settings.calibration)

    @property
    def usual(self) -> float | None:
        """Median of the calibration; null as long as it isn't complete."""
        return float(np.median(self._state.calibration)) if self.is_calibrated else None

    @property
    def evidence(self) -> float:
        """What speaks for a slowdown by now: ``1 / alpha`` is an alarm."""
        return float(self._state.evidence.mean())

    def take(self, values: ArrayLike) -> NDArray[np.int64]:
        """Take samples in order; return the places of those that alarm. Each alarm starts anew.

        What isn't a number above zero is passed over: it is no time of a step.
        """
        samples = np.ascontiguousarray(values, np.float64)
        alarms = np.empty(len(samples), np.int64)
        count = _take(samples, self._state, self._numbers, alarms)
        return alarms[:count].copy()

    def save(self) -> bytes:
        """Return everything that is known, for `restore`."""
        return packed(**self._state._asdict())

    def restore(self, saved: bytes) -> None:
        """Go on from what was saved of the same stream under the same settings.

        Raises
        ------
        InputError
            When it can't be read, or its calibration has another size.
        """
        kept = _State(**unpacked(saved, _State._fields, "a detector"))
        if kept.calibration.shape != self._state.calibration.shape:
            raise InputError(
                "a detector can't be restored",
                found=f"a calibration of {kept.calibration.size} samples",
                expected=f"one of {self.settings.calibration}",
            )
        self._state = kept


@compiled
def _take(
    values: NDArray[np.float64], state: _State, numbers: _Numbers, alarms: NDArray[np.int64]
) -> int:
    calibration, evidence, counts = state
    size, found = len(calibration), 0
    for place in range(len(values)):
        value = values[place]
        if not 0.0 < value < np.inf:
            continue
        if counts[0] < size:
            calibration[counts[0]] = value
            counts[0] += 1
            if counts[0] == size:
                calibration.sort()
            continue
        draw = uniform(numbers.key, counts[1])
        counts[1] += 1
        gated = np.float32(value / (1.0 + numbers.effect))
        p = min(1.0, conformal_p(calibration, gated, draw) + numbers.margin)
        if _bet(evidence, p, numbers.odds) >= numbers.threshold:
            evidence[:] = 0.0
            alarms[found] = place
            found += 1
    return found


@compiled
def conformal_p(calibration: NDArray[np.float32], value: np.float32, draw: float) -> float:
    """Return the share of a sorted calibration that is above `value`, ties broken by `draw`."""
    size = len(calibration)
    below = np.searchsorted(calibration, value, side="left")
    not_above = np.searchsorted(calibration, value, side="right")
    return (size - not_above + draw * (not_above - below + 1)) / (size + 1)


@compiled
def _bet(
    evidence: NDArray[np.float64], p: float, odds: tuple[float, float, float, float, float]
) -> float:
    """Put one more p-value into the evidence; return what it comes to."""
    total = 0.0
    for number in range(len(BETS)):
        bet = BETS[number]
        evidence[number] = (evidence[number] + 1.0) * odds[number] * p ** (bet - 1.0)
        total += evidence[number]
    return total / len(BETS)
