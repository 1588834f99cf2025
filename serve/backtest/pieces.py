"""A log in pieces of one second each, as a service that polls once a second would have read it.

The second of a line is that of its clock, or of the latest clock before it; a line whose clock is
behind (ranks that print into one file are not in step) came when it stands in the file.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from relume.clock import MICROSECONDS_PER_SECOND
from relume.ingest.blocks import Block, BlockPiece
from relume.ingest.loglines import LineParser

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOOKED_AT = 600
"""Characters of a line in which a clock may stand."""
LEAP_SECONDS = 24 * 3600
"""A job's log may be silent for a day; a time further ahead is first of all a broken clock."""
BACK_SECONDS = 120
"""Ranks are out of step by less; a clock further behind was set back (an hour in autumn)."""
FEW_LINES = 10
"""Lines without a clock that may follow one that has one, and still be of its time."""
SOON_SECONDS = 10
USUAL_GAPS = 32
"""Short gaps of which the median is what is usual."""
MAX_HELD = 8 << 20
"""Bytes of lines that wait for the next clock; of more, what came first is told at once."""
_WORTH_A_TABLE = 8
"""Lines in a row with one clock, after which it is worth to look through the whole block."""
_LF = 10
MAX_KNOWN = 4096
"""Clock texts remembered: lines of one second mostly repeat them."""


class LineClock:
    """The clocks of one log's lines, in whole seconds.

    Lines of one log have their clock at one place, and many have the same one: such a line costs a
    look-up, another one the parsing of its prefixes.

    Attributes
    ----------
    is_known
        Whether any line with what the last one has at `place` has the same second.
    """

    def __init__(self, parser: LineParser) -> None:
        self._parser = parser
        self._start = self._end = 0
        self._known: dict[bytes, int] = {}
        self.is_known = False

    @property
    def place(self) -> tuple[int, int]:
        """Between which characters of a line the clocks stand that are known; empty for none."""
        return self._start, self._end

    def second(self, line: bytes) -> int | None:
        """POSIX second of a line's clock, null without one."""
        if self._end:
            known = self._known.get(line[self._start : self._end])
            if known is not None:
                self.is_known = True
                return known
        self.is_known = False
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
        self.is_known = True


class Piece(NamedTuple):
    """Lines of one second.

    Attributes
    ----------
    second
        Null where nobody can tell: of all lines of a log without clocks, and of those at its end
        that came so long after the last clock that they don't belong to it.
    block
        The lines. Null says that after this second more came, before the next piece's at the
        latest: there is no silence to be seen in between.
    is_vague
        Whether the lines may have come at any time since the piece before, or since the start.
    """

    second: int | None
    block: BlockPiece | None
    is_vague: bool = False


def timed_pieces(
    blocks: Iterable[Block], clock: LineClock, *, believes_leaps: bool = False
) -> Iterator[Piece]:
    """Yield the lines of a log in its order; seconds never go back.

    Lines before the first clock are told with it. Lines after a clock are of its second, up
    to as many as usually follow one; what comes after them is told with the next clock, when it
    had come at the latest. In a log whose first block has no clock nothing has one.

    What a job prints at the start of a line may be any time: a clock that is `LEAP_SECONDS` ahead
    is believed only when the next one says so, too, unless `believes_leaps` (a kernel's log has
    nothing for days, and then one line). One that far before all others isn't the log's first.

    Holds at most `MAX_HELD` bytes beside a block.
    """
    cutter = _Cutter(clock, believes_leaps=believes_leaps)
    for number, block in enumerate(blocks):
        if number and cutter.now is None:
            yield Piece(None, BlockPiece(block, 0, len(block.data)))
        else:
            yield from cutter.take(block)
    yield from cutter.rest()


