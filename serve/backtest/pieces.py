"""A log in pieces of one second each, as a service that polls once a second would have read it.

The second of a line is that of its clock, or of the latest clock before it; a line whose clock is
behind (ranks that print into one file are not in step) came when it stands in the file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from statistics import median
from typing import NamedTuple

from relume.clock import MICROSECONDS_PER_SECOND
from relume.ingest.blocks import Block, BlockPiece
from relume.ingest.loglines import LineParser

LOOKED_AT = 600
"""Characters of a line in which a clock may stand."""
LEAP_SECONDS = 24 * 3600
"""A job's log may be silent for a day; a time further ahead is first of all a broken clock."""
FEW_LINES = 10
"""Lines without a clock that may follow one that has one, and still be of its time."""
SOON_SECONDS = 10
USUAL_GAPS = 32
"""Short gaps of which the median is what is usual."""
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


class Piece(NamedTuple):
    """Lines of one second.

    `second` is null in a log without clocks. `is_vague` says that so many lines without a clock
    follow the last one with a clock that nobody can tell when, before the next clock, they came.
    """

    second: int | None
    block: BlockPiece
    is_vague: bool = False


def timed_pieces(blocks: Iterable[Block], clock: LineClock) -> Iterator[Piece]:
    """Yield the lines of a log in its order; seconds never go back.

    Lines before the first clock have that of the first. In a log whose first block has no clock
    nothing has one: null. A clock that is `LEAP_SECONDS` ahead is believed when the next one says
    so, too.
    """
    now: int | None = None
    leap: int | None = None
    has_clock: bool | None = None
    scan = _Scan(clock)
    for block in blocks:
        if has_clock is False:
            yield Piece(None, BlockPiece(block, 0, len(block.data)))
            continue
        start = 0
        for position, second in scan.clocks(block.data):
            if now is None:
                now = second
            elif second > now + LEAP_SECONDS and (leap is None or second < leap):
                leap = second
                continue
            leap = None
            if second > now:
                if position > start:
                    yield Piece(now, BlockPiece(block, start, position), scan.is_vague())
                scan.learn(second - now)
                start, now = position, second
            scan.unclocked = 0
        has_clock = now is not None
        if start < len(block.data):
            yield Piece(now, BlockPiece(block, start, len(block.data)), scan.is_vague())


class _Scan:
    """Finds the clocks of a log, and counts the lines without one since the last.

    What follows a line with a clock (a traceback, what each rank adds) was written with it; how
    many lines that usually are is learned where the next clock comes soon.
    """

    def __init__(self, clock: LineClock) -> None:
        self._clock = clock
        self._usual: deque[int] = deque(maxlen=USUAL_GAPS)
        self.unclocked = 0

    def clocks(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield where it starts, and its second, of each line that has a clock."""
        start, size, second_of = 0, len(data), self._clock.second
        while start < size:
            end = data.find(b"\n", start)
            end = size if end < 0 else end
            second = second_of(data[start : min(end, start + LOOKED_AT)])
            if second is None:
                self.unclocked += 1
            else:
                yield start, second
            start = end + 1

    def is_vague(self) -> bool:
        """Whether more lines without a clock came than those that belong to the last one."""
        return self.unclocked > max(FEW_LINES, 2 * median(self._usual or (0,)))

    def learn(self, seconds: int) -> None:
        """Take that the next clock came so many seconds after the last one."""
        if seconds <= SOON_SECONDS:
            self._usual.append(self.unclocked)
