"""A log in pieces of one second each, as a service that polls once a second would have read it.

The second of a line is that of its clock, or of the latest clock before it; a line whose clock is
behind (ranks that print into one file are not in step) came when it stands in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from relume.clock import MICROSECONDS_PER_SECOND
from relume.ingest.blocks import Block, BlockPiece
from relume.ingest.loglines import LineParser

LOOKED_AT = 600
"""Characters of a line in which a clock may stand."""
LEAP_SECONDS = 24 * 3600
"""A job's log may be silent for a day; a time further ahead is first of all a broken clock."""
MAX_KNOWN = 4096
"""Clock texts remembered: lines of one second mostly repeat them."""


class LineClock:
    """The clocks of one log's lines, in whole seconds.

    Lines of one log have their clock at one place, and many have the same one: such a line costs a
    look-up, another one the parsing of its prefixes.
    """

    def __init__(self, parser: LineParser) -> None:
        self._parser = parser
        self._start = self._end = 0
        self._known: dict[bytes, int] = {}

    def second(self, line: bytes) -> int | None:
        """POSIX second of a line's clock, null without one."""
        if self._end:
            known = self._known.get(line[self._start : self._end])
            if known is not None:
                return known
        text = line[:LOOKED_AT].decode("utf-8", "replace")
        found = self._parser.clock(text)
        if found is None:
            return None
        clock, time = found
        second = time // MICROSECONDS_PER_SECOND
        if clock and text.isascii():
            self._remember(text, clock, second)
        return second

    def _remember(self, text: str, clock: str, second: int) -> None:
        """Note what the clock says up to its seconds, and where it stands."""
        # Only "date hh:mm:ss" with whatever fraction: two zones may share what comes before them.
        whole, _, fraction = clock.removesuffix("Z").replace(",", ".").partition(".")
        if whole.count(":") != 2 or not (fraction.isdigit() or not fraction):  # noqa: PLR2004
            self._end = 0
            return
        start = text.find(clock)
        if (start, start + len(whole)) != (self._start, self._end) or len(self._known) > MAX_KNOWN:
            self._start, self._end = start, start + len(whole)
            self._known.clear()
        self._known[whole.encode()] = second


def timed_pieces(
    blocks: Iterable[Block], clock: LineClock
) -> Iterator[tuple[int | None, BlockPiece]]:
    """Yield (second, lines) of a log in its order; seconds never go back.

    Lines before the first clock have that of the first. In a log whose first block has no clock
    nothing has one: null. A clock that is `LEAP_SECONDS` ahead is believed when the next one says
    so, too.
    """
    now: int | None = None
    leap: int | None = None
    has_clock: bool | None = None
    for block in blocks:
        if has_clock is False:
            yield None, BlockPiece(block, 0, len(block.data))
            continue
        start = 0
        for position, second in _clocks(block.data, clock):
            if now is None:
                now = second
                continue
            is_leap = second > now + LEAP_SECONDS
            if is_leap and (leap is None or second < leap):
                leap = second
                continue
            leap = None
            if second > now:
                if position > start:
                    yield now, BlockPiece(block, start, position)
                start, now = position, second
        has_clock = now is not None
        if start < len(block.data):
            yield now, BlockPiece(block, start, len(block.data))


def _clocks(data: bytes, clock: LineClock) -> Iterator[tuple[int, int]]:
    """(where it starts, its second) of each line that has a clock."""
    start, size, second_of = 0, len(data), clock.second
    while start < size:
        end = data.find(b"\n", start)
        end = size if end < 0 else end
        second = second_of(data[start : min(end, start + LOOKED_AT)])
        if second is not None:
            yield start, second
        start = end + 1
