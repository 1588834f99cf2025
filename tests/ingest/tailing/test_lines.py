"""Whole lines out of a growing log; the properties are in tests/property/test_tail.py."""

from __future__ import annotations

import pytest

from relume.ingest.blocks import Block
from relume.ingest.skips import SkipCounts
from relume.ingest.tailing.lines import LineHolder, TailBlock, valid_utf8


def rows(blocks: list[TailBlock]) -> list[tuple[str, int, int]]:
    """(text, physical line, byte offset) of each logical line."""
    found = []
    for block in blocks:
        start = 0
        for raw in block.data.removesuffix(b"\n").split(b"\n"):
            found.append((raw.decode(), block.line_at(start), block.byte_offset_at(start)))
            start += len(raw) + 1
    return found


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"a\nb\n", [("a", 0, 0), ("b", 1, 2)]),
        (b"a\r\nb\r\n", [("a", 0, 0), ("b", 1, 3)]),
        (b"a\rb\nc\n", [("a", 0, 0), ("b", 0, 0), ("c", 1, 4)]),
        (
            b"\xff\nb\n\xfe\xff\nd\n",
            [("\ufffd", 0, 0), ("b", 1, 2), ("\ufffd\ufffd", 2, 4), ("d", 3, 7)],
        ),
        (b"\x1b[31m\xff\x1b[0m\nb\n", [("\ufffd", 0, 0), ("b", 1, 11)]),
        (b"a\0b\n", [("a b", 0, 0)]),
        (b"a" + b"\0" * 9 + b"b\nc\n", [("a", 0, 0), ("b", 0, 0), ("c", 1, 12)]),
        (b"\0" * 8 + b"b\n", [("b", 0, 0)]),
        (b"\n\n", [("", 0, 0), ("", 1, 1)]),
    ],
)
def test_each_logical_line_knows_where_it_is(
    raw: bytes, expected: list[tuple[str, int, int]]
) -> None:
    holder = LineHolder("log")
    assert rows(holder.take(raw)) == expected
    assert holder.finish() == []
    slow = LineHolder("log")
    one_by_one = [block for byte in raw for block in slow.take(bytes([byte]))]
    assert rows(one_by_one) == expected


def test_a_carriage_return_waits_for_the_line_feed_that_may_follow() -> None:
    holder = LineHolder("log")
    assert holder.take(b"a\r") == []
    assert rows(holder.take(b"\nb\r")) == [("a", 0, 0)]
    assert rows(holder.finish()) == [("b", 1, 3)]


def test_a_hole_at_the_end_is_held_in_a_few_bytes_however_large() -> None:
    holder = LineHolder("log")
    assert rows(holder.take(b"a" + b"\0" * 1000)) == [("a", 0, 0)]
    for _ in range(3):
        assert holder.take(b"\0" * 1000) == []
    assert len(holder.partial) == 8
    assert rows(holder.take(b"b\n")) == [("b", 0, 0)]
    holder.take(b"\0" * 100)
    assert (holder.finish(), holder.partial) == ([], b"")


def test_a_long_line_comes_in_overlapping_pieces_and_is_counted_once() -> None:
    skipped = SkipCounts()
    holder = LineHolder("log", skipped=skipped, max_line_bytes=8192)
    line = b"".join(b"%06d\xc3\xa9" % number for number in range(4000))
    blocks = [
        block
        for start in range(0, len(line), 999)
        for block in holder.take(line[start : start + 999])
    ]
    blocks += holder.take(b"\nnext\n")
    pieces = [block.data.removesuffix(b"\n") for block in blocks[:-1]]
    assert all(len(piece) <= 8192 and valid_utf8(piece) is piece for piece in pieces)
    joined = pieces[0] + b"".join(piece[piece.index(b"\xa9") :] for piece in pieces[1:])
    assert len(joined) > len(line)
    assert all(b"%06d" % number in joined for number in range(3000))
    assert rows(blocks)[-1][1:] == (1, len(line) + 1)
    assert dict(skipped.items()) == {"long_line_split": 1}


@pytest.mark.parametrize(
    "log",
    [
        b"a" * 8191 + b"\r\nb\n",
        b"a" * 8192 + b"\0" * 8 + b"b\n",
        b"a" * 8192 + b"\0" * 7 + b"b\n",
    ],
    ids=["CRLF", "hole", "NULs"],
)
def test_what_lies_across_the_longest_line_is_cut_alike(log: bytes) -> None:
    fast, slow = (LineHolder("log", max_line_bytes=8192) for _ in range(2))
    one_by_one = [block for byte in log for block in slow.take(bytes([byte]))]
    expected = rows(fast.take(log))
    assert rows(one_by_one) == expected
    assert [row[0] for row in expected].count("") == 0


def test_line_feeds_are_found_over_redraws() -> None:
    [block] = LineHolder("log").take(b"1%\r2%\r3%\nx\n4%\r5%\n")
    assert list(block.physical_lines()) == [(3, 0, 0), (1, 1, 9), (2, 2, 11)]
    assert block.line_offsets() is None


def test_a_block_is_one_for_all_who_read_blocks() -> None:
    [block] = LineHolder("log").take(b"\x1b[1mone\x1b[0m\ntwo\n")
    assert isinstance(block, Block)
    assert block.line_offsets() == [0, 12]
