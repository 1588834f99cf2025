"""Files of events: JSON lines, Arrow IPC and Parquet, for every event of `relume.events`.

`docs/formats/events.md` describes them. All are streamed: what is held is one line, or one batch of
rows. What a file is, its first bytes tell when it is read, its name when it is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from relume.errors import InputError
from relume.events import Event
from relume.ingest.eventlines import decode_event, encode_event
from relume.ingest.opening import STDIN, read_chunks
from relume.ingest.rawlines import MAX_RECORD_BYTES, raw_lines
from relume.ingest.skips import SkipCounts
from relume.schemas import event_of, from_table, to_table

BATCH_ROWS = 8192
"""Rows that are read, or written, at once."""
JSON_LINES, _ARROW, _PARQUET = "JSON lines", "Arrow IPC", "Parquet"
SUFFIXES = {
    ".arrow": _ARROW,
    ".feather": _ARROW,
    ".ipc": _ARROW,
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
    ".parquet": _PARQUET,
}
"""What is written, by the end of the name."""
_IPC_FILE, _IPC_STREAM, _PARQUET_FILE = b"ARROW1", b"\xff\xff\xff\xff", b"PAR1"


def read_events(path: Path | str, *, skipped: SkipCounts | None = None) -> Iterator[Event]:
    """Yield the events of a file, in its order.

    JSON lines may hold events of several types, be compressed (gzip, zstd), and come on standard
    input (``-``). A table holds one type; further columns are passed over.

    Parameters
    ----------
    path
        The file.
    skipped
        Where bad lines and rows are counted (`event`), the first ones by number and reason, and the
        lost end of a compressed file; the rest is read. When null, the first one is raised.

    Raises
    ------
    InputError
        When the file can't be read, or is a table of no event or of another schema version.
    """
    kind = JSON_LINES if str(path) == STDIN else _kind(Path(path))
    if kind == JSON_LINES:
        yield from _read_lines(path, skipped)
        return
    first = 0
    for batch in _batches(Path(path), kind):
        table = pa.Table.from_batches([batch])
        yield from events_in(table, f"{path}, row", first=first, skipped=skipped)
        first += batch.num_rows


def write_events(path: Path, events: Iterable[Event]) -> int:
    """Write events, whole or not at all, as the file's name says (`SUFFIXES`); return how many.

    A table holds events of one type; JSON lines hold any.

    Raises
    ------
    InputError
        For another name, for a table of several types or of none, and when it can't be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from relume.events import NodeEvent
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "nodes.ndjson")
    ...     count = write_events(path, [NodeEvent(source="sinfo", node="n1", state="down*")])
    ...     [event] = read_events(path)
    >>> count, event.node, event.state
    (1, 'n1', 'down*')
    """
    kind = SUFFIXES.get(path.suffix)
    if kind is None:
        raise InputError(
            f"cannot write events to {path}",
            found=f"a name that ends in {path.suffix!r}",
            expected=f"one of {', '.join(SUFFIXES)}",
        )
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        if kind == JSON_LINES:
            count = _write_lines(temporary, events)
        else:
            count = _write_table(temporary, events, kind)
        temporary.replace(path)
    except OSError as error:
        raise InputError(
            f"cannot write events to {path}",
            found=error.strerror or str(error),
            expected="a folder that can be written",
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
    return count


def _kind(path: Path) -> str:
    start = next(read_chunks(path), b"")[:16]
    if start.startswith(_PARQUET_FILE):
        return _PARQUET
    return _ARROW if start.startswith((_IPC_FILE, _IPC_STREAM)) else JSON_LINES


def _read_lines(path: Path | str, skipped: SkipCounts | None) -> Iterator[Event]:
    def too_long(number: int) -> InputError:
        return InputError(
            f"{path}:{number}: line is no event",
            found=f"more than {MAX_RECORD_BYTES >> 20} MiB",
            expected="an event a line",
        )

    damage = SkipCounts()
    lines = raw_lines(read_chunks(path, skipped=damage), too_long)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield decode_event(line)
        except InputError as error:
            _refuse(error, f"{path}:{number}", skipped)
    if damage and skipped is None:
        raise InputError(
            f"{path} was read in part",
            found="a compressed file that ends early or is damaged",
            expected="a whole gzip or zstd file",
            hint="copy it again",
        )
    if skipped is not None:
        skipped.merge(damage)


def _batches(path: Path, kind: str) -> Iterator[pa.RecordBatch]:
    try:
        if kind == _PARQUET:
            with pq.ParquetFile(path) as file:
                event_of(file.schema_arrow)  # also when it has no row
                yield from file.iter_batches(BATCH_ROWS, use_threads=False)
            return
        with pa.OSFile(str(path)) as source, _ipc_reader(source) as reader:
            event_of(reader.schema)
            yield from _ipc_batches(reader)
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"cannot read {path}",
            found=str(error)[:200],
            expected=f"a whole file of {kind}",
            hint="was it cut off while it was copied?",
        ) from error


def _ipc_reader(
    source: pa.NativeFile,
) -> pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader:
    is_file = source.read(len(_IPC_FILE)) == _IPC_FILE
    source.seek(0)
    return pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)


def _ipc_batches(
    reader: pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader,
) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.ipc.RecordBatchStreamReader):
        yield from reader
        return
    for index in range(reader.num_record_batches):
        yield reader.get_batch(index)


def events_in(
    table: pa.Table, where: str, *, first: int = 0, skipped: SkipCounts | None = None
) -> Iterator[Event]:
    """Yield the events of rows; where a row is none, halves are tried until it stands alone.

    Parameters
    ----------
    table
        Rows of one event.
    where, first
        What messages call a row, and the number of the first one.
    skipped
        Where bad rows are counted (`event`); when null, the first one is raised.

    Raises
    ------
    InputError
        When a row is no event and nobody counts them.
    """
    try:
        yield from from_table(table)
    except InputError as error:
        if table.num_rows <= 1:  # none: its columns are wrong
            _refuse(error, f"{where} {first}", skipped)
            return
        half = table.num_rows // 2
        yield from events_in(table.slice(0, half), where, first=first, skipped=skipped)
        yield from events_in(table.slice(half), where, first=first + half, skipped=skipped)


def _refuse(error: InputError, where: str, skipped: SkipCounts | None) -> None:
    if skipped is None:
        raise InputError(
            f"{where}: {error.what}", found=error.found, expected=error.expected, hint=error.hint
        ) from error
    skipped.add("event", file=f"{where}: found {error.found}")


def _write_lines(path: Path, events: Iterable[Event]) -> int:
    count = 0
    with path.open("wb") as file:
        for event in events:
            file.write(encode_event(event))
            count += 1
        _settle(file)
    return count


def _write_table(path: Path, events: Iterable[Event], kind: str) -> int:
    source, count = iter(events), 0
    table = to_table(list(islice(source, BATCH_ROWS)))
    schema, event = table.schema, event_of(table.schema)
    with path.open("wb") as file:
        if kind == _PARQUET:
            writer = pq.ParquetWriter(file, schema, compression="zstd", compression_level=1)
        else:
            writer = pa.ipc.new_file(file, schema)
        with writer:
            while table.num_rows:
                writer.write_table(table)
                count += table.num_rows
                table = to_table(list(islice(source, BATCH_ROWS)), event)
        _settle(file)
    return count


def _settle(file: BinaryIO) -> None:
    """Make it durable before it gets its name: else a crash leaves an empty file under it."""
    file.flush()
    os.fsync(file.fileno())
