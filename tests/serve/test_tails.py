"""The ends of logs are bounded, and know when a log ended."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.ingest.blocks import Block
from relume.ingest.lake.batches import logical_lines
from relume.ingest.loglines import LineParser
from relume.serve import tails as module
from relume.serve.tails import OPEN_TAILS, TAIL_BYTES, Tails

TIME = 1_772_420_400_000_000
"""2026-03-02 03:00:00, in UTC microseconds."""


def ends_of(*blocks: tuple[str, str], stream: str = "stdout") -> Tails:
    tails = Tails()
    for file, text in blocks:
        block = Block(text.encode(), file, 0, raw_offset=0, line_offset=0)
        tails.add(block, LineParser(file, stream=stream))
    return tails


def test_the_time_of_an_end_is_its_latest_clock() -> None:
    text = "2026-03-02 03:00:00 a\n2026-03-02 02:59:59 b\nTraining complete.\n"
    [end] = ends_of(("log", text)).ends()
    assert (end.time, end.lines[-1]) == (TIME, (2, "Training complete."))


def test_an_end_far_from_any_clock_has_no_time() -> None:
    [end] = ends_of(("log", "2026-03-02 03:00:00 a\n" + "no clock\n" * 41)).ends()
    assert end.time is None


def test_one_endless_line_leaves_little() -> None:
    tails = ends_of(("log", "x" * 10_000_000), ("log", "y" * 10_000_000))
    [end] = tails.ends()
    assert sum(len(text) for _, text in end.lines) <= TAIL_BYTES


def test_of_many_logs_the_oldest_keep_their_end_only() -> None:
    text = "2026-03-02 03:00:00 a\n" * 100
    tails = ends_of(*((f"rank-{n}", text) for n in range(OPEN_TAILS + 2)))
    ends = {end.file: end for end in tails.ends()}
    assert len(ends) == OPEN_TAILS + 2
    assert (len(ends["rank-0"].lines), ends["rank-0"].time) == (40, TIME)
    assert len(list(tails.of_job())) == OPEN_TAILS


def test_a_kernel_s_clock_says_nothing_of_the_job() -> None:
    assert not list(ends_of(("log", "2026-03-02 03:00:00 a\n"), stream="kernel").of_job())


@given(
    st.lists(
        st.lists(st.sampled_from([b"", b"a", b"line\rdrawn", b"crlf\r", b"x" * 30]), min_size=1),
        min_size=1,
        max_size=6,
    ),
    st.integers(5, 60),
    st.integers(-1, 40),
    st.booleans(),
)
def test_the_last_lines_are_those_that_a_walk_from_the_end_finds(
    blocks: list[list[bytes]],
    kept: int,
    line: int,
    ends: bool,  # noqa: FBT001
) -> None:
    told: list[tuple[int, bytes]] = []
    tails, parser, first = Tails(), LineParser("log"), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TAIL_BYTES", kept)
        patch.setattr(module, "TAIL_LINES", kept // 3)
        patch.setattr(module, "MAX_TEXT", 20)
        for lines in blocks:
            raw = b"\n".join(lines) + (b"\n" if ends or lines is not blocks[-1] else b"")
            block = Block(raw, "log", first, raw_offset=0, line_offset=0)
            first += raw.count(b"\n")
            if block.data:
                tails.add(block, parser)
                told += [
                    (block.line_at(start), text[:20]) for start, text in logical_lines(block.data)
                ]
        while len(told) > kept // 3 or (sum(len(text) for _, text in told) > kept and told[1:]):
            del told[0]
        told = list(itertools.takewhile(lambda one: one[0] > line, told[::-1]))[::-1]
        found = [tail.after(line) for _, tail in tails.of_job()]
    assert [list(zip(*one, strict=True)) for one in found] == [told] * len(found)
