from __future__ import annotations

import contextlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.errors import InputError
from relume.ingest.metrics.answers import read_document
from relume.ingest.metrics.raw import RawSeries
from relume.ingest.skips import SkipCounts

SERIES = {"metric": {"__name__": "up", "job": "dcgm"}, "values": [[1_700_000_000, "1"]]}
DATA = {"resultType": "matrix", "result": [SERIES]}


def read(document: object, skipped: SkipCounts | None = None) -> list[RawSeries]:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return read_document(data, SkipCounts() if skipped is None else skipped, what="answer")


@pytest.mark.parametrize("document", [{"status": "success", "data": DATA}, DATA, [SERIES]])
def test_an_answer_is_read_whole_or_by_its_inner_parts(document: object) -> None:
    assert read(document) == [RawSeries("up", {"job": "dcgm"}, [1_700_000_000_000_000], [1.0])]


def test_a_vector_has_one_value_a_series() -> None:
    result = [{"metric": {}, "value": [1_700_000_000.25, "+Inf"]}]
    assert read({"resultType": "vector", "result": result}) == [
        RawSeries(None, {}, [1_700_000_000_250_000], [math.inf])
    ]


def test_values_and_histograms_that_cannot_be_read_are_counted() -> None:
    points = [[1, "1"], [2, "one"], [1e300, "3"], [4, "4"]]
    skipped = SkipCounts()
    [series] = read([{"metric": {}, "values": points, "histograms": [[1, {}]]}], skipped)
    assert series.values == [1.0, 4.0]
    assert skipped.as_dict() == {"metric_histogram": 1, "metric_value": 2}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"status": "error", "error": "boom"}, "status error: boom"),
        ({"status": "success"}, "no data"),
        ({"resultType": "scalar", "result": [1, "2"]}, "a result of type 'scalar'|\"scalar\""),
        ({"result": []}, "resultType"),
        ([{"metric": [], "values": []}], "Expected `object`"),
        ([[1, 2]], "Expected `object`"),
        (b"[" * 100_000, "."),
        (b"\xff", "."),
    ],
)
def test_what_is_no_answer_is_refused(document: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(document)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists))
def test_any_other_json_is_refused_or_empty(document: object) -> None:
    with contextlib.suppress(InputError):
        assert read(document) == []
