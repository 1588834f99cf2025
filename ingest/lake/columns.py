"""Blocks of lines as rows of the lake. Python touches blocks; what is done per line, Arrow does.

So that landing costs little, prefixes of lines are not read before they land: such rows have
`parsed` false, and nothing in the columns that a prefix would fill.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from relume.errors import InputError
from relume.events import LogLine
from relume.ingest.blocks import Block
from relume.ingest.lake.batches import LineBatch, logical_lines
from relume.ingest.lake.samplebatches import NO_TIME
from relume.ingest.tailing.lines import TailBlock, valid_utf8
from relume.schemas import SCHEMAS

LANDED = "landed"
"""Column of every table: which batch a row landed with. Batches are numbered through all tables."""
PARSED = "parsed"
"""Column of `log_line`: whether the row's prefix was read."""
LINE_SCHEMA = (
    SCHEMAS[LogLine]
    .append(pa.field(LANDED, pa.int64(), nullable=False))
    .append(pa.field(PARSED, pa.bool_(), nullable=False))
)
_CONSTANTS = ("file", "stream", "attempt", "node", "cluster", "source", "observed_at", LANDED)
_TIME = LINE_SCHEMA.field("event_time").type
_REPLACEMENT = "\ufffd".encode()


class LineBuffer:
    """Batches on their way into one table.

    Attributes
    ----------
    bytes
        Size of the lines held.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self._rows = 0
        self._data: list[bytes] = []
        self._lines = _Numbers()
        self._offsets = _Numbers()
        self._times: list[pa.Array] = []
        self._constants: list[tuple[Any, ...]] = []
        self._batch_ends: list[int] = []

    def add(self, batch: LineBatch, landed: int) -> None:
        """Take the lines of `batch`, at least one, under the number `landed`."""
        data = _utf8_lines(batch.block.data)
        rows = data.count(b"\n")
        self._add_numbers(batch.block, rows)
        self._times.append(_times(batch, rows))
        self._data.append(data)
        self._rows += rows
        self.bytes += len(data)
        values = (getattr(batch, name) for name in _CONSTANTS[1:-1])
        self._constants.append((batch.block.file, *values, landed))
        self._batch_ends.append(self._rows)

    def table(self) -> pa.Table:
        """Return the rows, at least one, in the order they came in, as `LINE_SCHEMA` has them."""
        texts = _split(b"".join(self._data))
        lengths = pc.add(pc.binary_length(texts).cast(pa.int64()), 1)
        rows = pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), self._rows))
        columns = {
            "text": texts,
            "line": self._lines.column(pc.subtract(rows, 1)),
            "offset": self._offsets.column(pc.subtract(pc.cumulative_sum(lengths), lengths)),
            "message_start": pa.repeat(pa.scalar(0, pa.int32()), self._rows),
            "event_time": pa.concat_arrays(self._times),
            PARSED: pa.repeat(pa.scalar(value=False, type=pa.bool_()), self._rows),
        }
        for name, values in zip(_CONSTANTS, zip(*self._constants, strict=True), strict=True):
            columns[name] = _spread(self._batch_ends, values, LINE_SCHEMA.field(name).type)
        arrays = [
            columns[column.name] if column.name in columns else pa.nulls(self._rows, column.type)
            for column in LINE_SCHEMA
        ]
        return pa.table(arrays, schema=LINE_SCHEMA)

    def _add_numbers(self, block: Block, rows: int) -> None:
        """Note the physical line and the byte offset of each of the `rows` lines of `block`."""
        if _is_as_in_file(block, rows):
            self._lines.count_on(rows, block.line_at(0), self._rows)
            self._offsets.count_on(rows, block.byte_offset_at(0), self.bytes)
        elif not isinstance(block, TailBlock):
            for start, _ in logical_lines(block.data):
                self._lines.repeat(1, block.line_at(start))
                self._offsets.repeat(1, block.byte_offset_at(start))
        elif (offsets := block.line_offsets()) is not None:
            self._lines.count_on(rows, block.line_at(0), self._rows)
            self._offsets.extend(offsets)
        else:
            for count, line, offset in block.physical_lines():
                self._lines.repeat(count, line)
                self._offsets.repeat(count, offset)


class _Numbers:
    """A column of numbers in runs of rows: each repeats a number, or counts on from it."""

    def __init__(self) -> None:
        self._rows = 0
        self._ends: list[int] = []
        self._bases: list[int] = []
        self._steps: list[int] = []

    def count_on(self, rows: int, first: int, counted: int) -> None:
        """Add numbers that begin with `first`, where what is counted has come to `counted`."""
        self._run(rows, first - counted, 1)

    def repeat(self, rows: int, number: int) -> None:
        """Add `number` for each of `rows`."""
        self._run(rows, number, 0)

    def extend(self, numbers: Sequence[int]) -> None:
        """Add a number a row."""
        self._ends.extend(range(self._rows + 1, self._rows + len(numbers) + 1))
        self._bases.extend(numbers)
        self._steps.extend(repeat(0, len(numbers)))
        self._rows += len(numbers)

    def column(self, counted: pa.Array) -> pa.Array:
        """Return the numbers; `counted` says for each row what has been counted before it."""
        bases = _spread(self._ends, self._bases, pa.int64())
        return pc.add(bases, pc.multiply(_spread(self._ends, self._steps, pa.int64()), counted))

    def _run(self, rows: int, base: int, step: int) -> None:
        self._rows += rows
        self._ends.append(self._rows)
        self._bases.append(base)
        self._steps.append(step)


def _times(batch: LineBatch, rows: int) -> pa.Array:
    if batch.event_times is None:
        return pa.nulls(rows, _TIME)
    times = batch.event_times
    unknown = times == NO_TIME
    return pa.array(times, mask=unknown if unknown.any() else None).cast(_TIME)


def _utf8_lines(data: bytes) -> bytes:
    data = valid_utf8(data)
    return data if data.endswith(b"\n") else data + b"\n"


def _is_as_in_file(block: Block, rows: int) -> bool:
    """Whether normalising changed no length, which the last line tells: it only ever shortens."""
    data = block.data
    if _REPLACEMENT in data or valid_utf8(data) is not data:
        return False  # undecodable bytes are shorter than what stands for them
    last = data.rfind(b"\n", 0, len(data) - 1) + 1
    return (
        block.line_at(last) - block.line_at(0) == rows - 1
        and block.byte_offset_at(last) - block.byte_offset_at(0) == last
    )


def _split(data: bytes) -> pa.Array:
    """The lines of `data`, which ends with LF, as one array, without making Python strings."""
    bounds = pa.array([0, len(data) - 1], pa.int32()).buffers()[1]
    whole = pa.StringArray.from_buffers(1, bounds, pa.py_buffer(data))
    return pc.split_pattern(whole, "\n").values


def _spread(ends: Sequence[int], values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Repeat each of `values` up to its row in `ends`."""
    children = [pa.array(ends, pa.int32()), pa.array(values, kind)]
    # `from_arrays` looks for pandas each time, all over the path.
    runs = pa.Array.from_buffers(
        pa.run_end_encoded(pa.int32(), kind), ends[-1], [None], 0, children=children
    )
    return pc.run_end_decode(runs)


def require_unicode(batch: LineBatch) -> None:
    """Refuse a batch with a name that no column can hold.

    Raises
    ------
    InputError
        When a text isn't valid Unicode.
    """
    for value in (batch.block.file, *(getattr(batch, name) for name in _CONSTANTS[1:-1])):
        if isinstance(value, str) and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise InputError(
                    "lines for the lake",
                    found=repr(value)[:200],
                    expected="names that are valid Unicode",
                    hint="decode them with errors='replace' where they are read",
                ) from error
