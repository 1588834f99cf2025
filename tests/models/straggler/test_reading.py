"""Step times from what a printer shows."""

from __future__ import annotations

from typing import Any

import pytest

from relume.features.progress.samples import Sample
from relume.features.progress.series import Series
from relume.models.straggler.reading import step_time


def read(series: Series, **known: Any) -> tuple[float, float | None] | None:
    step = step_time(series, Sample(20, **({"steps": 10} | known)))
    return None if step is None else (step.value, step.span_seconds)


LOG = Series("megatron", "train", is_bar=False)
BAR = Series("tqdm", "train", is_bar=True)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"printed_seconds": 4.5, "rate": 10.0, "clock_delta": 5.0}, (4.5, 45.0)),
        ({"rate": 0.25, "clock_delta": 5.0}, (4.0, 50.0)),
        ({"rate": 0.25}, (4.0, None)),
        ({"elapsed_delta": 4.2, "clock_delta": 5.0}, (4.2, 42.0)),
        ({"clock_delta": 5.0}, (5.0, 50.0)),
        ({}, None),
        ({"printed_seconds": float("nan"), "clock_delta": -1.0}, None),
        ({"printed_seconds": 0.0}, None),
        ({"printed_seconds": 4.5, "steps": 0}, None),
    ],
)
def test_the_measure_that_tells_most_comes_first(
    known: dict[str, Any], expected: tuple[float, float | None] | None
) -> None:
    assert read(LOG, **known) == expected


def test_the_smoothed_rate_of_a_bar_and_the_clocks_of_its_lines_tell_nothing() -> None:
    assert read(BAR, rate=0.25, clock_delta=5.0) is None
    assert read(BAR, rate=0.25, elapsed_delta=4.1) == (4.1, 41.0)


def test_a_printed_time_that_may_be_a_clock_is_not_taken() -> None:
    generic = Series("generic", "train", is_bar=False)
    assert read(generic, printed_seconds=900.0, clock_delta=5.0) == (5.0, 50.0)


def test_an_evaluation_is_no_training() -> None:
    assert read(Series("megatron", "evaluation", is_bar=False), printed_seconds=4.5) is None


def test_the_work_of_a_step_needs_both_numbers() -> None:
    both = step_time(LOG, Sample(20, steps=1, printed_seconds=4.0, rate=128.0))
    one = step_time(LOG, Sample(20, steps=1, printed_seconds=4.0))
    assert both is not None
    assert one is not None
    assert (both.work, one.work) == (512.0, None)
