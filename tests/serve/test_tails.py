"""The ends of logs are bounded, and know when a log ended."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.ingest.blocks import Block, BlockPiece
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
    st.lists(st.sampled_from([b"", b"a", b"line\rdrawn", b"crlf\r", b"x" * 30]), max_size=40),
    st.integers(5, 60),
    st.booleans(),
)
def test_the_last_lines_are_those_that_a_walk_from_the_end_finds(
    lines: list[bytes],
    kept: int,
    ends: bool,  # noqa: FBT001
) -> None:
    block = Block(
        b"\n".join(lines) + (b"\n" if ends else b""), "log", 3, raw_offset=0, line_offset=0
    )
    data = block.data
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TAIL_BYTES", kept)
        patch.setattr(module, "TAIL_LINES", kept // 3)
        found = module._last_lines(data)  # noqa: SLF001
        walked = module._last_long_lines(data, len(data) - data.endswith(b"\n"))  # noqa: SLF001
    assert found == walked
    assert list(block.lines_from(found[0])) == [block.line_at(start) for start in found[0]]
    begin = data.find(b"\n") + 1
    piece = BlockPiece(block, begin, len(data))
    starts = [start - begin for start in found[0] if start >= begin]
    assert list(piece.lines_from(starts)) == [piece.line_at(start) for start in starts]
