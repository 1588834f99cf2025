"""`--cases` records: JSON lines of an id and the lines of one attempt."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from relume.errors import InputError


class CaseRecord(msgspec.Struct, frozen=True):
    """One record; keys other than these are ignored."""

    id: str
    text: tuple[str, ...]


def read_cases(path: Path) -> Iterator[CaseRecord]:
    """Yield the records of a JSON-lines file, `-` for standard input; blank lines are skipped.

    Raises
    ------
    InputError
        When the file cannot be read, or at the first line that is no such record. Records before it
        have been yielded.
    """
    decoder = msgspec.json.Decoder(CaseRecord)
    try:
        stream = sys.stdin.buffer if str(path) == "-" else path.open("rb")
    except OSError as error:
        raise InputError(
            f"cannot read the cases in {path}",
            found=error.strerror or str(error),
            expected="a readable file of JSON lines",
        ) from error
    with stream:
        for number, line in enumerate(stream, start=1):
            record = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if record.strip():
                yield _decode(decoder, record, f"{path}:{number}")


def _decode(decoder: msgspec.json.Decoder[CaseRecord], line: bytes, where: str) -> CaseRecord:
    try:
        try:
            return decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            # json.dumps writes undecodable bytes of a log as lone surrogates, which msgspec refuses
            return msgspec.convert(json.loads(line), CaseRecord)
    except (msgspec.ValidationError, ValueError) as error:
        raise InputError(
            f"{where} is no case",
            found=str(error),
            expected='an object with "id" (string) and "text" (list of strings)',
            hint="check the line with a JSON tool",
        ) from error
