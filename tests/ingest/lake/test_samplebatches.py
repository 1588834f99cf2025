"""Samples as columns: they land, and come back, as the very events that they stand for."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relume.errors import InputError
from relume.events import Sample, Tick
from relume.ingest.lake import LakeReader, LakeWriter, Landing, SampleBatch, SampleSeries
from relume.ingest.lake.samplebatches import BATCH_FROM, NO_TIME, series_table
from relume.schemas import to_table

NAMES = st.sampled_from([None, "", "a", "n1", "ü"])
SERIES = st.builds(
    SampleSeries,
    metric=st.sampled_from(["gpu_power_watts", "node_load_count"]),
    node=NAMES,
    gpu=NAMES,
    rank=st.sampled_from([None, 0, 7]),
    attempt=NAMES,
    device=NAMES,
)


def a_batch(count: int = 3, **changed: Any) -> SampleBatch:
    fields: dict[str, Any] = {
        "series": series_table([SampleSeries("a_watts", node="n1"), SampleSeries("b_watts")]),
        "row_series": (np.arange(count) % 2).astype(np.int32),
        "event_time": np.arange(count, dtype=np.int64),
        "value": np.arange(count) / 2,
        "source": "push",
        "observed_at": 9,
    }
    return SampleBatch(**(fields | changed))


@st.composite
def batches(draw: st.DrawFn) -> SampleBatch:
    series = draw(st.lists(SERIES, max_size=5))
    rows = st.integers(0, len(series) - 1) if series else st.nothing()
    points = st.tuples(
        rows,
        st.sampled_from([NO_TIME, 0, -5, 1_767_000_000_000_000]),
        st.sampled_from([0.0, -0.0, math.nan, math.inf, 1.5]),
    )
    found = draw(st.lists(points, max_size=40)) if series else []
    return SampleBatch(
        series=series_table(series),
        row_series=np.array([row for row, _, _ in found], np.int32),
        event_time=np.array([time for _, time, _ in found], np.int64),
        value=np.array([value for _, _, value in found], np.float64),
        source=draw(st.sampled_from(["push", "dcgm"])),
        cluster=draw(st.sampled_from(["lab", "local"])),
        observed_at=draw(st.sampled_from([None, 5])),
    )


def told(events: Iterable[object]) -> list[str]:
    return [repr(event) for event in events]  # a NaN equals nothing


@given(batches())
@settings(max_examples=60)
def test_its_rows_are_those_of_its_events(batch: SampleBatch) -> None:
    rows, expected = batch.table(), to_table(list(batch.samples()), Sample)
    assert rows.schema.equals(expected.schema, check_metadata=True)
    for column, other in zip(rows.columns, expected.columns, strict=True):
        for mine, its in zip(column.to_pylist(), other.to_pylist(), strict=True):
            assert repr(mine) == repr(its)


@given(st.lists(batches(), max_size=5))
@settings(max_examples=25, deadline=None)
def test_it_lands_as_its_events_do_and_comes_back(given_batches: list[SampleBatch]) -> None:
    with TemporaryDirectory() as folder:
        with LakeWriter(Path(folder, "columns")) as lake, LakeWriter(Path(folder, "rows")) as rows:
            for batch in given_batches:
                lake.append([batch, Tick(event_time=1)])
                rows.append([*batch.samples(), Tick(event_time=1)])
            lake.commit()
            rows.commit()
        readers = [LakeReader(Path(folder, name)) for name in ("columns", "rows")]
        expected = [
            one for batch in given_batches for one in (*batch.samples(), Tick(event_time=1))
        ]
        assert told(list(readers[0].events())) == told(list(readers[1].events())) == told(expected)
        shapes = [[type(one) for one in reader.landings()] for reader in readers]
        assert shapes[0] == shapes[1]


def test_where_the_batches_are_cut_changes_no_event(tmp_path: Path) -> None:
    whole = a_batch(100)
    with LakeWriter(tmp_path) as lake:
        for start in range(0, 100, 30):
            cut = slice(start, start + 30)
            columns = {name: getattr(whole, name)[cut] for name in ("row_series", "event_time")}
            lake.append([a_batch(len(whole.value[cut]), value=whole.value[cut], **columns)])
        lake.commit()
    landed = list(LakeReader(tmp_path).landings())
    assert [len(one) for one in landed if isinstance(one, SampleBatch)] == [30, 30, 30]
    assert sum(isinstance(one, Sample) for one in landed) == 10 < BATCH_FROM
    assert list(LakeReader(tmp_path).events()) == list(whole.samples())


def test_events_of_several_origins_come_back_apart(tmp_path: Path) -> None:
    landings: list[Landing] = [
        Sample(source=source, metric="a_watts", value=1.0, observed_at=at)
        for source, at in (("x", 1), ("y", 1), ("y", None))
        for _ in range(BATCH_FROM)
    ]
    with LakeWriter(tmp_path) as lake:
        lake.append([*landings, a_batch(0)])
        lake.commit()
    found = list(LakeReader(tmp_path).landings())
    assert [(one.source, one.observed_at) for one in found if isinstance(one, SampleBatch)] == [
        ("x", 1),
        ("y", 1),
        ("y", None),
    ]
    assert list(LakeReader(tmp_path).events()) == landings


@pytest.mark.parametrize(
    "changed",
    [
        {"row_series": np.zeros(3, np.int64)},
        {"row_series": np.array([0, 1, 2], np.int32)},
        {"row_series": np.array([0, 1, -1], np.int32)},
        {"event_time": np.zeros(2, np.int64)},
        {"value": np.zeros(3, np.float32)},
        {"series": pa.RecordBatch.from_pydict({"metric": ["a"]})},
    ],
)
def test_columns_that_do_not_fit_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="batch of samples"):
        a_batch(**changed)


@pytest.mark.parametrize("series", [SampleSeries("\ud800"), SampleSeries("a_watts", rank=2**40)])
def test_series_that_no_column_holds_are_refused(series: SampleSeries) -> None:
    with pytest.raises(InputError, match="series of samples"):
        series_table([series])
