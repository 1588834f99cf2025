"""Batches of lines: the parser of each log, and blocks that are given back."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from relume.clock import from_iso
from relume.ingest.blocks import Block
from relume.ingest.lake import LandedBlock, LineBatch, Parsers, batches
from relume.ingest.lake.batches import logical_lines
from relume.ingest.lake.samplebatches import NO_TIME


def batch(raw: bytes, read: str | None, **origin: Any) -> LineBatch:
    block = Block(raw, "node7.log", 0, raw_offset=0, line_offset=0)
    observed_at = None if read is None else from_iso(read)
    return LineBatch(block=block, observed_at=observed_at, **origin)


@pytest.mark.parametrize("restarted", [False, True])
def test_clocks_without_a_year_take_it_from_the_day_they_were_read(restarted: bool) -> None:  # noqa: FBT001
    parsers = Parsers()
    times = []
    for line, read in (
        (b"Dec 31 23:59:59 gpu-7 kernel: a\n", "2026-12-31T23:59:59Z"),
        (b"Jan  5 00:00:01 gpu-7 kernel: b\n", "2027-01-05T00:00:02Z"),
        (b"Jan  9 00:00:01 gpu-7 kernel: c\n", "2027-01-09T00:00:02Z"),
    ):
        parsers = Parsers() if restarted else parsers
        times += [line.event_time for line in parsers.lines(batch(line, read))]
    assert times == [
        from_iso("2026-12-31T23:59:59Z"),
        from_iso("2027-01-05T00:00:01Z"),
        from_iso("2027-01-09T00:00:01Z"),
    ]


def test_without_a_time_of_reading_there_is_no_year() -> None:
    [line] = Parsers().lines(batch(b"Dec 31 23:59:59 gpu-7 kernel: a\n", None))
    assert (line.event_time, line.observed_at) == (None, None)


def test_each_attempt_and_stream_has_its_parser() -> None:
    parsers = Parsers()
    one = batch(b"x\n", "2026-01-02T03:04:05Z", attempt="lab/1@1.0")
    other = batch(b"x\n", "2026-01-02T03:04:05Z", attempt="lab/1@1.1", stream="stderr")
    assert parsers.of(one) is parsers.of(one)
    assert parsers.of(one) is not parsers.of(other)
    assert [line.attempt for line in parsers.lines(other)] == ["lab/1@1.1"]
    assert parsers.of(other).stream == "stderr"


def test_parsers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MAX_PARSERS", 2)
    parsers = Parsers()
    made = [parsers.of(batch(b"x\n", None, attempt=name)) for name in "abc"]
    assert parsers.of(batch(b"x\n", None, attempt="c")) is made[2]
    assert parsers.of(batch(b"x\n", None, attempt="a")) is not made[0]


def test_a_landed_block_knows_its_rows() -> None:
    block = LandedBlock("f", ["é", "", "\x1b[1m"], [4, 4, 5], [40, 40, 51])
    assert block.data == "é\n\n\x1b[1m\n".encode()  # what had been left of escapes stays
    assert [block.line_at(at) for at in (0, 2, 3, 4, 8)] == [4, 4, 4, 5, 5]
    assert [block.byte_offset_at(at) for at in (8, 0, 3)] == [51, 40, 40]
    assert (block.file, block.first_line) == ("f", 4)


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [(0, b"")]),
        (b"a", [(0, b"a")]),
        (b"a\n\nb\n", [(0, b"a"), (2, b""), (3, b"b")]),
    ],
)
def test_logical_lines(data: bytes, lines: list[tuple[int, bytes]]) -> None:
    assert list(logical_lines(data)) == lines


def test_lines_whose_times_are_told_apart_have_those_and_the_node_of_their_log() -> None:
    told = batch(b"a\nb\n", None, event_times=np.array([7, NO_TIME]), node="gpu-1")
    found = [(line.text, line.event_time, line.node) for line in Parsers().lines(told)]
    assert found == [("a", 7, "gpu-1"), ("b", None, "gpu-1")]


@pytest.mark.parametrize(
    ("texts", "lines"),
    [
        (["a", "b", "c"], [0, 1, 2]),
        (["bar 1", "bar 2", "next"], [4, 4, 5]),  # redrawn: parts of one physical line
        (["x", "", "y", "z"], [3, 9, 10, 70]),  # what was between is landed elsewhere
    ],
)
def test_lines_of_a_landed_block_have_the_numbers_that_landed(
    texts: list[str], lines: list[int]
) -> None:
    block = LandedBlock("f", texts, lines, [10 * line for line in lines])
    starts = [start for start, _ in logical_lines(block.data)]
    assert [block.line_at(start) for start in starts] == lines
    assert block.lines_at(np.array(starts)).tolist() == lines
    ends = [*starts[1:], len(block.data)]
    for first, last in itertools.combinations_with_replacement(range(len(starts)), 2):
        assert list(block.numbers(starts[first], ends[last])) == lines[first : last + 1]
