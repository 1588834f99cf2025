"""Properties of progress reading that hold for any text and any order of printers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from relume.features.progress.assess import ProgressAssessment, ProgressState, assess
from relume.features.progress.formats import FORMATS
from relume.features.progress.markers import MARKER_LOCATE, parse_marker
from relume.features.progress.parse import LOCATE, parse_located, parse_progress
from relume.features.progress.point import ProgressPoint
from relume.features.progress.tracker import ProgressTracker

EXAMPLES = [fmt.example for fmt in FORMATS]
anything = st.text(st.characters(exclude_categories=()), max_size=400)
seconds = st.floats(0.01, 1000.0)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """Return an example with a piece cut out, or text put in, or another one spliced onto it."""
    text = draw(st.sampled_from(EXAMPLES))
    start, end = sorted(draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    filling = draw(st.one_of(st.just(""), anything, st.sampled_from(EXAMPLES)))
    return text[:start] + filling + text[end:]


def judge(points: Sequence[ProgressPoint]) -> ProgressAssessment:
    tracker = ProgressTracker()
    for line, point in enumerate(points):
        tracker.add_point(point, line=line, file="log")
    return assess(tracker)


def steps(values: Sequence[float], first: int = 1000) -> list[ProgressPoint]:
    return [ProgressPoint("x", step=first + i, step_time_seconds=v) for i, v in enumerate(values)]


@given(st.one_of(anything, mutated()))
def test_no_text_raises(text: str) -> None:
    point = parse_progress(text)
    assert point is None or point.step is None or abs(point.step) < 10**18
    parse_marker(text)


@given(mutated())
def test_a_scanner_and_a_single_line_agree(text: str) -> None:
    if "\x1b" in text:
        return
    encodable = text.encode("utf-8", "replace").decode()
    located = [i for i, pattern in enumerate(LOCATE) if re.search(pattern, encodable)]
    # repr, for a NaN differs from itself.
    assert repr(parse_located(encodable, located)) == repr(parse_progress(encodable))
    marked = [i for i, pattern in enumerate(MARKER_LOCATE) if re.search(pattern, encodable)]
    assert (parse_marker(encodable) is None) or bool(marked)


@given(st.sampled_from(EXAMPLES), st.text("abc: []()#", max_size=12))
def test_a_prefix_never_changes_the_numbers(example: str, prefix: str) -> None:
    plain, prefixed = parse_progress(example), parse_progress(f"{prefix} {example}")
    assert plain is not None
    assert prefixed is not None
    assert (prefixed.step, prefixed.total) == (plain.step, plain.total)


@given(st.lists(seconds, min_size=1, max_size=40), st.data())
def test_ranks_that_repeat_or_lag_change_nothing(values: list[float], data: st.DataObject) -> None:
    points = steps(values)
    noisy: list[ProgressPoint] = []
    for number, point in enumerate(points):
        noisy.append(point)
        late = data.draw(st.lists(st.integers(max(0, number - 2), number), max_size=3))
        noisy.extend(points[i] for i in sorted(late, reverse=True))
    alone, together = judge(points), judge(noisy)
    assert (alone.state, alone.last_step, alone.restarts, alone.step_seconds) == (
        together.state,
        together.last_step,
        together.restarts,
        together.step_seconds,
    )


@given(st.lists(seconds, min_size=1, max_size=60))
def test_faster_is_never_slow(values: list[float]) -> None:
    assert judge(steps(sorted(values, reverse=True))).state is ProgressState.ADVANCING


@given(st.lists(seconds, min_size=3, max_size=60), st.integers(0, 60))
def test_the_slow_line_is_one_of_the_log(values: list[float], first: int) -> None:
    verdict = judge(steps(values, first))
    assert verdict.state.is_slow == (verdict.slow_line is not None)
    assert verdict.slow_line is None or 0 <= verdict.slow_line < len(values)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5), seconds), max_size=80))
def test_any_order_of_points_can_be_judged(raw: list[tuple[int, int, float]]) -> None:
    points = [
        ProgressPoint(
            f"format{kind % 3}",
            step=None if kind == 5 else step,
            total=40,
            epoch=float(kind),
            elapsed_seconds=value,
            rate=value,
            is_bar=kind % 2 == 0,
            epoch_bar=kind == 1,
        )
        for step, kind, value in raw
    ]
    verdict = judge(points)
    assert verdict.points <= len(points)
    assert judge(points) == verdict
