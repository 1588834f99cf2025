"""Bytes of a log in, blocks of whole normalised lines out, however the bytes were cut.

Normalising: CRLF and a bare CR become LF, so that every redraw of a progress bar is a logical line
of its own; ANSI escape sequences are removed; NULs become spaces. Line *numbers* count only the LFs
of the original, as `grep -n` does.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from relume.ingest.skips import SkipCounts

BLOCK_BYTES = 1 << 20
"""Size of a block: large enough that the cost of starting a scan vanishes."""
MAX_LINE_BYTES = 1 << 20
"""A longer line is handed out in pieces of this size."""
OVERLAP_BYTES = 4096
"""How much of a piece the next one repeats, so that words across the cut are still found."""
_ANSI = re.compile(
    rb"\x1b(?:\[[0-?]{0,32}[ -/]{0,8}[@-~]"  # CSI: colours, cursor
    rb"|\][^\x07\x1b\n]{0,256}(?:\x07|\x1b\\)"  # OSC: titles, links
    rb"|[@-Z\\^_])"
)


class Block:
    """Whole normalised lines of one file (or, of an overlong line, a piece).

    Attributes
    ----------
    data
        Normalised bytes, each logical line ended by LF except perhaps the last of the file.
    file
        Name of the file.
    first_line
        0-based physical line of ``data[0]``.
    """

    __slots__ = ("_line_starts", "_raw", "_raw_offset", "data", "file", "first_line")

    def __init__(self, raw: bytes, file: str, first_line: int, raw_offset: int) -> None:
        self.file = file
        self.first_line = first_line
        self._raw = raw
        self._raw_offset = raw_offset
        self._line_starts: tuple[list[int], list[int]] | None = None
        self.data = raw if _is_plain(raw) else b"\n".join(map(normalised, raw.split(b"\n")))

    def line_at(self, offset: int) -> int:
        """0-based physical line that holds byte `offset` of `data`."""
        return self.first_line + bisect_right(self._starts()[0], offset) - 1

    def byte_offset_at(self, offset: int) -> int:
        """Byte offset, in the uncompressed file, of the start of that physical line."""
        index = bisect_right(self._starts()[0], offset) - 1
        return self._raw_offset + self._starts()[1][index]

    def _starts(self) -> tuple[list[int], list[int]]:
        """Starts of the physical lines, in `data` and in the original; made when first asked."""
        if self._line_starts is None:
            raw_lines = self._raw.split(b"\n")
            raw_starts = _starts(map(len, raw_lines))
            if self.data is self._raw:
                self._line_starts = (raw_starts, raw_starts)
            else:
                self._line_starts = (_starts(len(normalised(r)) for r in raw_lines), raw_starts)
        return self._line_starts


class BlockAssembler:
    r"""Cuts a stream of bytes into blocks; the result does not depend on how the stream is cut.

    Holds at most one block and one unfinished line of `max_line_bytes`.

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
        self._held = bytearray()
        self._line = 0
        self._offset = 0
        self._in_long_line = False

    def feed(self, data: bytes) -> list[Block]:
        """Take bytes; return the blocks that are complete."""
        self._held += data
        blocks: list[Block] = []
        while (cut := self._next_cut()) is not None:
            blocks.append(self._emit(*cut))
        return blocks

    def finish(self) -> list[Block]:
        """Return what is left, its last line perhaps without an LF."""
        return [self._emit(len(self._held), len(self._held))] if self._held else []

    def _next_cut(self) -> tuple[int, int] | None:
        """(end of the next block, bytes to drop after it), null when more bytes are needed.

        The place of a cut depends on the bytes from the last cut on only, never on feed borders.
        """
        if self._in_long_line:
            end = self._held.find(b"\n", 0, self._max_line_bytes) + 1
            if end:
                return end, end
        elif len(self._held) < self._block_bytes:
            return None
        else:
            end = self._held.rfind(b"\n", 0, self._block_bytes) + 1
            end = end or self._held.find(b"\n", 0, self._max_line_bytes) + 1
            if end:
                return end, end
        if len(self._held) < self._max_line_bytes:
            return None
        return self._max_line_bytes, self._max_line_bytes - OVERLAP_BYTES

    def _emit(self, end: int, drop: int) -> Block:
        raw = bytes(self._held[:end])
        block = Block(raw, self._file, self._line, self._offset)
        is_piece = drop < end
        if is_piece and not self._in_long_line and self._skipped is not None:
            self._skipped.add("long_line_split")
        self._in_long_line = is_piece
        self._line += raw.count(b"\n", 0, drop)
        self._offset += drop
        del self._held[:drop]
        return block


def blocks_of_lines(lines: Sequence[str], name: str) -> list[Block]:
    """Return blocks in which each element of `lines` is one physical line.

    An LF inside an element splits it logically, as a carriage return does, and not physically.
    """
    assembler = BlockAssembler(name)
    raw = "\n".join(line.replace("\n", "\r") for line in lines).encode("utf-8", "replace")
    return [*assembler.feed(raw + b"\n"), *assembler.finish()] if lines else []


def normalised(raw: bytes) -> bytes:
    r"""Normalise one physical line, given without its LF; see the module's words.

    >>> normalised(b"\x1b[32mstep 1\x1b[0m\rstep 2\r")
    b'step 1\nstep 2'
    """
    if b"\x1b" in raw:
        raw = _ANSI.sub(b"", raw)
    if raw.endswith(b"\r"):
        raw = raw[:-1]
    return raw.replace(b"\r", b"\n").replace(b"\x00", b" ")


def _is_plain(raw: bytes) -> bool:
    return b"\r" not in raw and b"\x1b" not in raw and b"\x00" not in raw


def _starts(lengths: Iterable[int]) -> list[int]:
    starts, position = list[int](), 0
    for length in lengths:
        starts.append(position)
        position += length + 1
    return starts
