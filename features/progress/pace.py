"""Judge a series of step times: shifts upward, irregular steps, steps spent waiting for input.

All gates are one-sided (faster is never a fault) and skip the first steps: compilation, autotuning
and the first batch make them 2 to 100 times slower everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from relume.features.progress.series import Sample

SIGMAS: Final = 6.0
"""Robust standard deviations of the calm part that a shift must exceed."""
SUSTAINED_RATIO: Final = 0.8
"""Share of the slow stretch that must lie above half the shift."""
SHARPNESS_RATIO: Final = 0.6
"""Share of the shift that must happen at once, within a few points: a drift is no shift."""
_EDGE: Final = 5
IRREGULAR_RATIO: Final = 0.3
"""Share of steps that must be slow for a run to be called irregular."""
IRREGULAR_TIMES: Final = 3.0
IRREGULAR_RUNS: Final = 3
"""Separate groups of slow steps: one long pause is no irregular run."""
IRREGULAR_FAST_SECONDS: Final = 1.0
"""Steps shorter than this vary by themselves."""
WAIT_RATIO: Final = 0.5
WAITING_RATIO: Final = 0.6
"""Share of the lines that must show it."""
WAIT_SECONDS: Final = 0.2
"""Waits shorter than this are not worth a word, whatever their share."""
DRIFT_TIMES: Final = 1.5
_MAD_TO_SIGMA: Final = 1.4826
_RANGE_TO_SIGMA: Final = (1.128, 1.693, 2.059, 2.326, 2.534, 2.704, 2.847, 2.970, 3.078)
"""Expected range of 2 to 10 normal draws in standard deviations (control-chart constant d2)."""
_MAX_SPLITS: Final = 80


@dataclass(frozen=True, slots=True)
class Gate:
    """How much a kind of measurement must show before a shift is believed."""

    ratio: float
    calm_points: int
    slow_points: int


GATES: Final[dict[str, tuple[Gate, ...]]] = {
    "printed": (Gate(1.05, 3, 2),),
    "rate": (Gate(1.05, 3, 2),),
    # Time stamps hold whatever else happened between two lines.
    "clock": (Gate(1.5, 5, 4), Gate(3.0, 4, 3)),
    # Sequence lengths vary, and a bar's clock has whole seconds.
    "bar": (Gate(1.5, 6, 4), Gate(3.0, 3, 2)),
}
"""By measure; a larger shift needs fewer points."""


@dataclass(frozen=True, slots=True)
class Paces:
    """What each kept stretch took per step, in order, in seconds or (`rate`) in relative units."""

    measure: str
    """``printed``, ``rate``, ``bar`` or ``clock``."""
    values: tuple[float, ...]
    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A stretch of slow steps: the sample where a person would point, and the size of it."""

    at: Sample
    ratio: float
    calm: float
    slow: float


def noise(values: Sequence[float]) -> float:
    """Return a robust standard deviation: by the median deviation, by the range for few values.

    Of three values two are often equal by chance, so the larger of both estimates counts there.
    """
    middle = median(values)
    sigma = _MAD_TO_SIGMA * median([abs(value - middle) for value in values])
    if 2 <= len(values) <= len(_RANGE_TO_SIGMA) + 1:
        sigma = max(sigma, (max(values) - min(values)) / _RANGE_TO_SIGMA[len(values) - 2])
    return sigma


def skip_warm_up(paces: Paces) -> Paces:
    """Leave out the first steps: by number where the run begins, else the first two if slower.

    Steps 0 to 2 always go: dispatch without waiting makes some of them impossibly fast.
    """
    count, values, samples = len(paces.values), paces.values, paces.samples
    start = 0
    while start < count and samples[start].step <= 2:
        start += 1
    if count >= 8:
        first = samples[0].step
        while start < count // 4 and samples[start].step - first < 5:
            start += 1
    for _ in range(2):
        rest = values[start + 1 :]
        if start < 2 and len(rest) >= 2 and values[start] > 1.2 * median(rest):
            start += 1
    return Paces(paces.measure, values[start:], samples[start:])


def find_shift(paces: Paces, gate: Gate) -> Finding | None:
    """Find a sustained slower stretch at the end, null when there is none."""
    best: tuple[float, int] | None = None
    values = paces.values
    for split in _splits(len(values), gate):
        calm, slow = values[:split], values[split:]
        if _is_shift(calm, slow, gate):
            between = split * len(slow) * (median(slow) - median(calm)) ** 2
            if best is None or between > best[0]:
                best = between, split
    if best is None:
        return None
    calm = median(values[: best[1]])
    slow = median(values[best[1] :])
    return Finding(paces.samples[best[1]], slow / calm, calm, slow)


