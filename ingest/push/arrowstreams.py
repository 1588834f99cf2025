"""Streams of Arrow IPC: a table of one event, as in files (`docs/formats/events.md`).

They come from anywhere, so every batch is checked down to its last offset before it is used, and
one whose buffers are compressed is refused: what they unpack to nothing bounds.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.ipc

from relume.errors import InputError
from relume.events import Event, Sample
from relume.ingest.eventfiles import events_in
from relume.ingest.lake.samplebatches import SampleBatch, landed_batches
from relume.ingest.skips import SkipCounts
from relume.schemas import SCHEMAS, event_of, from_table

MAX_ROWS: Final = 1_000_000
"""Rows of one body."""
MAX_REFUSED: Final = 1_000
"""Rows of one body that may be no event: to find each takes many looks at the rows around it."""
_BATCH, _DICTIONARY = 3, 2
"""Kinds of messages (`MessageHeader` of Arrow's Message.fbs)."""
_KIND, _HEADER = 1, 2
"""Fields of a message."""
_DATA, _COMPRESSION = 1, 3
"""Fields of a dictionary batch, and of a record batch."""
_FIELDS_FROM = 4
_RUN = "_run"


def event_stream(data: bytes, skipped: SkipCounts) -> Iterator[Event | SampleBatch]:
    """Yield the events of a stream in its order; samples in columns.

    Parameters
    ----------
    data
        All of the stream.
    skipped
        Where rows that are no event are counted (`event`), the first ones by number and reason.

    Raises
    ------
    InputError
        When it is no stream, cut, damaged or compressed inside, a table of no event or of another
        schema version or other columns, and when it has too many rows, or too many that are none.
    """
    try:
        _require_plain(data)
        with pa.ipc.open_stream(data) as reader:
            kind = event_of(reader.schema)
            from_table(reader.schema.empty_table())  # its columns are those of the event
            batches = list(reader)
    except (pa.ArrowException, OSError, struct.error, MemoryError) as error:
        raise _no_stream(str(error)) from error
    rows = sum(batch.num_rows for batch in batches)
    if rows > MAX_ROWS:
        raise InputError("body", found=f"{rows:,} rows", expected=f"at most {MAX_ROWS:,}")
    first, refused = 0, _Few()
    for batch in batches:
        try:
            batch.validate(full=True)
        except pa.ArrowException as error:
            raise _no_stream(str(error)) from error
        table = pa.Table.from_batches([batch])
        if kind is Sample and _is_whole(batch):
            yield from _samples(table)
        else:
            yield from events_in(table, "row", first=first, skipped=refused)
        first += batch.num_rows
    skipped.merge(refused)


class _Few(SkipCounts):
    """Counts a few, and refuses more."""

    def add(self, reason: str, count: int = 1, *, file: Path | str | None = None) -> None:
        """Count what was not read."""
        super().add(reason, count, file=file)
        if sum(self.as_dict().values()) > MAX_REFUSED:
            raise InputError(
                "body",
                found=f"more than {MAX_REFUSED:,} rows that are no event; {file}",
                expected="values of the event",
            )


def _is_whole(batch: pa.RecordBatch) -> bool:
    """Whether every row is a sample: null only where that is allowed."""
    required = (field.name for field in SCHEMAS[Sample] if not field.nullable)
    return not any(batch.column(name).null_count for name in required)


def _samples(table: pa.Table) -> Iterator[SampleBatch]:
    together = pa.repeat(pa.scalar(0, pa.int64()), table.num_rows)
    for _, batch in landed_batches(table.append_column(_RUN, together), _RUN):
        yield batch


def _require_plain(data: bytes) -> None:
    """Refuse batches whose buffers are compressed, before any is unpacked."""
    messages = pa.ipc.MessageReader.open_stream(data)
    while (message := _next(messages)) is not None:
        table = _Flat(message.metadata.to_pybytes()).table()
        kind, header = table.byte(_KIND), table.field(_HEADER)
        if kind == _DICTIONARY and header is not None:
            header = header.table().field(_DATA)
        elif kind != _BATCH:
            continue
        if header is not None and header.table().field(_COMPRESSION) is not None:
            raise _no_stream(
                "buffers that are compressed one by one",
                "compress the body as a whole: Content-Encoding zstd or gzip",
            )


def _next(messages: pa.ipc.MessageReader) -> pa.ipc.Message | None:
    try:
        return messages.read_next_message()
    except StopIteration:
        return None


@dataclass(frozen=True, slots=True)
class _Flat:
    """A place in a flatbuffer (https://flatbuffers.dev/internals); Arrow has checked it."""

    data: bytes
    at: int = 0

    def table(self) -> _Flat:
        """The table to which the offset here leads."""
        return _Flat(self.data, self.at + self._number("<I", self.at))

    def byte(self, field: int) -> int:
        """The byte in a field of this table, 0 when it isn't there."""
        found = self.field(field)
        return 0 if found is None else self._number("<B", found.at)

    def field(self, field: int) -> _Flat | None:
        """A field of this table, null when it isn't there."""
        names = self.at - self._number("<i", self.at)
        place = _FIELDS_FROM + 2 * field
        if place >= self._number("<H", names):
            return None
        offset = self._number("<H", names + place)
        return _Flat(self.data, self.at + offset) if offset else None

    def _number(self, form: str, at: int) -> int:
        if at < 0:
            raise struct.error("an offset before the message")
        found: int = struct.unpack_from(form, self.data, at)[0]
        return found


def _no_stream(found: str, hint: str = "was it cut off while it was sent?") -> InputError:
    return InputError(
        "body", found=found[:300], expected="a whole stream of Arrow IPC, of events", hint=hint
    )
