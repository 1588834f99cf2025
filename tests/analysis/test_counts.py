"""Counts over judged attempts, and the pictures of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from relume.analysis import charts, counts
from relume.analysis.attempts import SCHEMA, frame_of
from scanning import make_scanned

if TYPE_CHECKING:
    from collections.abc import Callable

    import altair as alt


def attempt(job: int, restart: int = 0) -> str:
    return f"lab/{job}@{1767323045 + job}.{restart}"


@pytest.fixture
def attempts() -> pl.DataFrame:
    """Return three tries of one run that get no further, one that ended well, and another failure."""
    stuck = [
        make_scanned(attempt(1, n), text=f"KeyError: 'x' on rank {n}", last_step=40, run="a")
        for n in range(3)
    ]
    others = [
        make_scanned(attempt(2), text=None),
        make_scanned(attempt(3), text="ValueError: no batch", culprit="n2"),
    ]
    return frame_of([*stuck, *others])


def test_an_empty_lake_has_an_empty_frame_of_the_same_columns(attempts: pl.DataFrame) -> None:
    empty = frame_of([])
    assert empty.schema == attempts.schema == SCHEMA
    for count in (counts.per_day, counts.per_cause, counts.per_rule, counts.repeats):
        assert count(empty).height == 0
    assert counts.per_node(empty).height == 0


def test_failures_are_numbered_in_their_run(attempts: pl.DataFrame) -> None:
    told = attempts.sort("attempt").select("attempt", "failed", "in_a_row").rows()
    assert told == [
        (attempt(1, 0), True, 1),
        (attempt(1, 1), True, 2),
        (attempt(1, 2), True, 3),
        (attempt(2), False, None),
        (attempt(3), True, 1),
    ]
    assert counts.failures(attempts).height == 4


def test_repeats(attempts: pl.DataFrame) -> None:
    [repeat] = counts.repeats(attempts).to_dicts()
    assert (repeat["failures"], repeat["runs"], repeat["in_a_row"]) == (3, 1, 3)


def test_causes_and_rules(attempts: pl.DataFrame) -> None:
    [cause] = counts.per_cause(attempts).to_dicts()
    assert (cause["cause"], cause["failures"], cause["runs"], cause["advised"]) == (
        "some_cause",
        4,
        2,
        None,
    )
    [rule] = counts.per_rule(attempts).to_dicts()
    assert rule == {"rule": "r", "failures": 4, "confidence": pytest.approx(0.9)}


def test_nodes_are_blamed_by_verdicts_only(attempts: pl.DataFrame) -> None:
    assert counts.per_node(attempts).rows() == [("n2", 5, 4, 1, 0.8), ("n1", 5, 4, 0, 0.8)]


def test_a_day_has_a_row_for_each_domain(attempts: pl.DataFrame) -> None:
    day = pl.datetime(2026, 1, 2, time_zone="UTC", time_unit="us")
    dated = attempts.with_columns(end=pl.when("failed").then(day))
    assert counts.per_day(dated).select("domain", "failures").rows() == [("workload", 4)]
    assert counts.per_day(attempts)["day"].to_list() == [None]


PICTURES = [
    charts.failures_per_day,
    charts.top_causes,
    charts.blamed_nodes,
    charts.restart_chains,
]


@pytest.mark.parametrize("draw", PICTURES, ids=[draw.__name__ for draw in PICTURES])
def test_every_picture_is_a_chart_also_of_nothing(
    attempts: pl.DataFrame, draw: Callable[[pl.DataFrame], alt.Chart]
) -> None:
    for frame in (attempts, frame_of([])):
        document = draw(frame).to_dict()
        assert document["encoding"]["x"]
        assert "mark" in document