class _Cutter:
    """Cuts blocks where the second changes, and keeps back what waits for the next clock.

    Attributes
    ----------
    now
        The latest second; null before the first clock.
    """

    def __init__(self, clock: LineClock, *, believes_leaps: bool) -> None:
        self.now: int | None = None
        self._believes_leaps = believes_leaps
        self._leap: tuple[int, int] | None = None
        self._has_begun = self._is_behind = False
        self._prefix = 0
        self._held: list[BlockPiece] = []
        self._scan = _Scan(clock)

    def take(self, block: Block) -> Iterator[Piece]:
        """Yield what of a block, and of what was kept back, has its second now."""
        start, scan = 0, self._scan
        scan.begin(is_vague=bool(self._held))
        for position, second in scan.clocks(block.data):
            if self.now is None:
                self.now, self._prefix = second, position
            elif second > self.now + LEAP_SECONDS and not self._believes_leaps:
                if self._leap is None or second < self._leap[1]:
                    self._leap = position, second
                    continue
                start = yield from self._move(block, start, *self._leap)
            self._leap = None
            self._is_behind |= second < self.now - BACK_SECONDS
            if second > self.now:
                start = yield from self._move(block, start, position, second)
            yield from self._let_go()  # of the same second after all
            scan.clocked()
        if self._leap is not None:
            self._leap = 0, self._leap[1]  # its line goes with this block
        if start < len(block.data):
            yield from self._keep_back(block, start, max(start, scan.vague_at))

    def rest(self) -> Iterator[Piece]:
        """Yield what still waits at the end of the log."""
        if self.now is not None and not self._held and self._scan.is_vague():
            yield Piece(self.now, None)
        yield from (Piece(None, one) for one in self._held)

    def _move(
        self, block: Block, start: int, position: int, second: int
    ) -> Generator[Piece, None, int]:
        """Yield the lines before `position`, where a new second begins; return where to go on."""
        if not self._has_begun and second > (self.now or second) + LEAP_SECONDS:
            # All before was one clock that is years behind: no time of this log.
            self.now, self._prefix = second, position
            return start
        cut = min(self._scan.vague_at, position)
        yield from self._plain(block, start, cut)
        self._is_behind = False
        gap = second - (self.now or second)
        if not self._held and gap > SOON_SECONDS and self._scan.is_vague():
            yield Piece(self.now, None)
        self._scan.learn(gap)
        self.now = second
        yield from self._let_go()
        if cut < position:
            yield Piece(second, BlockPiece(block, max(cut, start), position), is_vague=True)
        return max(position, start)

    def _plain(self, block: Block, start: int, cut: int) -> Iterator[Piece]:
        """Yield lines of the present second; before the first of all, those that had no clock."""
        if not self._has_begun:
            self._has_begun = True
            if self._prefix > start:
                yield Piece(self.now, BlockPiece(block, start, self._prefix), is_vague=True)
                start = self._prefix
        if cut > start:
            yield Piece(self.now, BlockPiece(block, start, cut), is_vague=self._is_behind)

    def _keep_back(self, block: Block, start: int, cut: int) -> Iterator[Piece]:
        """Yield the lines at the end of a block, up to where they belong to no second any more."""
        size = len(block.data)
        if self.now is None:
            yield Piece(None, BlockPiece(block, start, size))
            return
        yield from self._plain(block, start, min(cut, size))
        if cut < size:
            if not self._held:
                yield Piece(self.now, None)
            self._held.append(BlockPiece(block, cut, size))
        if sum(len(one.data) for one in self._held) > MAX_HELD:
            yield from self._let_go()

    def _let_go(self) -> Iterator[Piece]:
        held, self._held = self._held, []
        return (Piece(self.now, one, is_vague=True) for one in held)


