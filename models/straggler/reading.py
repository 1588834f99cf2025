"""Step times from what a printer shows, by the measure that tells most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relume.features.progress.markers import Phase
from relume.features.progress.measures import AMBIGUOUS_FORMATS
from relume.models.straggler.steps import StepTime

if TYPE_CHECKING:
    from relume.features.progress.samples import Sample
    from relume.features.progress.series import Series


def step_time(series: Series, sample: Sample, time: int | None = None) -> StepTime | None:
    """Return what a stretch of steps says of the pace; null when that is nothing.

    A printed time of a step tells most; then a printed rate, the printer's own clock, and the clock
    of its lines, which holds whatever else happened between two of them. Of a bar the rate isn't
    taken: it is smoothed. A printed time that may be the clock of the job isn't either.

    Parameters
    ----------
    series, sample
        The printer, and the stretch that its newest line closed.
    time
        When that line was printed, UTC microseconds; null without a clock.

    Examples
    --------
    >>> from relume.features.progress.samples import Sample
    >>> from relume.features.progress.series import Series
    >>> megatron = Series("megatron", "train", is_bar=False)
    >>> step = step_time(megatron, Sample(20, steps=10, printed_seconds=4.5, rate=64.0))
    >>> step.value, step.trust, step.span_seconds, step.work
    (4.5, 4, 45.0, 288.0)
    """
    if series.phase != Phase.TRAIN or sample.steps <= 0:
        return None
    printed = None if series.format in AMBIGUOUS_FORMATS else sample.printed_seconds
    rate = None if series.is_bar else sample.rate
    clocks = (sample.elapsed_delta, None if series.is_bar else sample.clock_delta)
    measures = (printed, 1.0 / rate if rate else None, *clocks)
    known = [
        (value, len(measures) - number)
        for number, value in enumerate(measures)
        if value is not None and 0.0 < value < float("inf")
    ]
    if not known:
        return None
    value, trust = known[0]
    seconds = next((one for one in (printed, *clocks) if one is not None and one > 0.0), None)
    return StepTime(
        value=value,
        trust=trust,
        span_seconds=None if seconds is None else seconds * sample.steps,
        work=printed * rate if printed is not None and rate is not None else None,
        wait_seconds=sample.data_seconds if printed is not None else None,
        run=series.restarts,
        disturbed=sample.disturbed,
        step=sample.step,
        line=sample.line,
        file=sample.file,
        time=time,
    )