def _splits(count: int, gate: Gate) -> list[int]:
    """Return where a series may be cut; longer calm parts ask for longer slow ones."""
    splits = [
        split
        for split in range(gate.calm_points, count - gate.slow_points + 1)
        if count - split >= min(10, split // 3)
    ]
    stride = 1 + len(splits) // _MAX_SPLITS
    return splits[::-1][::stride]


def _is_shift(calm: Sequence[float], slow: Sequence[float], gate: Gate) -> bool:
    base = median(calm)
    # The spread of a few values is itself uncertain, so they must be exceeded by more.
    needed = max((gate.ratio - 1.0) * base, SIGMAS * (1.0 + 1.0 / len(calm)) * noise(calm))
    shift = median(slow) - base
    if shift < needed or median(slow[-3:]) - base < needed:
        return False
    step = median(slow[:_EDGE]) - median(calm[-_EDGE:])
    rare = sorted(calm)[-1 - len(calm) // 10]  # the calm part's own slow steps, such as checkpoints
    if step < SHARPNESS_RATIO * shift or median(slow) <= rare:
        return False
    half = base + needed / 2.0
    above = sum(value > half for value in slow)
    below = sum(value < half for value in calm)
    return above >= SUSTAINED_RATIO * len(slow) and below >= SUSTAINED_RATIO * len(calm)


def find_drift(paces: Paces) -> Finding | None:
    """Find steps that grew steadily to one and a half times, null when there is no such growth."""
    values = paces.values
    third = len(values) // 3
    if third < 3:
        return None
    first, second, last = values[:third], values[third:-third], values[-third:]
    calm, slow = median(first), median(last)
    if not calm < median(second) < slow or slow < DRIFT_TIMES * calm or min(last) <= max(first):
        return None
    start = len(values) - third
    while start > third and values[start - 1] > (calm + slow) / 2.0:
        start -= 1
    return Finding(paces.samples[start], slow / calm, calm, slow)


def find_irregular(steady: Paces, whole: Paces) -> Finding | None:
    """Find a run whose steps are slow again and again between fast ones, null when it is steady.

    `steady` is judged; the finding points at the first slow step of `whole`, warm-up included,
    for in such a run the first steps were slow for the same reason.
    """
    values = steady.values
    ordered = sorted(values)
    fast = median(ordered[: max(2, len(ordered) * 2 // 5)])
    is_slow = [value >= IRREGULAR_TIMES * fast for value in values]
    if sum(is_slow) < IRREGULAR_RATIO * len(values) or not fast > 0.0:
        return None
    runs = sum(now and not before for before, now in zip([False, *is_slow], is_slow, strict=False))
    slow = [sample for sample, flag in zip(steady.samples, is_slow, strict=True) if flag]
    if runs < IRREGULAR_RUNS or not (fast >= IRREGULAR_FAST_SECONDS or _waits_explain(slow)):
        return None
    typical = median([value for value, flag in zip(values, is_slow, strict=True) if flag])
    pairs = zip(whole.values, whole.samples, strict=True)
    first = next(sample for value, sample in pairs if value >= IRREGULAR_TIMES * fast)
    return Finding(first, typical / fast, fast, typical)


def _waits_explain(samples: Sequence[Sample]) -> bool:
    shares = [share for share in map(wait_share, samples) if share is not None]
    return len(shares) * 2 > len(samples) and median(shares) >= WAIT_RATIO


def wait_share(sample: Sample) -> float | None:
    """Return the share of a step that was spent waiting for input, null when it isn't printed.

    Some print the step's time without the wait: then the wait is compared with the larger of both.
    """
    wait = sample.data_seconds
    step = sample.printed_seconds
    if step is None:
        step = sample.elapsed_delta if sample.elapsed_delta is not None else sample.clock_delta
    if wait is None or step is None or wait < WAIT_SECONDS or max(wait, step) <= 0.0:
        return None if wait is None else 0.0
    return wait / max(wait, step)


def find_waiting(paces: Paces) -> Finding | None:
    """Find steps that mostly wait for input, and go on to, null when they do not.

    Waits that only ever get shorter are running means on their way down from a slow first batch.
    """
    waits = [sample.data_seconds for sample in paces.samples if sample.data_seconds is not None]
    shares = [(sample, share) for sample in paces.samples if (share := wait_share(sample)) is not None]
    # Two lines are enough when both come from well inside the run.
    if len(shares) < (2 if shares and shares[0][0].step >= 10 else 3):
        return _one_slower_wait(paces)
    falling = all(later <= earlier for earlier, later in zip(waits, waits[1:], strict=False))
    if falling and waits[-1] < 0.8 * waits[0]:
        return None
    late = [share for _, share in shares[len(shares) // 2 :]]
    waiting = [sample for sample, share in shares if share >= WAIT_RATIO]
    if median(late) < WAIT_RATIO or len(waiting) < WAITING_RATIO * len(shares):
        return None
    return Finding(waiting[0], 1.0, 0.0, median(waits))


def _one_slower_wait(paces: Paces) -> Finding | None:
    """Find a last printed pace twice the first, many steps later, that its wait accounts for."""
    if len(paces.samples) < 2:
        return None
    last, calm, slow = paces.samples[-1], paces.values[0], paces.values[-1]
    far_apart = last.step - paces.samples[0].step >= 100 or last.segment != paces.samples[0].segment
    if not far_apart or slow < 2.0 * calm or (wait_share(last) or 0.0) < WAIT_RATIO:
        return None
    return Finding(last, slow / calm, calm, slow)
