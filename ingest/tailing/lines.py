"""Bytes of a growing log in, whole lines out as soon as they are whole.

Unlike `relume.ingest.blocks.BlockAssembler`, which waits for a mebibyte, this delivers what is
there. A redraw of a progress bar counts as whole at its carriage return: a bar may go on for hours
without a line feed, and it may be all that shows that its job advances.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from relume.ingest.blocks import MAX_LINE_BYTES, OVERLAP_BYTES, Block
from relume.ingest.skips import SkipCounts

HOLE_BYTES = 8
"""So many NULs are no text but a hole: of a file that was truncated under its writer."""
_HOLE = re.compile(rb"\x00{%d,}+" % HOLE_BYTES)
_CONTINUATION = range(0x80, 0xC0)
"""Bytes of a UTF-8 character after its first."""


class TailBlock(Block):
    """Whole lines of a tailed file: `data` is UTF-8, undecodable bytes replaced, and ends with LF.

    So what is analysed live is, byte for byte, what a replay reads back from the lake.
    """

    __slots__ = ()

    def __init__(
        self, raw: bytes, file: str, first_line: int, *, raw_offset: int, line_offset: int
    ) -> None:
        super().__init__(raw, file, first_line, raw_offset=raw_offset, line_offset=line_offset)
        if valid_utf8(self.data) is not self.data:
            self._marked, self.data = valid_utf8(self._marked), valid_utf8(self.data)
            self._breaks = [found.end() for found in re.finditer(b"\n", raw)]

    def byte_offset_at(self, offset: int) -> int:
        """Byte offset, in the file, of the start of the physical line of `data[offset]`."""
        if self._breaks is None:
            return super().byte_offset_at(offset)
        self._seek(offset)
        if not self._index:
            return self._line_offset
        return self._raw_offset + self._breaks[self._index - 1]

    def line_offsets(self) -> list[int] | None:
        """Byte offset of each line; null when there are redraws, and so lines that share one."""
        if b"\r" in self._marked:
            return None
        lengths = (len(line) + 1 for line in self._raw.split(b"\n")[:-1])
        offsets = list(accumulate(lengths, initial=self._raw_offset))[:-1]
        return [self._line_offset, *offsets[1:]]

    def physical_lines(self) -> Iterator[tuple[int, int, int]]:
        """Yield, for each physical line, how many logical lines it is, its number, its offset."""
        number, offset, at = self.first_line, self._line_offset, self._raw_offset
        end = at + len(self._raw)
        for text, raw in zip(self._marked.split(b"\n"), self._raw.split(b"\n"), strict=True):
            at += len(raw) + 1
            # After the last LF comes nothing, or redraws up to the last carriage return.
            if rows := text.count(b"\r") + (at <= end):
                yield rows, number, offset
            number, offset = number + 1, at


class LineHolder:
    r"""Holds back the unfinished last line of one file until its end is there.

    What lines come out doesn't depend on how the bytes come in. Holds at most `max_line_bytes`: a
    longer line is delivered in pieces, each of which repeats the last 4 KiB of the one before.
    Holes are passed over; one ends a line.

    Parameters
    ----------
    file
        Name that the blocks carry.
    partial
        What an earlier holder held back.
    start
        Byte offset of what is taken next, 0-based physical line of `partial`, and the byte offset
        of that line.
    skipped
        Where lines that had to be split are counted; nowhere when null.
    max_line_bytes
        Length at which a line is split; at least twice the overlap.

    Attributes
    ----------
    line, line_start
        0-based physical line that the held bytes are in, and its byte offset.

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
        self._file = file
        self._held = bytearray(partial)
        self._offset = start[0] - len(partial)
        self.line, self.line_start = start[1:]
        self._skipped = skipped
        self._max_line_bytes = max(max_line_bytes, 2 * OVERLAP_BYTES)
        self._in_long_line = False

    @property
    def partial(self) -> bytes:
        """What is held back."""
        return bytes(self._held)

    def take(self, data: bytes) -> list[TailBlock]:
        """Take bytes; return the lines that are whole."""
        self._held += data
        blocks: list[TailBlock] = []
        while b"\0" in self._held and (hole := _HOLE.search(self._held)):
            start, end = hole.span()
            del hole  # it locks the buffer
            blocks += self._emit_until(start)
            # A hole that may go on leaves just enough to be known as one.
            left = HOLE_BYTES if end - start == len(self._held) else 0
            self._drop(end - start - left)
            if left:
                break
        while (cut := self._next_cut(self._known())) is not None:
            blocks.append(self._emit(*cut))
        return blocks

    def finish(self) -> list[TailBlock]:
        """Return what is held back: no more bytes will come."""
        if _HOLE.match(self._held):
            self._drop(len(self._held))
        return self._emit_until(len(self._held))

    def _known(self) -> int:
        """How many of the held bytes are text for sure: NULs at the end may become a hole."""
        known = len(self._held)
        while known and not self._held[known - 1]:
            known -= 1
        return known

    def _emit_until(self, end: int) -> list[TailBlock]:
        """Deliver the first `end` bytes: what follows is no part of their line."""
        blocks: list[TailBlock] = []
        end += self._offset
        while self._offset < end:
            limit = end - self._offset
            blocks.append(self._emit(*(self._next_cut(limit) or (limit, limit))))
        return blocks

    def _next_cut(self, limit: int) -> tuple[int, int] | None:
        """(end of the next block, bytes to drop after it) within the first `limit` bytes.

        Null when more bytes are needed.
        """
        held, window = self._held, self._max_line_bytes
        end = held.rfind(b"\n", 0, min(window, limit)) + 1
        if not end:
            # The last byte doesn't count: a carriage return there may be half of a CRLF.
            end = held.rfind(b"\r", 0, max(0, min(window, limit - 1))) + 1
            end += end > 0 and held[end : end + 1] == b"\n"
        if end:
            return end, end
        if limit <= window:
            return None
        return self._character_start(window), self._character_start(window - OVERLAP_BYTES)

    def _character_start(self, position: int) -> int:
        """Move `position` back to the start of a UTF-8 character."""
        for back in range(4):
            if self._held[position - back] not in _CONTINUATION:
                return position - back
        return position

    def _emit(self, end: int, drop: int) -> TailBlock:
        raw = bytes(self._held[:end])
        block = TailBlock(
            raw if raw.endswith((b"\n", b"\r")) else raw + b"\n",
            self._file,
            self.line,
            raw_offset=self._offset,
            line_offset=self.line_start,
        )
        is_piece = drop < end
        if is_piece and not self._in_long_line and self._skipped is not None:
            self._skipped.add("long_line_split")
        self._in_long_line = is_piece
        if lines := raw.count(b"\n", 0, drop):
            self.line += lines
            self.line_start = self._offset + raw.rfind(b"\n", 0, drop) + 1
        self._drop(drop)
        return block

    def _drop(self, size: int) -> None:
        self._offset += size
        del self._held[:size]


def valid_utf8(data: bytes) -> bytes:
    r"""Return `data` with undecodable bytes replaced by U+FFFD; `data` itself if there are none.

    >>> valid_utf8(b"a\xe9 \xc3\xa9").decode()
    'a\ufffd é'
    """
    if data.isascii():
        return data
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
    return data
