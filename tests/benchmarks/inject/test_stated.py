from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.benchmarks.inject.stated import slowed_line
from relume.features.progress import ProgressPoint, parse_progress
from relume.features.progress.formats import FORMATS, ProgressFormat

STATES = [
    one
    for one in FORMATS
    if (point := parse_progress(one.example)) and (point.step_time_seconds or point.rate)
]


def read(line: str) -> ProgressPoint:
    point = parse_progress(line)
    assert point is not None
    return point


@pytest.mark.parametrize("form", STATES, ids=lambda form: form.id)
@pytest.mark.parametrize("factor", [1.5, 4.0])
def test_what_a_line_states_is_as_much_slower(form: ProgressFormat, factor: float) -> None:
    before, after = read(form.example), read(slowed_line(form.example, factor))
    assert after.step == before.step
    if before.step_time_seconds:
        assert after.step_time_seconds == pytest.approx(before.step_time_seconds * factor, rel=0.05)
    if before.rate:
        assert after.rate == pytest.approx(before.rate / factor, rel=0.05)


@given(st.text(max_size=200), st.floats(1.01, 100))
def test_whatever_the_text_it_is_a_line_again(text: str, factor: float) -> None:
    assert slowed_line(text, factor).count("\n") == text.count("\n")
