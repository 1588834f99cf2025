"""Streams of pushed entries as logs: their names, and how far each has been counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from relume.ingest.blocks import Block, count_lines
from relume.ingest.lake import LineBatch
from relume.ingest.lake.samplebatches import NO_TIME
from relume.ingest.push.lines import PushedLines
from relume.ingest.tailing.lines import valid_utf8

if TYPE_CHECKING:
    from numpy.typing import NDArray

PREFIX = "push "
"""What positions of streams in the lake begin with."""
MAX_NAME = 300
MAX_STREAMS = 100_000
"""Streams remembered; the one not heard of for longest goes first."""


@dataclass(slots=True)
class Course:
    """How far a stream was counted: its next line and byte, and its newest time (0: none)."""

    line: int = 0
    offset: int = 0
    newest: int = 0

    def to_text(self) -> str:
        """Return the position that is kept in the lake."""
        return f"{self.line} {self.offset} {self.newest}"

    @classmethod
    def from_text(cls, text: str) -> Course:
        """Read such a position.

        >>> Course.from_text("3 120 1767323045000000").offset
        120
        """
        line, offset, newest = map(int, text.split(" "))
        return cls(line, offset, newest)


class Courses:
    """The courses of all streams by name. Bounded; not thread-safe.

    Parameters
    ----------
    positions
        Of the lake, from before a restart.
    """

    def __init__(self, positions: Mapping[str, str]) -> None:
        self._known = {
            name.removeprefix(PREFIX): Course.from_text(text)
            for name, text in positions.items()
            if name.startswith(PREFIX)
        }
        self._moved: set[str] = set()
        self._gone: set[str] = set()

    def of(self, name: str) -> Course:
        """Return the course of a stream, which begins when nobody has heard of it."""
        course = self._known.pop(name, None) or Course()
        while len(self._known) >= MAX_STREAMS:
            oldest = next(iter(self._known))
            del self._known[oldest]
            self._gone.add(oldest)
        self._known[name] = course
        self._moved.add(name)
        return course

    def recall(self, batch: LineBatch) -> None:
        """Take lines of the lake, which may be newer than the positions."""
        course, block = self.of(batch.block.file), batch.block
        last = block.data.rfind(b"\n", 0, len(block.data) - 1) + 1
        course.line = max(course.line, block.line_at(last) + 1)
        end = block.byte_offset_at(last) + len(block.data) - last
        course.offset = max(course.offset, end)
        if batch.event_times is not None:
            course.newest = max(course.newest, int(batch.event_times.max(initial=0)))

    def positions(self) -> dict[str, str | None]:
        """Return what moved since this was asked last; null for what was forgotten."""
        moved: dict[str, str | None] = {f"{PREFIX}{name}": None for name in self._gone}
        moved |= {
            f"{PREFIX}{name}": self._known[name].to_text()
            for name in self._moved
            if name in self._known
        }
        self._moved.clear()
        self._gone.clear()
        return moved


@dataclass(frozen=True, slots=True, eq=False)
class LandingLines:
    """Lines as they will land.

    Attributes
    ----------
    data
        Normalised, each line ended by an LF.
    times
        UTC microseconds of each, `NO_TIME` where nobody says.
    """

    data: bytes
    times: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.times)

    @property
    def newest(self) -> int | None:
        """The newest of the times; null where nobody says any."""
        newest = int(self.times.max(initial=NO_TIME))
        return None if newest == NO_TIME else newest

    def chosen(self, which: NDArray[np.bool_]) -> LandingLines:
        """Return some of them."""
        lines = self.data.split(b"\n")
        data = b"".join(lines[row] + b"\n" for row in np.flatnonzero(which).tolist())
        return LandingLines(data, self.times[which])

    def part(self, start: int, end: int) -> LandingLines:
        """Return those from one to before another."""
        if (start, end) == (0, len(self)):
            return self
        lines = self.data.split(b"\n")[start:end]
        return LandingLines(b"\n".join([*lines, b""]), self.times[start:end])


def landing_lines(pushed: PushedLines) -> LandingLines:
    r"""Return the lines of entries, each with the time of its entry.

    >>> from relume.ingest.push.lines import lines_of
    >>> found = landing_lines(lines_of({}, [("one", 1_000), ("two\r\nthree\n", 2_000)]))
    >>> found.data, found.times.tolist()
    (b'one\ntwo\nthree\n', [1, 2, 2])
    """
    data, times = pushed.joined(), pushed.microseconds()
    if b"\r" in data or b"\0" in data or count_lines(data, 0, len(data)) != len(times):
        cut = [_lines(text) for text in pushed.texts()]
        times = np.repeat(times, [len(lines) for lines in cut])
        data = "".join(f"{line}\n" for lines in cut for line in lines).encode("utf-8", "replace")
    return LandingLines(Block(valid_utf8(data), "", 0, raw_offset=0, line_offset=0).data, times)


def block_of(name: str, lines: LandingLines, course: Course) -> Block:
    r"""Return lines as a block of the stream `name`, and move its course on.

    >>> course = Course(line=3, offset=40)
    >>> lines = LandingLines(b"one\ntwo\n", np.array([1, NO_TIME]))
    >>> block = block_of("log", lines, course)
    >>> block.data, block.line_at(4), course.to_text()
    (b'one\ntwo\n', 4, '5 48 1')
    """
    data = lines.data
    block = Block(data, name, course.line, raw_offset=course.offset, line_offset=course.offset)
    course.line += len(lines)
    course.offset += len(data)
    course.newest = max(course.newest, lines.newest or 0)
    return block


def _lines(text: str) -> list[str]:
    """Each line on its own, so that the time of the entry is that of each."""
    plain = text.replace("\0", " ").replace("\r\n", "\n").replace("\r", "\n")
    return plain.removesuffix("\n").split("\n")
