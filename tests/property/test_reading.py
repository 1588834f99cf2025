"""Reading never raises, and never depends on how the bytes came."""

from __future__ import annotations

import gzip
import re
import tempfile
from itertools import pairwise
from pathlib import Path

import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from relume.ingest.accounting.read import read_rows
from relume.ingest.accounting.states import STATES
from relume.ingest.blocks import Block, BlockAssembler, blocks_of_lines
from relume.ingest.dumps.forms import FLIGHT, PICKLE, RAS, STACKS, dump_form
from relume.ingest.filenames import writer_of
from relume.ingest.forms import NODE_FORMS, form_of
from relume.ingest.loglines import LineParser
from relume.ingest.opening import is_binary, probe, read_blocks
from relume.ingest.prefixes import MAX_PREFIX_CHARACTERS, parse_prefix
from relume.ingest.skips import SkipCounts
from relume.ingest.timestamps import Clock

PIECES = [
    b"\n", b"\r", b"\r\n", b"\r\r\n", b"\x1b", b"\x1b[31m", b"\x1b[", b"\x1b]0;t\x07", b"\x1b]0;t",
    b"\x1b\\", b"\x1b(B", b"\x00", b"\x00" * 9, "é".encode(), "█".encode(), b"\xff", b"step 1", b" ",
    b"x" * 40,
]  # fmt: skip
WORDS = [
    "12: ", "[rank3]: ", "[default1]:", "[E1218 20:27:21.48 F.cpp:1] ", "[PG 1 Rank 2] ", "[Rank 0]",
    "gpu-a01:41:52 [2] ", "NCCL WARN ", "[1767348000.1] ", "[gpu-a01:42 :0] ", "Jan 02 10:00:00 ",
    "gpu-a01 kernel: ", "[ 12.345678] ", "<6>", "2026-01-02 03:04:05", "T", "Z", ",678 ", "[INFO] ",
    "INFO:root:", " - INFO - ", "| INFO | a:b:1 - ", "(x, pid=1) ", "[1,0]<stdout>:", "E0102 ",
    "[", "]", "(", ":", " ", "\t", "1", "loss", "é", "\ud800", "\x00",
]  # fmt: skip
bytes_of_logs = st.lists(st.sampled_from(PIECES) | st.binary(max_size=6), max_size=40).map(b"".join)
lines = st.lists(st.sampled_from(WORDS) | st.text(max_size=4), max_size=12).map("".join)
sizes = st.integers(1, 64)


def described(blocks: list[Block]) -> list[tuple[object, ...]]:
    return [
        (
            block.data,
            block.first_line,
            [block.line_at(at) for at in range(len(block.data))],
            [block.byte_offset_at(at) for at in range(len(block.data))],
        )
        for block in blocks
    ]


@given(raw=bytes_of_logs, cuts=st.lists(st.integers(0, 400)), block_bytes=sizes)
@example(raw=b"a\r\nb", cuts=[2], block_bytes=2)
@example(raw=b"aa\r\nb", cuts=[3], block_bytes=3)
@example(raw=b"a\x1b[31mb\n", cuts=[3, 5], block_bytes=4)
def test_blocks_do_not_depend_on_how_the_stream_is_cut(
    raw: bytes, cuts: list[int], block_bytes: int
) -> None:
    whole = BlockAssembler("log", block_bytes=block_bytes)
    expected = described([*whole.feed(raw), *whole.finish()])
    pieces, got = BlockAssembler("log", block_bytes=block_bytes), list[Block]()
    borders = sorted({0, len(raw), *(cut for cut in cuts if cut < len(raw))})
    for start, end in pairwise(borders):
        got += pieces.feed(raw[start:end])
    assert described([*got, *pieces.finish()]) == expected


@given(raw=st.lists(st.sampled_from(PIECES), max_size=6).map(b"".join), cut=st.integers(1, 5000))
def test_long_lines_do_not_depend_on_how_the_stream_is_cut(raw: bytes, cut: int) -> None:
    raw = b"ab\x1b[1m" * 3000 + raw + "é█".encode() * 4000 + raw
    counts = SkipCounts(), SkipCounts()
    whole = BlockAssembler("log", skipped=counts[0], block_bytes=9000, max_line_bytes=9000)
    expected = [(b.data, b.first_line) for b in [*whole.feed(raw), *whole.finish()]]
    pieces = BlockAssembler("log", skipped=counts[1], block_bytes=9000, max_line_bytes=9000)
    got = [b for at in range(0, len(raw), cut) for b in pieces.feed(raw[at : at + cut])]
    assert [(b.data, b.first_line) for b in [*got, *pieces.finish()]] == expected
    assert counts[0].as_dict() == counts[1].as_dict()


