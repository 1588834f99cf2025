"""Lines of logs as columns: a block of lines in, rows of the lake out, and the same block back.

Python touches blocks, never lines: all work per line is done inside Arrow. So that landing costs
little, the prefixes of lines are not read before they land; `parsed` says so of each row.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from relume.errors import InputError
from relume.events import LogLine
from relume.ingest.blocks import Block
from relume.ingest.loglines import LineParser
from relume.ingest.tailing.lines import valid_utf8

_REPLACEMENT = "\ufffd".encode()
MAX_PARSERS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class LineBatch:
    """Lines of one file that were read together.

    The fields are those of `relume.events.LogLine`, the same for all lines; `node` is the file's
    own (a kernel log), not one that a line's prefix names.
    """

    block: Block
    attempt: str | None = None
    stream: str = "stdout"
    node: str | None = None
    observed_at: int | None = None
    cluster: str = "local"
    source: str = "tail"


class LandedBlock(Block):
    """A block as the lake gives it back: `data`, line numbers and offsets as they were landed."""

    __slots__ = ("_lines", "_offsets", "_row_starts")

    def __init__(
        self, file: str, texts: Sequence[str], lines: Sequence[int], offsets: Sequence[int]
    ) -> None:
        rows = [text.encode() for text in texts]
        data = b"\n".join([*rows, b""])
        super().__init__(data, file, lines[0], offsets[0])
        self.data = data
        self._lines, self._offsets = lines, offsets
        self._row_starts = list(accumulate((len(row) + 1 for row in rows[:-1]), initial=0))

    def line_at(self, offset: int) -> int:
        """0-based physical line that holds byte `offset` of `data`."""
        return self._lines[self._row(offset)]

    def byte_offset_at(self, offset: int) -> int:
        """Byte offset, in the uncompressed file, of the start of that physical line."""
        return self._offsets[self._row(offset)]

    def _row(self, offset: int) -> int:
        return bisect_right(self._row_starts, offset) - 1


class Parsers:
    """The parser of each log: the same for the batches of a live run and of its replay.

    The year of clocks without one is that of `LineBatch.observed_at`, batch by batch, so it doesn't
    depend on when a process was started.

    Parameters
    ----------
    zone
        IANA name of the zone of clocks that name none.
    """

    def __init__(self, zone: str = "UTC") -> None:
        self._zone = zone
        self._parsers: dict[tuple[str | None, ...], LineParser] = {}

    def of(self, batch: LineBatch) -> LineParser:
        """Return the parser of the lines of `batch`."""
        read = batch.observed_at
        month = None if read is None else to_iso(read)[:7]
        key = (batch.block.file, batch.stream, batch.attempt, month)
        if key not in self._parsers:
            if len(self._parsers) >= MAX_PARSERS:
                del self._parsers[next(iter(self._parsers))]
            self._parsers[key] = LineParser(
                batch.block.file,
                stream=batch.stream,
                attempt=batch.attempt,
                zone=self._zone,
                modified=None if read is None else read / MICROSECONDS_PER_SECOND,
            )
        return self._parsers[key]

    def lines(self, batch: LineBatch) -> Iterator[LogLine]:
        """Yield the events of a batch, prefixes read. Takes some ten microseconds a line."""
        parse, block, position = self.of(batch).parse, batch.block, 0
        for raw in block.data.removesuffix(b"\n").split(b"\n"):
            text = raw.decode("utf-8", "replace")
            line = parse(text, block.line_at(position), block.byte_offset_at(position))
            position += len(raw) + 1
            yield replace(
                line,
                node=line.node or batch.node,
                observed_at=batch.observed_at,
                cluster=batch.cluster,
                source=batch.source,
            )


class LineBuffer:
    """Batches that wait to be written, as few large pieces.

    Attributes
    ----------
    bytes
        What is held.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self._rows = 0
        self._data: list[bytes] = []
        self._batches: list[tuple[Any, ...]] = []
        self._batch_ends: list[int] = []
        self._runs: list[tuple[int, int]] = []
        self._run_ends: list[int] = []

    def add(self, batch: LineBatch, landed: int) -> None:
        """Take the lines of `batch` as number `landed` of everything that lands.

        Raises
        ------
        InputError
            For a name that isn't Unicode; nothing is taken then.
        """
        constants = (
            batch.block.file,
            batch.stream,
            batch.attempt,
            batch.node,
            batch.cluster,
            batch.source,
        )
        _require_unicode(constants)
        data = batch.block.data
        if not data:
            return
        for rows, line, offset in _runs(batch.block):
            # Kept as differences to what counting all rows and bytes on gives.
            self._runs.append((line - self._rows, offset - self.bytes))
            ...
