"""What was read together: it lands as one, and comes back as one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, repeat
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from relume.clock import MICROSECONDS_PER_SECOND, to_iso
from relume.events import Event, LogLine
from relume.ingest.blocks import Block
from relume.ingest.lake.samplebatches import NO_TIME, SampleBatch
from relume.ingest.loglines import LineParser

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_PARSERS = 4096
"""Parsers kept; one more and the oldest is made anew when it is needed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LineBatch:
    """A block of lines of one file, with what is the same for all of them.

    The fields are those of `relume.events.LogLine`; `node` is the file's own (a kernel log), not
    one that a line's prefix names. `event_times` has the UTC microseconds of each logical line,
    `NO_TIME` where one has none; it is null where nobody but the lines themselves says any.
    """

    block: Block
    attempt: str | None = None
    stream: str = "stdout"
    node: str | None = None
    observed_at: int | None = None
    cluster: str = "local"
    source: str = "tail"
    event_times: NDArray[np.int64] | None = None


Landing: TypeAlias = Event | LineBatch | SampleBatch
"""What lands: an event, or lines of a log or samples that were read together."""


class LandedBlock(Block):
    """A block as the lake gives it back: data, line numbers and offsets are those that landed."""

    __slots__ = ("_lines", "_offsets", "_row_starts")

    def __init__(
        self, file: str, texts: Sequence[str], lines: Sequence[int], offsets: Sequence[int]
    ) -> None:
        """Take the logical lines, at least one, with their physical lines and offsets."""
        rows = [text.encode() for text in texts]
        data = b"\n".join([*rows, b""])
        super().__init__(data, file, lines[0], raw_offset=offsets[0], line_offset=offsets[0])
        self.data = data  # normalised already: doing it twice might take away more
        self._lines, self._offsets = lines, offsets
        self._row_starts = list(accumulate((len(row) + 1 for row in rows[:-1]), initial=0))

    def line_at(self, offset: int) -> int:
        """0-based physical line that holds byte `offset` of `data`."""
        return self._lines[self._row(offset)]

    def lines_at(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """0-based physical lines that hold bytes `offsets` of `data`."""
        rows = np.searchsorted(self._row_starts, offsets, side="right") - 1
        return np.array(self._lines, np.int64)[rows]

    def numbers(self, begin: int, end: int) -> Sequence[int]:
        """0-based physical lines of the lines in ``data[begin:end]``; the first begins there."""
        return self._lines[self._row(begin) : self._row(end - 1) + 1]

    def byte_offset_at(self, offset: int) -> int:
        """Byte offset, in the uncompressed file, of the start of that physical line."""
        return self._offsets[self._row(offset)]

    def _row(self, offset: int) -> int:
        return bisect_right(self._row_starts, offset) - 1


class Parsers:
    """The parser of each log, the same for the batches of a live run and for those of its replay.

    The year of clocks without one comes from the day of each batch's `observed_at`, so it doesn't
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
        day = None if read is None else to_iso(read)[:10]
        key = (batch.block.file, batch.stream, batch.attempt, batch.node, day)
        if key not in self._parsers:
            if len(self._parsers) >= MAX_PARSERS:
                del self._parsers[next(iter(self._parsers))]
            self._parsers[key] = LineParser(
                batch.block.file,
                stream=batch.stream,
                attempt=batch.attempt,
                zone=self._zone,
                modified=None if read is None else read / MICROSECONDS_PER_SECOND,
                node=batch.node,
            )
        return self._parsers[key]

    def lines(self, batch: LineBatch) -> Iterator[LogLine]:
        """Yield the events of `batch`, prefixes read: some ten microseconds a line."""
        parse, block = self.of(batch).parse, batch.block
        times = repeat(NO_TIME) if batch.event_times is None else batch.event_times.tolist()
        for (start, raw), told in zip(logical_lines(block.data), times, strict=False):
            text = raw.decode("utf-8", "replace")
            line = parse(text, block.line_at(start), block.byte_offset_at(start))
            yield replace(
                line,
                event_time=line.event_time if told == NO_TIME else told,
                node=line.node or batch.node,
                observed_at=batch.observed_at,
                cluster=batch.cluster,
                source=batch.source,
            )


def logical_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    r"""Yield the lines of normalised `data`, each with where it starts.

    >>> list(logical_lines(b"one\ntwo"))
    [(0, b'one'), (4, b'two')]
    """
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        yield start, data[start:end]
        start = end + 1
