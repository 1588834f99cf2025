"""`--cases` records."""

from __future__ import annotations

import gzip
import io
import os
import sys
from pathlib import Path

import pytest
import zstandard

from relume.errors import InputError
from relume.ingest import cases
from relume.ingest.cases import CaseRecord, read_cases

GOOD = b'{"id": "a", "text": ["x"]}\n'
A = CaseRecord("a", ("x",))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cases.jsonl"


def messages(path: Path) -> list[str]:
    return [str(item) for item in read_cases(path) if isinstance(item, InputError)]


def test_records_in_their_order_blank_lines_and_other_keys_ignored(path: Path) -> None:
    path.write_text('{"id": "a", "text": ["x\\ny"], "kind": "crash"}\n\n{"id": "b", "text": []}')
    assert list(read_cases(path)) == [CaseRecord("a", ("x\ny",)), CaseRecord("b", ())]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b"x", "expecting value at column 1"),
        (b"[]", "Expected `object`, got `array`"),
        (b'{"id": "a"}', "missing required field `text`"),
        (b'{"id": 7, "text": []}', "Expected `str`, got `int` - at `$.id`"),
        (b'{"id": "a", "text": [1]}', "got `int` - at `$.text[0]`"),
        (b"{", "expecting property name"),
        (b'{"id": "a", "text": ["\xff"]}', "bytes that are no UTF-8"),
        (b'{"id": "\\ud800", "text": []}', '"id" with half a surrogate pair'),
        (b"[" * 200_000, "Expected `object`, got `array`"),
        (b'{"id": "a", "text": [], "x": ' + b"[" * 9000 + b"]" * 9000 + b"}", "too deep"),
        (b'{"text": ["\\udcff"], "id": ' + b"1" * 9000 + b"}", "Expected `str`"),
    ],
)
def test_a_bad_record_is_named_between_the_others(path: Path, line: bytes, found: str) -> None:
    path.write_bytes(GOOD + line + b"\n" + GOOD)
    first, bad, last = read_cases(path)
    assert (first, last) == (A, A)
    assert isinstance(bad, InputError)
    assert str(bad).startswith(f"{path}:2 is no case; found ")
    assert found in (bad.found or "")
    assert len(str(bad)) < 300


@pytest.mark.parametrize(
    "data",
    [b"", b"\n \r\n", gzip.compress(b""), b"\xef\xbb\xbf"],
    ids=["nothing", "blank lines", "gzip of nothing", "utf-8 mark"],
)
def test_nothing_is_no_case(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    [message] = messages(path)
    assert message.startswith(f"no case in {path}; found no line of text; expected an object")


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(GOOD * 2),
        zstandard.compress(GOOD) + zstandard.compress(GOOD),
        b"\xef\xbb\xbf" + GOOD * 2,
        b"\xff\xfe" + (GOOD * 2).decode().encode("utf-16-le"),
        GOOD.replace(b"\n", b"\r\n") * 2,
    ],
    ids=["gzip", "zstd", "utf-8 mark", "utf-16", "crlf"],
)
def test_cases_are_read_as_logs_are(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    assert list(read_cases(path)) == [A, A]


def test_a_compressed_file_that_ends_early_gives_what_it_held_and_says_so(path: Path) -> None:
    path.write_bytes(gzip.compress(GOOD * 3)[:-4])
    *records, error = read_cases(path)
    assert records == [A, A, A]
    assert "was read in part; found a compressed file that ends early" in str(error)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "broken.gz").write_bytes(b"\x1f\x8b" + b"\xff" * 30)
    for name, found in (
        ("missing", "found No such file"),
        (".", "found Is a directory"),
        ("pipe", "found a named pipe"),
        ("broken.gz", "cannot decompress"),
    ):
        [message] = messages(tmp_path / name)
        assert found in message


def test_standard_input_closed_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(GOOD + b"x"))))
    record, error = read_cases(Path("-"))
    assert record == A
    assert "standard input:2 is no case" in str(error)
    monkeypatch.setattr(sys, "stdin", None)
    assert "found a closed stream" in messages(Path("-"))[0]


def test_a_line_without_an_end_does_not_fill_the_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cases, "MAX_RECORD_BYTES", 2 << 20)
    path.write_bytes(GOOD + b" " * (5 << 20) + b"\n" + GOOD)
    record, error = read_cases(path)
    assert record == A
    assert f"{path}:2 is no case; found a line of more than 2 MiB" in str(error)
