from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.ingest.metrics.exposition import (
    MAX_SAMPLE_BYTES,
    ScrapeFacts,
    facts_of_scrape,
    read_exposition,
)
from relume.ingest.metrics.raw import RawSeries
from relume.ingest.metrics.telling import is_answer, is_exposition
from relume.ingest.skips import SkipCounts

NOW = 1_750_000_000_000_000


def read(text: str, skipped: SkipCounts | None = None) -> list[RawSeries]:
    lines = text.split("\n")
    found = read_exposition(
        lines,
        SkipCounts() if skipped is None else skipped,
        is_wanted=lambda name: not name.startswith("go_"),
        time=NOW,
    )
    return list(found)


@pytest.mark.parametrize(
    ("line", "labels", "time", "value"),
    [
        ("m 1", {}, NOW, 1.0),
        ("  m\t2.5e3 ", {}, NOW, 2500.0),
        ("m{} NaN", {}, NOW, math.nan),
        ("m -Inf", {}, NOW, -math.inf),
        ('m{a="b",} 1', {"a": "b"}, NOW, 1.0),
        ('m{a="x # y",b="}{,="} 1', {"a": "x # y", "b": "}{,="}, NOW, 1.0),
        (r'm{a="q\"\\\n"} 1', {"a": 'q"\\\n'}, NOW, 1.0),
        ("m 1 1600000000500", {}, 1_600_000_000_500_000, 1.0),
        ("m 1 1600000000.5", {}, 1_600_000_000_500_000, 1.0),
        ('m{a="b"} 3 1600000000 # {trace_id="x"} 0.5 1700000000', {"a": "b"},
         1_600_000_000_000_000, 3.0),
    ],
)  # fmt: skip
def test_a_sample_is_read_as_both_formats_write_it(
    line: str, labels: dict[str, str], time: int, value: float
) -> None:
    [series] = read(line)
    assert (series.name, series.labels, series.times) == ("m", labels, [time])
    assert series.values == pytest.approx([value], nan_ok=True)


@pytest.mark.parametrize(
    "line",
    ["m", "m one", 'm{a="b} 1', "m{a=b} 1", "{} 1", "1m 2", "m 1 x", 'm{a="b"' , "m 1_0",
     'm{l="' + "x" * MAX_SAMPLE_BYTES + '"} 1', "é 1"],
)  # fmt: skip
def test_a_line_that_is_no_sample_is_counted_and_hides_no_other(line: str) -> None:
    skipped = SkipCounts()
    assert [one.name for one in read(f"a 1\n{line}\nb 2\n", skipped)] == ["a", "b"]
    assert skipped.as_dict() == {"metric_line": 1}


def test_comments_say_nothing_and_unknown_names_are_counted() -> None:
    skipped = SkipCounts()
    assert read("# HELP m x\n# TYPE m gauge\n\n# EOF\ngo_threads 7\n", skipped) == []
    assert skipped.as_dict() == {"metric_unknown": 1}


def test_node_exporter_says_when_and_of_which_node_a_scrape_is() -> None:
    lines = ['node_uname_info{machine="x86_64",nodename="gpu-a01"} 1', "node_time_seconds 1.75e9"]
    assert facts_of_scrape(lines) == ScrapeFacts(NOW, "gpu-a01")
    assert facts_of_scrape(["node_time_seconds NaN", "node_uname_info{"]) == ScrapeFacts(None, None)


@pytest.mark.parametrize(
    ("is_one", "text"),
    [
        (True, '# HELP up x\n# TYPE up gauge\nup{job="a"} 1 1700000000\n'),
        (True, "# TYPE a counter\na_total 1\n# EOF\n"),
        (False, "# HELP wanted: see the manual\nstarting job\nstep 1\n"),
        (False, "step 1\nstep 2\n"),
        (False, "# TYPE x gauge\n"),
        (False, ""),
    ],
)
def test_a_scrape_is_told_from_a_log(is_one: bool, text: str) -> None:  # noqa: FBT001 - a column
    assert is_exposition(text) is is_one


def test_an_answer_is_told_from_other_json() -> None:
    assert is_answer('{"status":"success","data":{"resultType":"vector","result":[]}}')
    assert is_answer('[\n {"metric": {}, "values": []}]')
    assert not is_answer('{"event": "Sample", "metric": "x"}')
    assert not is_answer('[{"name": "metric"}]')


@given(st.text(max_size=300))
def test_any_text_gives_samples_or_counts(text: str) -> None:
    skipped = SkipCounts()
    lines = [line for line in text.split("\n") if line.strip()]
    said = [line for line in lines if not line.lstrip().startswith("#")]
    assert len(read(text, skipped)) + sum(skipped.as_dict().values()) == len(said)


@pytest.mark.parametrize("piece", ['"', '\\"', "#", '{a="', "\\", "=,", '" # '])
def test_a_hostile_line_takes_no_longer_than_its_length_allows(piece: str) -> None:
    """Bounded by the limit on a line; without it these would take minutes."""
    read("m{a=" + piece * (MAX_SAMPLE_BYTES // len(piece) - 10))
