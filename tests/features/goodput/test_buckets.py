from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.errors import InputError
from relume.features.goodput.buckets import (
    ATTEMPTS,
    INCIDENTS,
    SECOND,
    STEPS,
    Bucket,
    GoodputSettings,
    gpu_seconds,
    spans_of,
)
from relume.features.goodput.cluster import (
    IDLE,
    by_run,
    cluster_shares,
    ettr,
    ettr_speed,
    shares,
)


def attempts(*rows: tuple[Any, ...]) -> pl.DataFrame:
    """Rows of run, attempt, GPUs, eligible, start, end, failed; seconds."""
    in_micros = [
        (*row[:3], *(None if at is None else round(at * SECOND) for at in row[3:6]), row[6])
        for row in rows
    ]
    return pl.DataFrame(in_micros, ATTEMPTS, orient="row")


def steps(*rows: tuple[str, float, int] | tuple[str, float, int, float]) -> pl.DataFrame:
    full = [(*row, 0.0)[:4] for row in rows]
    in_micros = [(name, round(at * SECOND), step, round(p * SECOND)) for name, at, step, p in full]
    return pl.DataFrame(in_micros, STEPS, orient="row")


def every(name: str, begin: int, end: int, first: int = 1) -> pl.DataFrame:
    """One step a second."""
    return steps(*((name, at, first + at - begin) for at in range(begin, end + 1)))


def spent(spans: pl.DataFrame) -> dict[str, float]:
    return {str(bucket): seconds for bucket, seconds in gpu_seconds(spans).rows()}


def test_a_failed_attempt_and_the_next_one_share_nothing() -> None:
    rows = attempts(
        ("run", "run.0", 2, 0, 10, 200, True), ("run", "run.1", 2, 230, 240, 400, False)
    )
    done = pl.concat([every("run.0", 20, 100), every("run.1", 260, 380, first=61)])
    found = pl.DataFrame([("run.0", 110 * SECOND, 150 * SECOND)], INCIDENTS, orient="row")
    spans = spans_of(rows, done, found)
    assert spent(spans) == {
        "queue": 2 * (10 + 10),
        "restart": 2 * (10 + 20 + 20),
        "productive": 2 * (80 + 100),
        "recompute": 2 * (10 + 20),  # before the onset, and steps 62 to 81 again
        "detection": 2 * 40,
        "decision": 2 * (50 + 30),
    }
    assert ettr(spans, "run") == pytest.approx(180 / 400)
    assert ettr_speed(spans, "run") == 1


def test_slow_steps_lose_what_they_take_longer_than_usual() -> None:
    slow = [("run.0", 100 + 2 * number, 100 + number) for number in range(1, 21)]
    spans = spans_of(
        attempts(("run", "run.0", 1, 0, 0, 140, False)),
        pl.concat([every("run.0", 1, 100), steps(*slow)]),
    )
    assert spent(spans) == {"restart": 1, "productive": 99 + 20, "slow": 20}
    assert ettr_speed(spans, "run") == pytest.approx(119 / 139)


def test_less_than_the_effect_is_no_slowness() -> None:
    rows = [("run.0", 10.0 + 1.04 * number, number) for number in range(50)]
    rows += [("run.0", rows[-1][1] + number, 49 + number) for number in range(1, 200)]
    spans = spans_of(attempts(("run", "run.0", 1, 0, 0, 500, False)), steps(*rows))
    assert "slow" not in spent(spans)
    strict = spans_of(
        attempts(("run", "run.0", 1, 0, 0, 500, False)),
        steps(*rows),
        settings=GoodputSettings(effect=0.01),
    )
    assert spent(strict)["slow"] == pytest.approx(49 * 0.04)


def test_pauses_are_neither_slow_nor_lost() -> None:
    rows = [("run.0", at, at, 0.0) for at in range(1, 51)]
    rows += [("run.0", 111, 51, 60.0), ("run.0", 112, 52, 0.0)]
    spans = spans_of(attempts(("run", "run.0", 1, 0, 0, 112, False)), steps(*rows))
    assert spent(spans) == {"restart": 1, "productive": 51, "pause": 60}


def test_where_no_step_was_recorded_the_published_rule_is_used_and_said() -> None:
    rows = attempts(
        ("bad", "bad.0", 4, 0, 0, 3_000, True),
        ("short", "short.0", 4, 0, 0, 600, True),
        ("good", "good.0", 4, 0, 0, 3_000, False),
    )
    spans = spans_of(rows, STEPS.to_frame())
    assert spans["estimated"].all()
    by_run = {run: spent(spans.filter(run=run)) for run in ("bad", "short", "good")}
    assert by_run == {
        "bad": {"productive": 4 * 1_200, "recompute": 4 * 1_800},
        "short": {"recompute": 4 * 600},
        "good": {"productive": 4 * 3_000},
    }