def normalised(line: bytes) -> bytes:
    """Normalise one physical line, with its LF, the slow and plain way."""
    ending = b"\n" if line.endswith(b"\n") else b""
    line = re.sub(
        rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\r]*(\x07|\x1b\\)|\x1b[ -/]{1,4}[0-~]"
        rb"|\x1b[0-OQ-WYZ\\`-~]",
        b"",
        line.removesuffix(b"\n"),
    )
    line = line.removesuffix(b"\r") if ending else line
    line = re.sub(rb"\x00{8,}", lambda hole: b"\n" * len(hole[0]), line.replace(b"\r", b"\n"))
    return line.replace(b"\x00", b" ") + ending


@given(raw=bytes_of_logs, block_bytes=sizes)
def test_each_physical_line_keeps_its_text_number_and_offset(raw: bytes, block_bytes: int) -> None:
    assembler = BlockAssembler("log", block_bytes=block_bytes)
    blocks = [*assembler.feed(raw), *assembler.finish()]
    found: dict[tuple[int, int], bytes] = {}
    for block in blocks:
        for at in range(len(block.data)):
            where = block.line_at(at), block.byte_offset_at(at)
            found[where] = found.get(where, b"") + block.data[at : at + 1]
    expected: dict[tuple[int, int], bytes] = {}
    offset = 0
    for number, line in enumerate(re.findall(rb"[^\n]*\n|[^\n]+", raw)):
        if text := normalised(line):
            expected[number, offset] = text
        offset += len(line)
    assert found == expected


@given(cases=st.lists(st.text(st.sampled_from("ab\r\n\x00\x1b[m"), max_size=12), max_size=8))
def test_each_element_of_a_case_is_one_physical_line(cases: list[str]) -> None:
    marked = [f"<{number}>{text}" for number, text in enumerate(cases)]
    numbers = {
        int(found[1]): block.line_at(found.start())
        for block in blocks_of_lines(marked, "text")
        for found in re.finditer(rb"<(\d+)>", block.data)
    }
    assert numbers == {number: number for number in range(len(cases))}


@given(text=lines)
def test_a_prefix_is_a_prefix(text: str) -> None:
    found = parse_prefix(text)
    assert 0 <= found.length <= min(len(text), MAX_PREFIX_CHARACTERS)
    assert found == parse_prefix(text)
    assert isinstance(found.rank, int | None)
    assert isinstance(found.uptime_seconds, float | None)


@given(text=st.text() | lines)
def test_parsing_a_line_never_raises(text: str) -> None:
    line = LineParser("rank_1.log", modified=1e9).parse(text, 0, 0)
    assert text.endswith(line.message)
    assert line.rank is not None


@given(
    text=st.text() | lines | st.from_regex(r"[0-9]{2,4}[-/ ][0-9]{2}[-/T ][0-9: .,+Z]{1,16}"),
    latest=st.none() | st.integers(-(10**18), 10**18),
)
def test_reading_a_clock_never_raises(text: str, latest: int | None) -> None:
    clock = Clock(latest=latest)
    for _ in range(2):
        assert isinstance(clock.read(text), int | None)


@given(
    rows=st.lists(
        st.lists(st.sampled_from(["7", "7.0", "FAILED", "1:0", "", "x\ny", "é"]), max_size=5)
        .map("|".join)
        | st.text(max_size=9)
    )
)  # fmt: skip
def test_reading_accounting_never_raises_and_loses_no_row_silently(rows: list[str]) -> None:
    skipped = SkipCounts()
    found = list(read_rows(["JobID|State|ExitCode", *rows], skipped))
    assert all(row.state in STATES for row in found)
    assert rows.count("7|FAILED|1:0") <= len(found) <= len(rows)
    broken = [row for row in rows if row.count("|") < 2 and row.strip("|\r\n")]
    assert not broken or skipped


@given(start=st.binary() | bytes_of_logs, name=st.text())
def test_telling_what_a_file_is_never_raises(start: bytes, name: str) -> None:
    assert form_of(start) in {"stdout", "kernel", "slurmctld", "sacct", *NODE_FORMS}
    assert isinstance(is_binary(start), bool)
    assert dump_form(start) in {None, FLIGHT, STACKS, RAS, PICKLE}
    writer_of(name)


@given(raw=st.binary(min_size=1, max_size=3000), keep=st.floats(0, 1), zstd=st.booleans())
def test_a_compressed_file_may_end_anywhere(raw: bytes, keep: float, *, zstd: bool) -> None:
    raw = b"." + raw.replace(b"\r", b"").replace(b"\x1b", b"").replace(b"\x00", b"")
    whole = zstandard.compress(raw) if zstd else gzip.compress(raw)
    packed = zstandard.compress(b"first\n") if zstd else gzip.compress(b"first\n")
    with tempfile.NamedTemporaryFile() as file:
        path = Path(file.name)
        path.write_bytes(packed + whole[: int(keep * len(whole))])
        skipped = SkipCounts()
        text = b"".join(block.data for block in read_blocks(path, skipped=skipped))
        assert probe(path) == text
    assert (b"first\n" + raw).startswith(text)
    assert text.startswith(b"first\n")
    assert (int(keep * len(whole)) not in {0, len(whole)}) == bool(skipped)