class _Repeats:
    """Lines of a block that have the same clock, at the same place, as the one before them."""

    def __init__(self, data: bytes) -> None:
        self._data, self._count = data, 0
        self._place = (0, 0)
        self._starts: NDArray[np.int64] | None = None
        self._heads: NDArray[np.int64] | None = None

    def last_end(self, start: int, end: int, place: tuple[int, int]) -> int:
        """Return where the last line ends of those that repeat the clock of a line.

        `start` and `end` are those of the line, `place` that of its clock.
        """
        left, right = place
        data, after = self._data, end + 1
        if not right or end - start < right:
            return end
        if data[start + left : start + right] != data[after + left : after + right]:
            self._count = 0
            return end
        self._count += 1
        if self._count < _WORTH_A_TABLE:
            return end
        return self._by_table(start, end, place)

    def _by_table(self, start: int, end: int, place: tuple[int, int]) -> int:
        """The same by a table of all lines."""
        if self._starts is None:
            ends = np.flatnonzero(np.frombuffer(self._data, np.uint8) == _LF)
            self._starts = np.concatenate(([0], ends + 1))
        if self._heads is None or place != self._place:
            self._heads, self._place = self._find_heads(self._starts, place), place
        line = np.searchsorted(self._starts, start)
        head = np.searchsorted(self._heads, line, side="right")
        return end if head == len(self._heads) else int(self._starts[self._heads[head]]) - 1

    def _find_heads(self, starts: NDArray[np.int64], place: tuple[int, int]) -> NDArray[np.int64]:
        """Return the lines whose clock isn't that of the line before; or that are too short."""
        codes = np.frombuffer(self._data, np.uint8)
        at = np.minimum(starts, len(codes) - 1)
        is_head = np.append(np.diff(starts) <= place[1], True)
        is_head[1:] |= is_head[:-1]
        for offset in range(*place):
            digits = codes[np.minimum(at + offset, len(codes) - 1)]
            is_head[1:] |= digits[1:] != digits[:-1]
        return np.flatnonzero(is_head)


class _Scan:
    """Finds the clocks of a log, and where lines begin that are too far behind the last one.

    What follows a line with a clock (a traceback, what each rank adds) was written with it; how
    many lines that usually are is learned where the next clock comes soon.

    Attributes
    ----------
    vague_at
        Where in the block the lines begin, after the last clock, of which nobody can tell when they
        came; past its end when there are none.
    """

    def __init__(self, clock: LineClock) -> None:
        self._clock = clock
        self._usual: deque[int] = deque(maxlen=USUAL_GAPS)
        self._unclocked = 0
        self._is_clocked = False
        self.vague_at = sys.maxsize

    def begin(self, *, is_vague: bool) -> None:
        """Begin a block; whether its first lines are too far behind the last clock already."""
        self.vague_at = 0 if is_vague else sys.maxsize

    def clocks(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield where it starts, and its second, of each line that has a clock."""
        start, size, second_of, repeats = 0, len(data), self._clock.second, _Repeats(data)
        while start < size:
            end = data.find(b"\n", start)
            end = size if end < 0 else end
            second = second_of(data[start : min(end, start + LOOKED_AT)])
            if second is not None:
                self._is_clocked = False
                yield start, second
                if (
                    self._is_clocked and self._clock.is_known
                ):  # another line with the very same clock changes nothing
                    end = repeats.last_end(start, end, self._clock.place)
            else:
                self._unclocked += 1
                if self._unclocked > FEW_LINES and self.vague_at > start and self.is_vague():
                    self.vague_at = start
            start = end + 1

    def clocked(self) -> None:
        """Take that the last line has a clock that counts."""
        self._unclocked, self.vague_at, self._is_clocked = 0, sys.maxsize, True

    def learn(self, seconds: int) -> None:
        """Take that the next clock came so many seconds after the last one."""
        if seconds <= SOON_SECONDS:
            self._usual.append(self._unclocked)

    def is_vague(self) -> bool:
        """Whether more lines without a clock came than usually follow one: when, nobody can tell.

        Even a few may be steps that came one by one.
        """
        return self._unclocked > 2 * median(self._usual or (0,))
