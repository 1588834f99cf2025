"""Lines that are kept of each log of an attempt, to tell what is usual in it from what is not.

Beside the ends of the logs (`relume.serve.tails`): the start, a small window every now and then,
and what came after each of the last steps. The same however a log was cut into blocks. Keeping
costs next to nothing: no line is read before somebody asks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import NamedTuple, TypeAlias

from relume.ingest.blocks import Block, has_longer
from relume.models.diagnosis.episode import ADVANCES_TO_RECOVER
from relume.serve.linerun import LineRun, run_of, starts_of

MAX_TEXT = 2048
"""Bytes kept of one line."""

Span: TypeAlias = tuple[int, int]
"""Where a line begins and ends in the data of a block."""


@dataclass(frozen=True, slots=True)
class KeptBounds:
    """How much is kept, some 450 KiB of a log in memory.

    Attributes
    ----------
    head_bytes
        The start of each log, where most kinds of its lines come for the first time.
    window_bytes, window_stride, max_windows
        A window every `window_stride` bytes; whenever there are too many, twice as far apart.
    late_bytes
        What is kept after each of the last steps: a failure begins there, and may go on for long.
    max_logs
        Logs of which lines are kept; those of further ranks are like them.
    """

    head_bytes: int = 64 * 1024
    window_bytes: int = 4 * 1024
    window_stride: int = 1 << 20
    max_windows: int = 8
    late_bytes: int = 64 * 1024
    max_logs: int = 32


@dataclass(slots=True)
class _Part:
    """Some lines in a row from byte `start` of their log on, as far as there is room for them."""

    start: int
    room: int
    numbered: bool
    runs: list[LineRun] = field(default_factory=list)

    def take(self, block: Block, span: Span, offset: int) -> None:
        """Take the lines of a block between two places; `offset` is where it begins in the log."""
        begin, end = span
        if begin >= end or self.room <= 0:
            return
        if has_longer(block.data, begin, end, MAX_TEXT):
            self._take_long(block, begin, end, offset)
            return
        taken = end - begin + (not block.data.endswith(b"\n", begin, end))
        if taken > self.room:  # the last line that is taken may go beyond the room
            last = block.data.find(b"\n", begin + self.room - 1, end)
            end = end if last < 0 else last + 1
            taken = end - begin + (not block.data.endswith(b"\n", begin, end))
        self.runs.append(run_of(block, begin, end, offset=offset, numbered=self.numbered))
        self.room -= taken

    def _take_long(self, block: Block, begin: int, end: int, offset: int) -> None:
        """Take lines of which some are cut: each by itself."""
        texts = block.data[begin:end].removesuffix(b"\n").split(b"\n")
        numbers = block.numbers(begin, end) if self.numbered else ()
        for place, (start, text) in enumerate(zip(starts_of(texts, begin), texts, strict=True)):
            if self.room <= 0:
                break
            number = numbers[place : place + 1]
            self.runs.append(LineRun(text[:MAX_TEXT], number, offset + start))
            self.room -= min(len(text), MAX_TEXT) + 1

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines with their numbers, 0 where nobody asks for them."""
        for run in self.runs:
            texts = run.texts()
            yield from zip(run.numbers or repeat(0, len(texts)), texts, strict=True)

    def before(self, position: int) -> Iterator[bytes]:
        """Yield the lines that begin before that byte of the log."""
        for run in self.runs:
            texts = run.texts()
            yield from texts[: bisect_left(starts_of(texts, run.position), position)]


class _Added(NamedTuple):
    """A block, the lines in it that show new steps, and where it begins in its log."""

    block: Block
    steps: Sequence[Span]
    offset: int


