"""Bytes of a log in, blocks of whole normalised lines out, however the bytes were cut.

Normalising: CRLF and a bare CR become LF, so that every redraw of a progress bar is a logical line
of its own; ANSI escape sequences are removed; NULs become spaces, and long runs of them (the hole
that a truncated file keeps when its old writer goes on) line breaks. Line *numbers* count only the
LFs of the original, as `grep -n` does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from relume.ingest.skips import SkipCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK_BYTES = 1 << 20
"""Size of a block: large enough that the cost of starting a scan vanishes."""
MAX_LINE_BYTES = 1 << 20
"""A longer line is handed out in pieces of this size."""
OVERLAP_BYTES = 4096
"""How much of a piece the next one repeats, so that words across the cut are still found."""

# No alternative can cross a line break, and none scans a byte twice: the cost is linear.
_ESCAPES = re.compile(
    rb"\x1b(?:\[[0-?]*+[ -/]*+[@-~]"  # CSI: colours, cursor
    rb"|[\]PX^_][^\x07\x1b\r\n]*+(?:\x07|\x1b\\)"  # OSC, DCS and the like: titles, links
    rb"|[ -/]{1,4}+[0-~]"  # character sets (tput sgr0)
    rb"|[0-OQ-WYZ\\`-~])"  # two bytes: everything but the openings above
)
_HOLE = re.compile(rb"\x00{8,}+")
_LF, _CR = b"\n\r"
_LONG = 4096
_CONTINUATION = range(0x80, 0xC0)
"""Bytes of a UTF-8 character after its first."""


class Block:
    r"""Whole normalised lines of one file (or, of an overlong line, a piece).

    Positions are cheap when they are asked for in rising order, as a scan finds them.

    Attributes
    ----------
    data
        Normalised bytes, each logical line ended by LF except perhaps the last of the file.
    file
        Name of the file.
    first_line
        0-based physical line of ``data[0]``.

    Examples
    --------
    >>> [block] = blocks_of_lines(["10%\r20%", "done"], "log")
    >>> block.data, block.line_at(4), block.line_at(8), block.byte_offset_at(8)
    (b'10%\n20%\ndone\n', 0, 1, 8)
    """

    __slots__ = (
        "_at",
        "_breaks",
        "_index",
        "_line_offset",
        "_marked",
        "_raw",
        "_raw_offset",
        "_start",
        "data",
        "file",
        "first_line",
    )

    def __init__(
        self, raw: bytes, file: str, first_line: int, *, raw_offset: int, line_offset: int
    ) -> None:
        self.file = file
        self.first_line = first_line
        self._raw = raw
        self._raw_offset = raw_offset
        self._line_offset = line_offset
        # `_marked` is like `data`, byte for byte, but LF only where a physical line ends.
        self._marked, self.data = _normalised(raw)
        self._at = self._index = self._start = 0
        self._breaks: list[int] | None = None

    def line_at(self, offset: int) -> int:
        """0-based physical line that holds byte `offset` of `data`."""
        self._seek(offset)
        return self.first_line + self._index

    def lines_at(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """0-based physical lines that hold bytes `offsets` of `data`."""
        ends = np.flatnonzero(np.frombuffer(self._marked, np.uint8) == _LF)
        return self.first_line + np.searchsorted(ends, offsets)

    def numbers(self, begin: int, end: int) -> Sequence[int]:
        """0-based physical lines of the lines in ``data[begin:end]``; the first begins there."""
        first = self.line_at(begin)
        if self._marked is self.data:
            return range(first, first + 1 + count_lines(self.data, begin, end - 1))
        starts = [begin]  # some lines of it are parts of physical ones
        while (start := self.data.find(b"\n", starts[-1], end - 1) + 1) > 0:
            starts.append(start)
        return [self.line_at(start) for start in starts]

    def byte_offset_at(self, offset: int) -> int:
        """Byte offset, in the uncompressed file, of the start of that physical line."""
        self._seek(offset)
        if self._index == 0:
            return self._line_offset
        if len(self._marked) == len(self._raw):
            return self._raw_offset + self._start
        if self._breaks is None:
            self._breaks = [found.end() for found in re.finditer(b"\n", self._raw)]
        return self._raw_offset + self._breaks[self._index - 1]

    def count(self) -> int:
        """Return how many physical lines end in it; what was passed over isn't counted again."""
        return self._index + count_lines(self._marked, self._at, len(self._marked))

    def last_start(self) -> int:
        """Byte offset, in the uncompressed file, of what comes after the last end of a line."""
        return self._raw_offset + self._raw.rfind(b"\n") + 1

    def _seek(self, offset: int) -> None:
        """Move to `offset`: its physical line within the block, and where that starts."""
        if offset < self._at:
            self._at = self._index = self._start = 0
        crossed = count_lines(self._marked, self._at, offset)
        if crossed:
            self._index += crossed
            self._start = self._marked.rfind(b"\n", self._at, offset) + 1
        self._at = offset


