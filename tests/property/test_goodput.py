"""Whatever a backtest holds: each GPU-second of a run is in exactly one bucket."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relume.features.goodput.buckets import spans_of
from relume.features.goodput.cluster import by_run, ettr, ettr_speed, shares
from relume.serve.backtest.goodput import goodput_of
from relume.serve.backtest.hindsight import hindsight_of
from relume.serve.backtest.lived import Lives
from relume.serve.backtest.lives import lives_of
from relume.serve.backtest.results import AttemptResult, UnitResult
from relume.serve.backtest.steps import StepRow

SECOND = 1_000_000
STATES = (None, "COMPLETED", "FAILED", "CANCELLED by 7", "TIMEOUT", "PREEMPTED", "RUNNING", "odd")
TIMES = st.integers(-100, 5_000)
PRINTS = st.sampled_from([None, "a", "b"])


@st.composite
def results(draw: st.DrawFn, number: int) -> AttemptResult:
    rows = draw(st.lists(st.tuples(TIMES, st.integers(-5, 500), st.integers(-9, 99)), max_size=12))
    fields: dict[str, Any] = {
        name: draw(what)
        for name, what in (
            ("start", st.none() | TIMES),
            ("end", st.none() | TIMES | st.just(10**13)),
            ("nodes", st.none() | st.integers(1, 4)),
            ("gpus", st.none() | st.integers(0, 9)),
            ("eligible", st.none() | TIMES),
            ("state", st.sampled_from(STATES)),
            ("fingerprint", PRINTS),
            ("first_step", st.none() | st.integers(0, 9)),
            ("last_step", st.none() | st.integers(0, 99)),
            ("counts_lines", st.booleans()),
            ("run", st.sampled_from(["opus", "solo"])),
        )
    }
    for name in ("start", "end", "eligible"):
        fields[name] = None if fields[name] is None else fields[name] * SECOND
    return AttemptResult(
        attempt=f"lab/{number}@{number}.0",
        title="",
        advice=[],
        verdict=draw(st.sampled_from([None, {"kind": "crash", "domain": "hardware"}])),
        logs=1,
        missing=[],
        skipped={},
        steps=[StepRow(at * SECOND, step, pause * SECOND) for at, step, pause in rows],
        **fields,
    )


@st.composite
def lives(draw: st.DrawFn) -> Lives:
    found = [draw(results(number)) for number in range(draw(st.integers(0, 6)))]
    return lives_of([UnitResult("a unit", found)], is_live=draw(st.booleans()))


@given(lives())
@settings(max_examples=40)
def test_buckets_add_up_and_spans_cover_the_wall_clock_once(lived: Lives) -> None:
    spans = spans_of(*lived.frames())
    total = sum(shares(spans).values())
    assert total == pytest.approx(1, abs=1e-9) if len(spans) else total == 0
    for _, run in spans.group_by("run"):
        ordered = run.sort("begin")
        gaps = ordered.select((pl.col("begin") - pl.col("end").shift()).drop_nulls()).to_series()
        assert gaps.to_list() == [0] * len(gaps)
    for row in by_run(spans).iter_rows(named=True):
        assert row["ettr"] == pytest.approx(ettr(spans, row["run"]))
        assert row["ettr_speed"] == pytest.approx(ettr_speed(spans, row["run"]))
    goodput = goodput_of(lived, spans=spans)
    hindsight_of(lived, goodput, spans)
    assert goodput.held <= sum(goodput.gpu_hours.values()) + 1e-9