class _Log:
    """What is kept of one log."""

    def __init__(self, bounds: KeptBounds) -> None:
        self.head = _Part(0, bounds.head_bytes, numbered=True)
        self.windows: dict[int, _Part] = {}
        self.size = 0
        self._bounds = bounds
        self._stride = bounds.window_stride
        self._late: deque[_Part] = deque(maxlen=ADVANCES_TO_RECOVER)
        self._pending: _Added | None = None

    def add(self, block: Block, steps: Sequence[Span]) -> None:
        """Take the next block; `steps` are the lines in it that show new steps."""
        if self.head.room > 0:
            self.head.take(block, (0, len(block.data)), self.size)
        self._add_windows(block)
        added = _Added(block, steps[-ADVANCES_TO_RECOVER:], self.size)
        if len(steps) >= ADVANCES_TO_RECOVER:
            self._pending = added  # nothing before it counts: looked at only if somebody asks
        elif steps or self._late or self._pending:
            self._settle()
            self._add_late(added)
        self.size += len(block.data)

    def late(self) -> list[_Part] | None:
        """Return what came after each of the last steps; null for a log without steps."""
        self._settle()
        return list(self._late) or None

    def sampled(self) -> list[_Part]:
        """Return the start and the windows."""
        return [self.head, *self.windows.values()]

    def _settle(self) -> None:
        if self._pending is not None:
            self._late.clear()
            self._add_late(self._pending)
            self._pending = None

    def _add_late(self, added: _Added) -> None:
        begin = 0
        for start, end in added.steps:
            if self._late:
                self._late[-1].take(added.block, (begin, start), added.offset)
            begin = end + 1
            self._late.append(_Part(added.offset + begin, self._bounds.late_bytes, numbered=True))
        if self._late:
            self._late[-1].take(added.block, (begin, len(added.block.data)), added.offset)

    def _add_windows(self, block: Block) -> None:
        """Take the lines that begin in a window; the first one would be in the start of the log."""
        data = block.data
        at = max(self.size // self._stride, 1) * self._stride
        while at < self.size + len(data):
            begin = _line_start(data, at - self.size)
            end = _line_start(data, at + self._bounds.window_bytes - self.size)
            if begin < end and (window := self._window(at)) is not None:
                window.take(block, (begin, end), self.size)
            at = (at // self._stride + 1) * self._stride

    def _window(self, at: int) -> _Part | None:
        if at not in self.windows:
            self.windows[at] = _Part(at, 2 * self._bounds.window_bytes, numbered=False)
            if len(self.windows) > self._bounds.max_windows:
                self._stride *= 2
                self.windows = {a: w for a, w in self.windows.items() if a % self._stride == 0}
        return self.windows.get(at)


def _line_start(data: bytes, place: int) -> int:
    """Where the first line begins that doesn't begin before `place`."""
    if place <= 0:
        return 0
    return data.find(b"\n", place - 1) + 1 or len(data)


class KeptLines:
    """What is kept of all logs of an attempt."""

    def __init__(self, bounds: KeptBounds | None = None) -> None:
        self._bounds = bounds or KeptBounds()
        self._logs: dict[str, _Log] = {}

    def add(self, block: Block, steps: Sequence[Span]) -> None:
        """Take the next block of its log; `steps` are the lines in it that show new steps."""
        log = self._logs.get(block.file)
        if log is None:
            if len(self._logs) >= self._bounds.max_logs:
                return
            log = self._logs[block.file] = _Log(self._bounds)
        log.add(block, steps)

    def late(self, file: str) -> list[tuple[int, bytes]] | None:
        """Return what came after the last steps of a log, numbered; null for one without steps."""
        log = self._logs.get(file)
        parts = None if log is None else log.late()
        return None if parts is None else [line for part in parts for line in part.lines()]

    def head(self, file: str) -> list[tuple[int, bytes]]:
        """Return what a log begins with, numbered."""
        log = self._logs.get(file)
        return [] if log is None else list(log.head.lines())

    def earlier(self, file: str, end_bytes: int) -> Iterator[bytes]:
        """Yield lines of a log from before its last steps; without any, before its `end_bytes`."""
        log = self._logs.get(file)
        if log is None:
            return
        parts = log.late()
        start = parts[0].start if parts else log.size - end_bytes
        for part in log.sampled():
            yield from part.before(start)

    def sampled(self, *files: str) -> Iterator[bytes]:
        """Yield what is kept of the start and the middle of logs, of all if none is named."""
        for file in files or self._logs:
            if file in self._logs:
                for part in self._logs[file].sampled():
                    yield from (raw for _, raw in part.lines())
