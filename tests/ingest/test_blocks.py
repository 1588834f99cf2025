"""Blocks: normalised text, physical lines and offsets of the original, bounded memory."""

from __future__ import annotations

import itertools
import re
import time
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.ingest.blocks import (
    BLOCK_BYTES,
    MAX_LINE_BYTES,
    OVERLAP_BYTES,
    Block,
    BlockAssembler,
    BlockPiece,
    blocks_of_lines,
)
from relume.ingest.skips import SkipCounts


def assemble(
    data: bytes, *, block_bytes: int = BLOCK_BYTES, max_line_bytes: int = MAX_LINE_BYTES
) -> list[Block]:
    assembler = BlockAssembler("log", block_bytes=block_bytes, max_line_bytes=max_line_bytes)
    return [*assembler.feed(data), *assembler.finish()]


def text_of(data: bytes) -> bytes:
    return b"".join(block.data for block in assemble(data))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"a\nb\n", b"a\nb\n"),
        (b"a\r\nb\r\n", b"a\nb\n"),
        (b" 1%\r 2%\r 3%\n", b" 1%\n 2%\n 3%\n"),
        (b"a\r\r\nb", b"a\n\nb"),
        (b"a\r", b"a\n"),
        (b"\x1b[31mError\x1b[0m: \x1b[1;38;5;9mx\x1b[m", b"Error: x"),
        (b"\x1b[2K\x1b[1A 5%", b" 5%"),
        (b"\x1b]0;title\x07text", b"text"),
        (b"\x1b]8;;https://x.example/y\x1b\\link\x1b]8;;\x1b\\", b"link"),
        (b"\x1b(B\x1b[mtext", b"text"),
        (b"\x1b7\x1b=text\x1bM", b"text"),
        (b"a\r\x1b[0m\nb", b"a\nb"),
        (b"\x1b]0;no end\nnext", b"\x1b]0;no end\nnext"),
        (b"\x1b[31\nnext", b"\x1b[31\nnext"),
        (b"a\x00b\x00\x00c", b"a b  c"),
        (b"\x00" * 9 + b"step 1", b"\n" * 9 + b"step 1"),
        ("é█\n".encode(), "é█\n".encode()),
        (b"\xff\xfe bad\n", b"\xff\xfe bad\n"),
        (b"", b""),
    ],
)
def test_normalising(raw: bytes, expected: bytes) -> None:
    assert text_of(raw) == expected


def test_lines_and_offsets_are_those_of_the_original() -> None:
    raw = b"zero\r\none \x1b[31mred\x1b[0m\n 1%\r 2%\r\x1b[K 3%\nlast"
    [block] = assemble(raw)
    assert block.data == b"zero\none red\n 1%\n 2%\n 3%\nlast"
    found = {
        word: (block.line_at(at), block.byte_offset_at(at))
        for word in (b"zero", b"one", b"red", b" 1%", b" 2%", b" 3%", b"last")
        if (at := block.data.index(word)) >= 0
    }
    assert found == {
        b"zero": (0, 0),
        b"one": (1, 6),
        b"red": (1, 6),
        b" 1%": (2, raw.index(b" 1%")),
        b" 2%": (2, raw.index(b" 1%")),
        b" 3%": (2, raw.index(b" 1%")),
        b"last": (3, raw.index(b"last")),
    }


def test_positions_can_be_asked_for_in_any_order() -> None:
    [block] = assemble(b"a\nb\rB\nc\n")
    asked = [6, 0, 4, 2, 6, 2]
    assert [block.line_at(at) for at in asked] == [2, 0, 1, 1, 2, 1]
    assert [block.byte_offset_at(at) for at in asked] == [6, 0, 2, 2, 6, 2]


def test_an_escape_at_the_end_of_a_line_does_not_move_the_line_number() -> None:
    [block] = assemble(b"a\x1b[0m\nb\n")
    assert block.line_at(1) == 0
    assert (block.line_at(2), block.byte_offset_at(2)) == (1, 6)


def test_blocks_hold_whole_lines_and_follow_each_other() -> None:
    lines = [b"line %d\n" % n for n in range(200_000)]
    blocks = assemble(b"".join(lines))
    assert len(blocks) > 1
    assert all(len(block.data) <= BLOCK_BYTES for block in blocks)
    assert all(block.data.endswith(b"\n") for block in blocks)
    assert b"".join(block.data for block in blocks) == b"".join(lines)
    assert all(
        after.first_line == before.first_line + before.data.count(b"\n")
        for before, after in pairwise(blocks)
    )
    assert blocks[1].byte_offset_at(0) == len(blocks[0].data)


def test_a_long_progress_bar_is_cut_between_its_states() -> None:
    skipped = SkipCounts()
    assembler = BlockAssembler("log", skipped=skipped)
    states = [b"%6d/400000 [00:00<00:00]" % n for n in range(400_000)]
    raw = b"first\n" + b"\r".join(states) + b"\nlast\n"
    blocks = [*assembler.feed(raw), *assembler.finish()]
    assert len(blocks) > 5
    assert b"".join(block.data for block in blocks) == raw.replace(b"\r", b"\n")
    assert {block.first_line for block in blocks[1:]} == {1}
    assert {block.byte_offset_at(0) for block in blocks[1:]} == {6}
    assert blocks[-1].line_at(len(blocks[-1].data) - 2) == 2
    assert not skipped


