"""Opening by content: compression, encodings, damage, what is no text."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import random
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from relume.errors import InputError
from relume.ingest.opening import (
    PROBE_BYTES,
    is_binary,
    is_special,
    probe,
    probe_stdin,
    read_blocks,
)
from relume.ingest.skips import SkipCounts

LOG = b"".join(b"step %d loss %d\n" % (n, n * 7919 % 1000003) for n in range(60_000))
LINES = b"one\ntwo\n"
CHECKED_ZSTD = zstandard.ZstdCompressor(write_checksum=True)


def read(path: Path | str, skipped: SkipCounts | None = None) -> bytes:
    return b"".join(block.data for block in read_blocks(path, skipped=skipped))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "any.name"


@pytest.mark.parametrize(
    "packed",
    [
        LOG,
        gzip.compress(LOG),
        gzip.compress(LOG[:50]) + gzip.compress(LOG[50:]),
        gzip.compress(LOG) + b"\x00" * (3 << 20),
        gzip.compress(LOG[:50]) + b"\x00" * 64 + gzip.compress(LOG[50:]),
        zstandard.compress(LOG),
        zstandard.compress(LOG[:50]) + zstandard.compress(LOG[50:]),
        zstandard.compress(LOG[:50]) + b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip"
        + zstandard.compress(LOG[50:]),
        b"\xef\xbb\xbf" + LOG,
        gzip.compress(b"\xef\xbb\xbf" + LOG),
        b"\xff\xfe" + LOG.decode().encode("utf-16-le"),
        b"\xfe\xff" + LOG.decode().encode("utf-16-be"),
    ],
    ids=["plain", "gzip", "gzip members", "gzip padded", "gzip padded members", "zstd",
         "zstd frames", "zstd skippable frame", "utf-8 mark", "gzip utf-8 mark", "utf-16-le",
         "utf-16-be"],
)  # fmt: skip
def test_the_content_says_how_to_read_a_file(path: Path, packed: bytes) -> None:
    path.write_bytes(packed)
    skipped = SkipCounts()
    assert read(path, skipped) == LOG
    assert not skipped
    assert probe(path) == LOG[:PROBE_BYTES]


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_a_truncated_file_gives_what_it_held(path: Path, compress: object) -> None:
    assert callable(compress)
    packed = compress(LOG)
    path.write_bytes(packed[: len(packed) * 2 // 3])
    skipped = SkipCounts()
    text = read(path, skipped)
    assert len(text) > len(LOG) // 3
    assert LOG.startswith(text)
    assert skipped.as_dict() == {"truncated_compression": 1}


@pytest.mark.parametrize("text", [LINES, LOG, b"x\n"], ids=["lines", "log", "two bytes"])
@pytest.mark.parametrize("compress", [gzip.compress, CHECKED_ZSTD.compress], ids=["gzip", "zstd"])
def test_a_wrong_checksum_costs_no_text(
    path: Path, compress: Callable[[bytes], bytes], text: bytes
) -> None:
    packed = bytearray(compress(text))
    packed[-1] ^= 1
    path.write_bytes(packed)
    skipped = SkipCounts()
    assert read(path, skipped) == text
    assert skipped.files() == {"truncated_compression": [str(path)]}
    assert probe(path) == text[:PROBE_BYTES]


def test_a_damaged_file_gives_what_comes_before_the_damage(path: Path) -> None:
    path.write_bytes(gzip.compress(LINES) + b"garbage after the end")
    skipped = SkipCounts()
    assert read(path, skipped) == LINES
    assert skipped.as_dict() == {"truncated_compression": 1}


@pytest.mark.parametrize("start", [b"\x1f\x8b", b"\x28\xb5\x2f\xfd"])
def test_a_file_that_can_not_be_decompressed_at_all_is_refused(path: Path, start: bytes) -> None:
    path.write_bytes(start + b"\xff" * 40)
    with pytest.raises(InputError, match=r"cannot decompress .*expected a whole"):
        read(path)


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_a_bomb_comes_out_in_small_blocks(path: Path, compress: object) -> None:
    assert callable(compress)
    path.write_bytes(compress(b"x" * (64 << 20)))
    assert max(len(block.data) for block in read_blocks(path)) <= 1 << 20


def test_a_compressed_file_within_another_is_not_unpacked_twice(path: Path) -> None:
    path.write_bytes(gzip.compress(gzip.compress(LOG)))
    assert is_binary(probe(path))


def test_utf_16_with_half_a_character_at_its_end(path: Path) -> None:
    path.write_bytes(b"\xff\xfea\x00\n\x00b")
    assert read(path).decode() == "a\n\N{REPLACEMENT CHARACTER}"


def test_missing_and_unreadable_files_are_named_with_a_way_out(tmp_path: Path) -> None:
    for place in (tmp_path / "missing", tmp_path):
        with pytest.raises(InputError) as refused:
            read(place)
        message = str(refused.value)
        assert message.startswith(f"cannot read {place}; found ")
        assert message.endswith("check the path and its permissions")


def test_a_log_that_begins_with_a_hole_is_text(path: Path) -> None:
    with path.open("wb") as file:
        file.seek(3 << 20)
        file.write(b"step 7\n")
    assert probe(path) == b"step 7\n"
    blocks = list(read_blocks(path))
    line = blocks[-1].data.index(b"step 7\n")
    assert blocks[-1].data[line - 1 : line] == b"\n"
    assert blocks[-1].line_at(line) == 0


NO_TEXT = {
    "elf": b"\x7fELF\x02\x01\x01",
    "parquet": b"PAR1\x15\x04\x15",
    "zip": b"PK\x03\x04",
    "pickle 2": pickle.dumps({"step": 1}, protocol=2),
    "pickle 5": pickle.dumps({"step": 1}, protocol=5),
    "numpy": b"\x93NUMPY\x01\x00",
    "safetensors": struct.pack("<Q", 300) + b'{"w":{"dtype":"F16","shape":[1]}}',
    "tar": b"name" + b"\x00" * 253 + b"ustar\x0000",
    "random": random.Random(7).randbytes(PROBE_BYTES),
    "bzip2": b"BZh91AY&SY",
    "hole": b"\x00" * 5000,
    "one NUL": b"\x00",
    "utf-16 without a mark": "no mark".encode("utf-16-le") * 9,
}
TEXT = {
    "nothing": b"",
    "plain": b"step 1\n",
    "colours": b"\x1b[31mred\x1b[0m\r\n",
    "utf-8": "日本語のログ\n".encode(),
    "another encoding": "日本語のログ\n".encode("euc-jp") * 9,
    "backspaces": b"7/10 [==>...]" + b"\x08" * 200 + b"8/10 [===>..]",
    "a hole within": b"a" * 5000 + b"\x00" * 3000 + b"b",
    "one stray byte": b"line\n" * 30 + b"\x01",
}


@pytest.mark.parametrize("start", NO_TEXT.values(), ids=NO_TEXT)
def test_what_is_no_text(start: bytes) -> None:
    assert is_binary(start)


@pytest.mark.parametrize("start", TEXT.values(), ids=TEXT)
def test_what_is_text(start: bytes) -> None:
    assert not is_binary(start)


def test_a_pipe_that_is_open_is_read(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, gzip.compress(LINES))
        os.close(writing)
        pipe = Path("/dev/fd", str(reading))
        assert is_special(pipe)
        assert not is_special(tmp_path)
        assert read(pipe) == LINES
    finally:
        os.close(reading)


def test_a_pipe_in_the_file_system_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="found a named pipe"):
        read(tmp_path / "pipe")


def test_a_closed_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    for call in (probe_stdin, lambda: read("-")):
        with pytest.raises(InputError, match="cannot read standard input; found a closed stream"):
            call()


def test_a_standard_input_that_fails_is_refused(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    path.touch()
    with os.fdopen(os.open(path, os.O_PATH), "rb", buffering=0) as raw:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(raw)))
        for call in (probe_stdin, lambda: read("-")):
            with pytest.raises(InputError, match="cannot read standard input; found Bad file desc"):
                call()


@pytest.mark.parametrize(
    "packed",
    [LINES, gzip.compress(LINES), zstandard.compress(LINES), b""],
    ids=["plain", "gzip", "zstd", "nothing"],
)
def test_standard_input_can_be_peeked_and_then_read(
    monkeypatch: pytest.MonkeyPatch, packed: bytes
) -> None:
    buffer = io.BufferedReader(io.BytesIO(packed))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(buffer))
    expected = LINES if packed else b""
    assert probe_stdin() == expected
    assert read("-") == expected
    assert not sys.stdin.closed


def test_a_long_compressed_standard_input_is_told_by_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    buffer = io.BufferedReader(io.BytesIO(gzip.compress(LOG)))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(buffer))
    start = probe_stdin()
    assert start
    assert LOG.startswith(start)
    assert read("-") == LOG


def test_a_standard_input_that_can_not_be_peeked_is_still_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINES)))
    assert probe_stdin() is None
    assert read("-") == LINES


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that can't be read")
def test_a_file_that_fails_while_it_is_read() -> None:
    with pytest.raises(InputError, match=r"cannot read /proc/self/mem; found Input/output error"):
        read("/proc/self/mem")