@pytest.mark.parametrize(
    "rows",
    [
        [("run", "a", 1, 0, 0, 10, True), ("run", "b", 1, 0, 5, 20, True)],
        [("run", "a", 1, 0, 10, 5, True)],
        [("run", "a", 0, 0, 1, 5, True)],
    ],
)
def test_attempts_that_make_no_sense_are_refused(rows: list[tuple[Any, ...]]) -> None:
    with pytest.raises(InputError, match="one after the other"):
        spans_of(attempts(*rows), STEPS.to_frame())


TIMES = st.lists(st.integers(0, 10_000), min_size=3, max_size=12, unique=True).map(sorted)


@st.composite
def runs(draw: st.DrawFn) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    rows, done, found = [], [], []
    for run in ("a", "b"):
        times = draw(TIMES)
        for number in range(len(times) // 3):
            eligible, start, end = times[3 * number : 3 * number + 3]
            name = f"{run}.{number}"
            known = draw(st.booleans())
            rows.append(
                (run, name, 8, eligible if known else None, start, end, draw(st.booleans()))
            )
            for _ in range(draw(st.integers(0, 6))):
                at = draw(st.integers(start - 10, end + 10))
                done.append((name, at, draw(st.integers(0, 50)), draw(st.integers(0, 100))))
            if draw(st.booleans()):
                alarm = draw(st.none() | st.integers(start - 10, end + 10))
                found.append((name, draw(st.integers(start - 10, end + 10)), alarm))
    return (
        pl.DataFrame(rows, ATTEMPTS, orient="row"),
        pl.DataFrame(done, STEPS, orient="row"),
        pl.DataFrame(found, INCIDENTS, orient="row"),
    )


@given(runs(), st.randoms(use_true_random=False))
def test_spans_cover_every_run_once_whatever_was_recorded(
    recorded: tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame], random: Any
) -> None:
    rows, done, found = recorded
    spans = spans_of(rows, done, found)
    for run, parts in spans.group_by("run"):
        ordered = parts.sort("begin")
        assert ordered["begin"].to_list()[1:] == ordered["end"].to_list()[:-1]
        own = rows.filter(run=run[0])
        first = own.sort("start").row(0, named=True)
        begin = first["start"] if first["eligible"] is None else first["eligible"]
        assert (ordered["begin"][0], ordered["end"][-1]) == (begin, own["end"].max())
    if len(spans):
        assert sum(shares(spans).values()) == pytest.approx(1, abs=1e-9)
        assert sum(cluster_shares(spans, 16, 0, 12_000).values()) == pytest.approx(1, abs=1e-9)
    order = list(range(len(rows)))
    random.shuffle(order)
    again = spans_of(rows[order], done.reverse(), found.reverse())
    if len(done.unique(["attempt", "at"])) == len(done):
        assert again.equals(spans)


def test_a_cluster_idles_only_where_nobody_waits() -> None:
    rows = attempts(("a", "a.0", 6, 0, 0, 100, False), ("b", "b.0", 4, 0, 50, 100, False))
    spans = spans_of(rows, STEPS.to_frame())
    found = cluster_shares(spans, 10, 0, 100 * SECOND)
    assert found["queue"] == pytest.approx(4 * 50 / 1000)
    assert found[IDLE] == 0
    smaller = cluster_shares(spans, 12, 0, 200 * SECOND)
    assert smaller["queue"] == pytest.approx(4 * 50 / 2400)
    assert smaller[IDLE] == pytest.approx((2 * 100 + 12 * 100) / 2400)


def test_more_gpus_in_use_than_there_are_is_an_error() -> None:
    spans = spans_of(attempts(("a", "a.0", 6, 0, 0, 100, False)), STEPS.to_frame())
    with pytest.raises(InputError, match="cluster of 4 GPUs; found 6 in use at once"):
        cluster_shares(spans, 4, 0, 1_000 * SECOND)
    with pytest.raises(InputError, match="expected GPUs and time"):
        cluster_shares(spans, 4, 5, 5)


def test_nothing_recorded_is_nothing_spent() -> None:
    spans = spans_of(ATTEMPTS.to_frame(), STEPS.to_frame())
    assert shares(spans) == {bucket.value: 0.0 for bucket in Bucket}
    assert ettr(spans, "none") is None
    assert ettr_speed(spans, "none") is None


def test_large_clusters_over_years_are_added_up_without_overflow() -> None:
    century = 100 * 365 * 86_400
    spans = spans_of(
        attempts(*((f"run{n}", f"run{n}.0", 1_000_000, 0, 0, century, False) for n in range(9))),
        steps(),
    )
    assert sum(spent(spans).values()) == pytest.approx(9e6 * century)
    assert sum(shares(spans).values()) == 1
    assert by_run(spans)["gpu_seconds"].to_list() == pytest.approx([1e6 * century] * 9)