def test_a_long_line_comes_in_pieces_that_overlap_and_counts_once() -> None:
    skipped = SkipCounts()
    assembler = BlockAssembler("log", skipped=skipped)
    long_line = b"".join(b"<%07d>" % n for n in range(1_200_000))
    blocks = [*assembler.feed(b"a\n" + long_line + b"\nz\n"), *assembler.finish()]
    pieces = [block for block in blocks if block.line_at(min(2, len(block.data) - 1)) == 1]
    assert len(pieces) > 5
    assert all(len(piece.data) <= MAX_LINE_BYTES for piece in pieces)
    assert skipped.as_dict() == {"long_line_split": 1}
    # Every token is whole in some piece, also the ones across a cut.
    found = {token for piece in pieces for token in re.findall(rb"<\d{7}>", piece.data)}
    assert len(found) == 1_200_000
    assert {piece.byte_offset_at(2) for piece in pieces} == {2}
    assert blocks[-1].line_at(blocks[-1].data.index(b"z")) == 2
    assert blocks[-1].byte_offset_at(blocks[-1].data.index(b"z")) == len(long_line) + 3


def test_two_long_lines_count_twice() -> None:
    skipped = SkipCounts()
    assembler = BlockAssembler("log", skipped=skipped)
    assembler.feed(b"x" * 3_000_000 + b"\n" + b"y" * 3_000_000 + b"\n")
    assembler.finish()
    assert skipped.as_dict() == {"long_line_split": 2}


def test_a_cut_through_a_long_line_leaves_characters_whole() -> None:
    for shift in range(4):
        data = b"." * shift + "█".encode() * 1_000_000
        blocks = assemble(data)
        assert len(blocks) > 2
        for block in blocks:
            block.data.decode()  # raises on a torn character


def test_a_long_line_of_bytes_that_start_no_character() -> None:
    blocks = assemble(b"\x80" * 3_000_000)
    assert len(blocks) > 2
    assert {block.line_at(0) for block in blocks} == {0}


def test_memory_is_bounded_for_a_line_without_end() -> None:
    assembler = BlockAssembler("log")
    chunk = b"x" * 65536
    tracemalloc.start()
    try:
        for _ in range(800):  # 50 MiB
            assembler.feed(chunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * MAX_LINE_BYTES


def test_the_overlap_is_never_as_long_as_the_piece() -> None:
    blocks = assemble(b"x" * 100_000, block_bytes=16, max_line_bytes=16)
    assert 10 < len(blocks) < 100_000 // OVERLAP_BYTES + 2


def test_each_element_of_a_case_is_one_physical_line() -> None:
    lines = ["zero", "one\ntwo\rthree\r\nfour", "", "five\n", "six"]
    [block] = blocks_of_lines(lines, "text")
    assert block.file == "text"
    numbers = {
        word: block.line_at(block.data.index(word.encode()))
        for word in ("zero", "one", "two", "three", "four", "five", "six")
    }
    assert numbers == {"zero": 0, "one": 1, "two": 1, "three": 1, "four": 1, "five": 3, "six": 4}


def test_a_case_may_hold_anything() -> None:
    assert blocks_of_lines([], "text") == []
    [block] = blocks_of_lines(["\ud800 lone surrogate \x00"], "text")
    assert block.data == b"? lone surrogate  \n"


@pytest.mark.parametrize(
    "piece",
    [b"\x1b", b"\x1b[", b"\x1b]", b"\x1b[1;", b"\x1b(", b"[", b"\x00", b"\r", b"\x1b]a\x07"],
)
def test_a_hostile_line_of_a_megabyte_takes_linear_time(piece: bytes) -> None:
    start = time.process_time()
    text_of(b"\x1b[" + b"1" * 500_000 + b"\x1b]" + b"x" * 500_000)
    text_of(piece * (1_000_000 // len(piece)))
    # Some 20 ms; quadratic work would take hours.
    assert time.process_time() - start < 3


@pytest.mark.parametrize("asked", [(), (0,), (30, 7), (47,), (7, 30, 47, 3)])
def test_numbers_go_on_whatever_was_asked_of_the_block_before(asked: tuple[int, ...]) -> None:
    r"""Lines of 8 bytes, each drawn twice (\r), 6 of them a block."""
    text = b"".join(b"%03d\r%03d\n" % (number, number) for number in range(60))
    assembler = BlockAssembler("log", block_bytes=48)
    for start in range(0, len(text), 5):
        for block in assembler.feed(text[start : start + 5]):
            first = int(block.data[:3])
            for offset in asked:
                assert block.line_at(offset) == int(block.data[offset - offset % 8 :][:3])
            assert (block.first_line, block.byte_offset_at(0)) == (first, 8 * first)


@given(st.lists(st.sampled_from([b"", b"a", b"one\rtwo", b"crlf\r", b"\x1b[0mred"]), min_size=1))
def test_numbers_are_those_of_each_line(lines: list[bytes]) -> None:
    raw = b"".join(line + b"\n" for line in lines)
    block = Block(raw, "log", 5, raw_offset=0, line_offset=0)
    starts = [0, *(at + 1 for at in range(len(block.data)) if block.data[at : at + 1] == b"\n")]
    for begin, end in itertools.combinations(starts, 2):
        some = [start for start in starts if begin <= start < end]
        expected = [block.line_at(start) for start in some]
        assert list(block.numbers(begin, end)) == expected
        piece = BlockPiece(block, begin, end)
        assert list(piece.numbers(0, end - begin)) == expected
