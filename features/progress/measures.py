"""Turn kept samples into one series of paces, by the best measure that the printer offers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

from relume.features.progress.samples import Sample
from relume.features.progress.series import Series

WARM_UP_STEPS: Final = 5
"""Steps after a start that make no baseline: compilation, autotuning, the first batches."""
DISPATCH_STEP: Final = 2
"""Steps up to this number always go: dispatch without waiting makes some impossibly fast."""
RUN_BEGINS: Final = 20
"""A log that begins with a later step than this shows a run under way, or one that was resumed."""
WARM_UP_SAMPLES: Final = 8
"""Fewer samples than this are too precious to drop by their number."""
AMBIGUOUS_FORMATS: Final = frozenset({"generic", "generic_epochs"})
"""Formats whose printed time may be the clock of the job."""
EPOCH_FORMATS: Final = frozenset({"generic_epochs", "fastai", "ignite"})
"""Formats whose steps are whole epochs."""
_SLOWER: Final = 1.2
_MIN_CUMULATIVE: Final = 4
_MAX_GROWTH: Final = 3.0
_EVEN_GROWTH: Final = 1.3

_Reader = Callable[[Sample], float | None]


@dataclass(frozen=True, slots=True)
class Paces:
    """What each kept stretch took per step, in order, in seconds or (`rate`) in relative units."""

    measure: str
    """``printed``, ``rate``, ``bar`` (the bar's clock), ``clock`` (time stamps, job clocks) or
    ``epoch`` (printed times of whole epochs)."""
    values: tuple[float, ...]
    samples: tuple[Sample, ...]

    def since(self, start: int) -> Paces:
        """Return the series without its first `start` members."""
        return Paces(self.measure, self.values[start:], self.samples[start:])


def _printed(sample: Sample) -> float | None:
    return sample.printed_seconds


def _per_rate(sample: Sample) -> float | None:
    return 1.0 / sample.rate if sample.rate else None


def _elapsed(sample: Sample) -> float | None:
    return sample.elapsed_delta


def _clock(sample: Sample) -> float | None:
    return sample.clock_delta


_MEASURES: Final[tuple[tuple[str, _Reader], ...]] = (
    ("printed", _printed),
    ("rate", _per_rate),
    ("clock", _elapsed),
    ("clock", _clock),
)
_BAR_MEASURES: Final[tuple[tuple[str, _Reader], ...]] = (("printed", _printed), ("bar", _elapsed))


def paces_of(series: Series) -> Paces | None:
    """Return the series by the first measure that most of its usable samples have."""
    samples = _usable(series)
    for measure, read in _BAR_MEASURES if series.is_bar else _MEASURES:
        paces = _collect(measure, read, samples)
        if len(paces.values) >= max(2, len(samples) // 2):
            is_clock = series.format in AMBIGUOUS_FORMATS and _is_cumulative(paces)
            return _by_difference(paces) if is_clock else _of_epochs(paces, series.format)
    return None


def _of_epochs(paces: Paces, format_id: str) -> Paces:
    if paces.measure != "printed" or format_id not in EPOCH_FORMATS:
        return paces
    return Paces("epoch", paces.values, paces.samples)


def rates_beside(series: Series) -> Paces | None:
    """Return the rates printed beside printed times, null unless nearly every line has both."""
    samples = _usable(series)
    both = [s for s in samples if s.printed_seconds is not None and s.rate]
    return _collect("rate", _per_rate, both) if both and len(both) * 5 >= len(samples) * 4 else None


def skip_warm_up(paces: Paces) -> Paces:
    """Leave out the first steps: by number where the run begins, else the first two if slower."""
    count, values, samples = len(paces.values), paces.values, paces.samples
    start = 0
    is_epoch = paces.measure == "epoch"
    while not is_epoch and start < count and samples[start].step <= DISPATCH_STEP:
        start += 1
    if not is_epoch and count >= WARM_UP_SAMPLES and samples[0].step < RUN_BEGINS:
        end = samples[0].step + WARM_UP_STEPS
        while start < count // 4 and samples[start].step < end:
            start += 1
    for _ in range(2):
        rest = values[start + 1 :]
        if start < 2 <= len(rest) and values[start] > _SLOWER * median(rest):  # noqa: PLR2004
            start += 1
    return paces.since(start)


def step_seconds(series: Series) -> float | None:
    """Return the median seconds of one step after the warm-up, null when nothing tells them."""
    paces = paces_of(series)
    if paces is not None and paces.measure != "rate":
        values = skip_warm_up(paces).values or paces.values
        if values:
            return median(values)
    known = [seconds_of(sample, is_bar=series.is_bar) for sample in _usable(series)]
    seconds = [value for value in known if value is not None]
    return median(seconds) if seconds else None


def seconds_of(sample: Sample, *, is_bar: bool) -> float | None:
    """Return the seconds per step of one sample, null when nothing tells them."""
    clock = None if is_bar else sample.clock_delta
    for value in (sample.printed_seconds, sample.elapsed_delta, clock):
        if value is not None and value > 0.0:
            return value
    return None


def _usable(series: Series) -> list[Sample]:
    """Return the samples of the last segment that nothing else disturbed."""
    return [
        sample
        for sample in series.kept.samples()
        if sample.segment == series.segment and not sample.disturbed
    ]


def _collect(measure: str, read: _Reader, samples: list[Sample]) -> Paces:
    pairs = [
        (value, sample)
        for sample in samples
        if (value := read(sample)) is not None and 0.0 < value < float("inf")
    ]
    return Paces(measure, tuple(value for value, _ in pairs), tuple(sample for _, sample in pairs))


def _is_cumulative(paces: Paces) -> bool:
    """Whether a printed ``time`` is the clock of the job rather than a step's.

    Such a clock only grows, by about the same from line to line, and has grown much since. It
    started at zero with the run, unless it grows so evenly that no step's time would.
    """
    values = paces.values
    if paces.measure != "printed" or len(values) < _MIN_CUMULATIVE:
        return False
    growth = [later - earlier for earlier, later in pairwise(values)]
    if min(growth) <= 0.0 or max(growth) > _MAX_GROWTH * median(growth):
        return False
    from_zero = values[0] <= max(1, paces.samples[0].step) * max(growth)
    if not from_zero and max(growth) > _EVEN_GROWTH * median(growth):
        return False
    return values[-1] - values[0] >= 0.5 * values[-1] * (1.0 - 1.0 / len(values))


def _by_difference(paces: Paces) -> Paces:
    pairs = [
        ((after - before) / sample.steps, sample)
        for (before, after), sample in zip(pairwise(paces.values), paces.samples[1:], strict=True)
        if sample.steps
    ]
    return Paces("clock", tuple(value for value, _ in pairs), tuple(sample for _, sample in pairs))