class BlockPiece(Block):
    r"""Some whole lines of a block, as a block.

    Examples
    --------
    >>> [block] = blocks_of_lines(["one", "two", "three"], "log")
    >>> piece = BlockPiece(block, 4, 14)
    >>> piece.data, piece.line_at(0), piece.line_at(4), piece.byte_offset_at(4)
    (b'two\nthree\n', 1, 2, 8)
    """

    __slots__ = ("_before", "_whole")

    def __init__(self, whole: Block, start: int, end: int) -> None:
        """Take the lines between two offsets of ``whole.data``, both where a line starts."""
        self.file = whole.file
        self.data = whole.data[start:end]
        self.first_line = whole.line_at(start)
        self._whole, self._before = whole, start

    def line_at(self, offset: int) -> int:
        """0-based physical line that holds byte `offset` of `data`."""
        return self._whole.line_at(self._before + offset)

    def lines_at(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """0-based physical lines that hold bytes `offsets` of `data`."""
        return self._whole.lines_at(self._before + offsets)

    def numbers(self, begin: int, end: int) -> Sequence[int]:
        """0-based physical lines of the lines in ``data[begin:end]``; the first begins there."""
        return self._whole.numbers(self._before + begin, self._before + end)

    def byte_offset_at(self, offset: int) -> int:
        """Byte offset, in the uncompressed file, of the start of that physical line."""
        return self._whole.byte_offset_at(self._before + offset)


class BlockAssembler:
    r"""Cuts a stream of bytes into blocks; the result does not depend on how the stream is cut.

    Holds at most one block and one unfinished line of `max_line_bytes`.

    Parameters
    ----------
    file
        Name that the blocks carry.
    skipped
        Where lines that had to be split are counted; nowhere when null.
    block_bytes
        Size of a block. A larger one costs memory, a smaller one more calls of the scanner.
    max_line_bytes
        Length at which a line is split; at least twice the overlap.

    Examples
    --------
    >>> assembler = BlockAssembler("log")
    >>> [b.data for b in assembler.feed(b"one\ntw") + assembler.feed(b"o\n") + assembler.finish()]
    [b'one\ntwo\n']
    """

    def __init__(
        self,
        file: str,
        *,
        skipped: SkipCounts | None = None,
        block_bytes: int = BLOCK_BYTES,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        self._file = file
        self._skipped = skipped
        self._block_bytes = block_bytes
        self._max_line_bytes = max(max_line_bytes, 2 * OVERLAP_BYTES)
        self._buffer = bytearray()
        self._begin = self._end = 0
        self._offset = 0
        self._line = 0
        self._line_offset = 0
        self._in_long_line = False
        self._uncounted: Block | None = None

    def feed(self, data: bytes | memoryview) -> list[Block]:
        """Take bytes; return the blocks that are complete."""
        self._append(data)
        blocks: list[Block] = []
        while (cut := self._next_cut()) is not None:
            blocks.append(self._emit(*cut))
        return blocks

    def finish(self) -> list[Block]:
        """Return what is left, its last line perhaps without an LF."""
        held = self._end - self._begin
        return [self._emit(held, held)] if held else []

    def _append(self, data: bytes | memoryview) -> None:
        """Put `data` behind what is held, in the same buffer: new memory costs more than a copy."""
        held, end = self._end - self._begin, self._end + len(data)
        if end > len(self._buffer):
            self._buffer[:held] = self._buffer[self._begin : self._end]
            self._begin, self._end, end = 0, held, held + len(data)
            self._buffer.extend(bytes(max(0, end - len(self._buffer))))
        self._buffer[self._end : end] = data
        self._end = end

    def _next_cut(self) -> tuple[int, int] | None:
        """(size of the next block, bytes to drop with it), null when more bytes are needed.

        The place of a cut depends on the bytes from the last cut on only, never on feed borders.
        """
        held = self._end - self._begin
        if held < self._block_bytes:
            return None
        size = self._last_break() or self._first_break()
        if size:
            return size, size
        if held <= self._max_line_bytes:
            return None
        return (
            self._character_start(self._max_line_bytes),
            self._character_start(self._max_line_bytes - OVERLAP_BYTES),
        )

    def _last_break(self) -> int:
        """Size of the logical lines that fit into a block; 0 if none does."""
        # A CR is a break of its own only if the byte after it is known to be no LF.
        begin, end = self._begin, self._begin + self._block_bytes
        found = self._buffer.rfind(b"\n", begin, end)
        return max(found, self._buffer.rfind(b"\r", begin, end - 1), begin - 1) + 1 - begin

    def _first_break(self) -> int:
        """Size of the first logical line, longer than a block; 0 if its end isn't there yet."""
        begin = self._begin
        limit = min(self._end, begin + self._max_line_bytes)
        feed = self._buffer.find(b"\n", begin, limit)
        back = self._buffer.find(b"\r", begin, limit - 1)
        if back < 0 or 0 <= feed <= back + 1:
            return max(feed + 1 - begin, 0)
        return back + 1 - begin

    def _character_start(self, position: int) -> int:
        """Move `position` back to the start of a UTF-8 character."""
        for back in range(4):
            if self._buffer[self._begin + position - back] not in _CONTINUATION:
                return position - back
        return position

    def _emit(self, size: int, drop: int) -> Block:
        self._count_lines()
        with memoryview(self._buffer) as held:
            raw = bytes(held[self._begin : self._begin + size])
        block = Block(
            raw,
            self._file,
            self._line,
            raw_offset=self._offset,
            line_offset=self._line_offset,
        )
        is_piece = drop < size
        if is_piece and not self._in_long_line and self._skipped is not None:
            self._skipped.add("long_line_split", file=self._file)
        self._in_long_line = is_piece
        self._uncounted = None if is_piece else block  # no line ends in a piece
        self._offset += drop
        self._begin += drop
        return block

    def _count_lines(self) -> None:
        """Count the lines of the block before: by now most of them were passed over by a scan."""
        if self._uncounted is not None and (lines := self._uncounted.count()):
            self._line += lines
            self._line_offset = self._uncounted.last_start()


def blocks_of_lines(lines: Sequence[str], name: str) -> list[Block]:
    """Return blocks in which each element of `lines` is one physical line.

    An LF inside an element splits it logically, as a carriage return does, and not physically.
    """
    assembler = BlockAssembler(name)
    raw = "".join(line.replace("\n", "\r") + "\n" for line in lines).encode("utf-8", "replace")
    return [*assembler.feed(raw), *assembler.finish()]


def _has_crlf(text: bytes) -> bool:
    """Whether a CR stands before an LF; looking for both takes long among bars full of CRs."""
    codes = np.frombuffer(text, np.uint8)
    behind = np.flatnonzero(codes[:-1] == _CR) + 1
    return bool(np.any(codes[behind] == _LF))


def has_longer(data: bytes, begin: int, end: int, size: int) -> bool:
    r"""Whether a line of ``data[begin:end]`` is longer than `size`; long lines make it quick.

    >>> has_longer(b"one\nseven\n", 0, 10, 4), has_longer(b"one\nseven\n", 0, 10, 5)
    (True, False)
    """
    while end - begin > size:
        last = data.rfind(b"\n", begin, begin + size + 1)
        if last < 0:
            return True
        begin = last + 1
    return False


def count_lines(data: bytes, start: int, end: int) -> int:
    r"""Count the LFs of ``data[start:end]``, in long texts four times as fast as `bytes.count`.

    >>> count_lines(b"one\ntwo\nthree\n", 4, 14)
    2
    """
    if end - start < _LONG:
        return data.count(b"\n", start, end)
    return int(np.count_nonzero(np.frombuffer(data, np.uint8, end - start, start) == _LF))


def _normalised(raw: bytes) -> tuple[bytes, bytes]:
    """Return the text twice: with CR where only a logical line ends, and with LF there too."""
    text = _ESCAPES.sub(b"", raw) if b"\x1b" in raw else raw
    is_redrawn = b"\r" in text
    if is_redrawn and _has_crlf(text):
        text = text.replace(b"\r\n", b"\n")
    if b"\x00" in text:
        text = _HOLE.sub(lambda hole: b"\r" * len(hole[0]), text).replace(b"\x00", b" ")
        is_redrawn = True
    return text, text.replace(b"\r", b"\n") if is_redrawn else text
