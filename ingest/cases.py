"""`--cases` records: JSON lines of an id and the lines of one attempt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from relume.errors import InputError
from relume.ingest.opening import STDIN, read_chunks
from relume.ingest.rawlines import MAX_RECORD_BYTES, raw_lines
from relume.ingest.skips import SkipCounts


class CaseRecord(msgspec.Struct, frozen=True):
    """One record; keys other than these are ignored."""

    id: str
    text: tuple[str, ...]


def read_cases(path: Path) -> Iterator[CaseRecord | InputError]:
    """Yield the records of a JSON-lines file, and for each line that is none an error.

    ``-`` is standard input; what is compressed with gzip or zstd is read as it is. Blank lines are
    passed over. A file that can't be read, or not to its end, and one without a record give an
    error too, the last thing that is yielded.
    """
    name = "standard input" if str(path) == STDIN else str(path)
    skipped = SkipCounts()
    decoder = msgspec.json.Decoder(CaseRecord)
    is_empty = True
    try:
        for number, line in enumerate(_lines(read_chunks(path, skipped=skipped), name), start=1):
            if line.strip():
                yield _decode(decoder, line, f"{name}:{number}")
                is_empty = False
    except InputError as error:
        yield error
        return
    if skipped:
        yield InputError(
            f"{name} was read in part",
            found="a compressed file that ends early or is damaged",
            expected="a whole gzip or zstd file",
            hint="copy it again",
        )
    elif is_empty:
        yield InputError(f"no case in {name}", found="no line of text", expected=_EXPECTED)


def _lines(chunks: Iterable[bytes], name: str) -> Iterator[bytes]:
    def too_long(number: int) -> InputError:
        return InputError(
            f"{name}:{number} is no case",
            found=f"a line of more than {MAX_RECORD_BYTES >> 20} MiB",
            expected=_EXPECTED,
            hint="the lines after it were not read; give a long log as a file",
        )

    return raw_lines(chunks, too_long, limit=MAX_RECORD_BYTES)


_EXPECTED = 'an object with "id" (string) and "text" (list of strings)'


def _decode(
    decoder: msgspec.json.Decoder[CaseRecord], line: bytes, where: str
) -> CaseRecord | InputError:
    try:
        record = _read(decoder, line)
        record.id.encode()  # half a surrogate pair can't be printed, so no verdict would name it
    except UnicodeEncodeError:
        found = '"id" with half a surrogate pair'
    except UnicodeDecodeError:
        found = "bytes that are no UTF-8"
    except RecursionError:
        found = "brackets within brackets, too deep to be read"
    except json.JSONDecodeError as error:
        found = f"{error.msg.lower()} at column {error.colno}"
    except msgspec.ValidationError as error:
        found = str(error)
    else:
        return record
    return InputError(
        f"{where} is no case",
        found=found,
        expected=_EXPECTED,
        hint="check the line with a JSON tool",
    )


def _read(decoder: msgspec.json.Decoder[CaseRecord], line: bytes) -> CaseRecord:
    try:
        return decoder.decode(line)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):
        # json.dumps writes undecodable bytes of a log as lone surrogates, which msgspec refuses.
        # As floats, since Python refuses long whole numbers; a case has no number to lose.
        return msgspec.convert(json.loads(line, parse_int=float), CaseRecord)
