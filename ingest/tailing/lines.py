"""Bytes of a growing log in, whole lines out as soon as they are whole.

Unlike `relume.ingest.blocks.BlockAssembler`, which waits for a mebibyte, this delivers what is
there. A redraw of a progress bar counts as whole at its carriage return: a bar may go on for hours
without a line feed, and it is all that shows that its job advances.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

from relume.ingest.blocks import MAX_LINE_BYTES, OVERLAP_BYTES, Block, normalised
from relume.ingest.skips import SkipCounts


class TailBlock(Block):
    """Whole lines of a tailed file: `data` is UTF-8, undecodable bytes replaced, and ends with LF.

    So what is analysed live is, byte for byte, what a replay reads back from the lake.
    `byte_offset_at` gives the start of the physical line even where the block begins within one.
    """

    __slots__ = ("_line_start",)

    def __init__(self, raw: bytes, file: str, first_line: int, starts: tuple[int, int]) -> None:
        """Take the raw bytes and (their offset, offset of the physical line they begin in)."""
        super().__init__(raw, file, first_line, starts[0])
        self._line_start = starts[1]
        self.data = valid_utf8(self.data)

    def byte_offset_at(self, offset: int) -> int:
        """Byte offset, in the file, of the start of the physical line of `data[offset]`."""
        if self.line_at(offset) == self.first_line:
            return self._line_start
        return super().byte_offset_at(offset)

    def _starts(self) -> tuple[list[int], list[int]]:
        if self._line_starts is None:
            lines = self._raw.split(b"\n")
            raw_starts = _starts(map(len, lines))
            if self.data is self._raw:
                self._line_starts = (raw_starts, raw_starts)
            else:
                cleaned = (len(valid_utf8(normalised(line))) for line in lines)
                self._line_starts = (_starts(cleaned), raw_starts)
        return self._line_starts


class LineHolder:
    r"""Holds back the unfinished last line of one file until its end is there.

    What lines come out doesn't depend on how the bytes come in. Holds at most `max_line_bytes`: a
    longer line is delivered in pieces, each of which repeats the last 4 KiB of the one before.

    Attributes
    ----------
    line
        0-based physical line that the held bytes are in.
    line_start
        Byte offset of that line's start.

    Examples
    --------
    >>> holder = LineHolder("job.log")
    >>> [block.data for block in holder.take(b"step 1\nst") + holder.take(b"ep 2\r 10%\r 2")]
    [b'step 1\n', b'step 2\n 10%\n']
    >>> holder.partial, [block.data for block in holder.finish()]
    (b' 2', [b' 2\n'])
    """

    def __init__(
        self,
        file: str,
        *,
        partial: bytes = b"",
        start: tuple[int, int, int] = (0, 0, 0),
        skipped: SkipCounts | None = None,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        """Begin at `start`: byte offset after `partial`, physical line, byte offset of that."""
        self._file = file
        self._held = bytearray(partial)
        self._offset = start[0] - len(partial)
        self.line, self.line_start = start[1:]
        self._skipped = skipped
        self._max_line_bytes = max(max_line_bytes, 2 * OVERLAP_BYTES)
        self._split_line = -1

    @property
    def partial(self) -> bytes:
        """What is held back."""
        return bytes(self._held)

    def take(self, data: bytes) -> list[TailBlock]:
        """Take bytes; return the lines that are whole."""
        self._held += data
        blocks: list[TailBlock] = []
        while (cut := self._next_cut()) is not None:
            blocks.append(self._emit(*cut))
        return blocks

    def finish(self) -> list[TailBlock]:
        """Return what is held back: no more bytes will come."""
        return [self._emit(len(self._held), len(self._held))] if self._held else []

    def _next_cut(self) -> tuple[int, int] | None:
        """(end of the next block, bytes to drop after it), null when more bytes are needed."""
        held, window = self._held, self._max_line_bytes
        end = held.rfind(b"\n", 0, window) + 1
        if not end:
            # The last byte doesn't count: a carriage return there may be half of a CRLF.
            end = held.rfind(b"\r", 0, min(window, len(held) - 1)) + 1
            end += end > 0 and held[end : end + 1] == b"\n"
        if end:
            return end, end
        return (window, window - OVERLAP_BYTES) if len(held) > window else None

    def _emit(self, end: int, drop: int) -> TailBlock:
        raw = bytes(self._held[:end])
        block = TailBlock(_ended(raw), self._file, self.line, (self._offset, self.line_start))
        if drop < end and self._split_line != self.line:
            self._split_line = self.line
            if self._skipped is not None:
                self._skipped.add("long_line_split")
        last = raw.rfind(b"\n", 0, drop) + 1
        if last:
            self.line += raw.count(b"\n", 0, drop)
            self.line_start = self._offset + last
        self._offset += drop
        del self._held[:drop]
        return block


def valid_utf8(data: bytes) -> bytes:
    r"""Return `data` with undecodable bytes replaced by U+FFFD; `data` itself if there are none.

    >>> valid_utf8(b"caf\xe9 \xc3\xa9").decode()
    'caf\ufffd é'
    """
    if data.isascii():
        return data
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
    return data


def _ended(raw: bytes) -> bytes:
    """End a block with LF; the carriage return of a redraw becomes that LF."""
    if raw.endswith(b"\n"):
        return raw
    return (raw[:-1] if raw.endswith(b"\r") else raw) + b"\n"


def _starts(lengths: Iterable[int]) -> list[int]:
    return list(accumulate((length + 1 for length in lengths), initial=0))
