"""The last lines of each log of an attempt, the same however the log was cut into blocks."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from relume.features.progress.regular import last_work
from relume.ingest.blocks import Block, has_longer
from relume.ingest.loglines import LineParser
from relume.ingest.prefixes import leading_clock
from relume.models.diagnosis.episode import LogEnd
from relume.serve.linerun import LineRun, run_of
from relume.verdict import JOB_STREAMS

TAIL_BYTES = 32 * 1024
"""The end of each log, kept for its clocks and for endings that no rule knows."""
TAIL_LINES = 1000
"""The same in lines: most of 32 KiB are fewer."""
MAX_TEXT = 16 * 1024
"""Bytes kept of one line."""
OPEN_TAILS = 256
"""Logs of which so much is kept; of the one that was silent for longest only its end stays."""
CLOCK_LINES = 40
"""A log whose last clock is further from its end than this has an end that nobody knows."""
SHOWN_LINES = 200
"""Last lines that a diagnosis looks at; ..."""
CLOSED_LINES = 40
"""... and of logs that are no longer kept."""
_CLOCK = re.compile(rb"\d:\d\d:\d\d|\d{10}\.\d|time_ms")
"""What every clock holds: looking for it is much cheaper than reading a line's prefixes."""
_CLOCK_BYTES = 600


@dataclass(slots=True)
class _Tail:
    """The last lines of one log; what is kept beyond them is left out when they are asked for."""

    parser: LineParser
    _runs: deque[LineRun] = field(default_factory=deque)
    _count: int = 0
    _size: int = 0
    _read: tuple[str, int | None] = ("", None)
    _times: dict[bytes, int | None] = field(default_factory=dict)

    def add(self, block: Block) -> None:
        """Take the lines at the end of the next block."""
        for run in _last_runs(block):
            self._runs.append(run)
            self._count += run.count
            self._size += run.size
        oldest = self._runs[0]
        while self._count - oldest.count >= TAIL_LINES or self._size - oldest.size > TAIL_BYTES:
            del self._runs[0]
            self._count -= oldest.count
            self._size -= oldest.size
            oldest = self._runs[0]

    def after(self, line: int = -1) -> tuple[list[int], list[bytes]]:
        """Return the last lines, as far as they come after `line`: numbers, and what they say."""
        found: list[tuple[Sequence[int], list[bytes]]] = []
        count = size = 0
        for run in reversed(self._runs):
            first = run.first_after(line)
            if first < run.count:
                found.append((run.numbers[first:], run.texts()[first:]))
            count, size = count + run.count, size + run.size
            if first or count >= TAIL_LINES or size > TAIL_BYTES:
                break
        found.reverse()
        numbers = list(chain.from_iterable(some for some, _ in found))
        texts = list(chain.from_iterable(some for _, some in found))
        first = _first_kept(texts)
        return numbers[first:], texts[first:]

    def time(self, raw: bytes) -> int | None:
        """Clock of one line, null when it has none."""
        clock = leading_clock(raw)
        if clock is None:
            return self._sought(raw)
        if clock != self._read[0]:  # many lines a second
            self._read = clock, self.parser.time_of(clock)
        return self._read[1]

    def _sought(self, raw: bytes) -> int | None:
        """Clock of a line that doesn't begin with it."""
        if not _CLOCK.search(raw, 0, _CLOCK_BYTES):
            return None
        if raw not in self._times:  # asked for again with every verdict
            if len(self._times) > TAIL_LINES:
                self._times.clear()
            self._times[raw] = self.parser.look(raw.decode("utf-8", "replace"), 0, 0).event_time
        return self._times[raw]

    def end(self, shown: int = SHOWN_LINES) -> LogEnd:
        """Return the end of the log as it stands."""
        lines = zip(*self.after(), strict=True)
        last = [(number, raw) for number, raw in lines if raw.strip()][-shown:]
        texts = tuple((number, raw.decode("utf-8", "replace")) for number, raw in last)
        times = [time for _, raw in last[-CLOCK_LINES:] if (time := self.time(raw)) is not None]
        stream = self.parser.stream
        return LogEnd(self.parser.file, stream, texts, max(times, default=None))

    def clocks_after(self, line: int) -> tuple[int, int] | None:
        """(first, latest) clock after `line`, null when there is none.

        The latest is sought among the last lines with a clock: ranks are not in step.
        """
        _, after = self.after(line)
        first = next((time for raw in after if (time := self.time(raw)) is not None), None)
        if first is None:
            return None
        times: list[int] = []
        for raw in reversed(after):
            time = self.time(raw)
            times += [] if time is None else [time]
            if len(times) >= CLOCK_LINES:
                break
        return first, max(times)

    def work_time(self, line: int) -> int | None:
        """When work that no step line shows was last seen after `line`, null when it wasn't."""
        numbers, after = self.after(line)
        texts = (raw.decode("utf-8", "replace") for raw in after)
        work = last_work(zip(numbers, texts, strict=True))
        if work is None:
            return None
        times = (
            self.time(raw) for number, raw in zip(numbers, after, strict=True) if number >= work
        )
        return next((time for time in times if time is not None), None)


def _first_kept(texts: Sequence[bytes]) -> int:
    """The first of some lines that is kept: as many as there is room for, but one at least."""
    first = max(0, len(texts) - TAIL_LINES)
    size = sum(map(len, texts[first:]))
    while size > TAIL_BYTES and first < len(texts) - 1:
        size -= len(texts[first])
        first += 1
    return first


def _last_runs(block: Block) -> list[LineRun]:
    """The lines at the end of a block, as far as any of them can be kept."""
    data = block.data
    end = len(data) - data.endswith(b"\n")
    begin = data.rfind(b"\n", 0, max(0, end - TAIL_BYTES - TAIL_LINES)) + 1
    if not has_longer(data, begin, end, MAX_TEXT):
        return [run_of(block, begin, len(data))]
    starts, texts = _last_long_lines(data, end)
    numbers = block.numbers(starts[0], len(data))
    return [
        LineRun(text, numbers[place : place + 1], starts[place]) for place, text in enumerate(texts)
    ]


def _last_long_lines(data: bytes, end: int) -> tuple[list[int], list[bytes]]:
    """The same where of some lines only the beginning is kept."""
    starts, texts, size = list[int](), list[bytes](), 0
    while end >= 0 and len(texts) < TAIL_LINES and size <= TAIL_BYTES:
        starts.append(data.rfind(b"\n", 0, end) + 1)
        texts.append(data[starts[-1] : min(end, starts[-1] + MAX_TEXT)])
        size += len(texts[-1])
        end = starts[-1] - 1
    return starts[::-1], texts[::-1]


class Tails:
    """The ends of all logs of an attempt; bounded."""

    def __init__(self) -> None:
        self._open: dict[str, _Tail] = {}
        self._closed: dict[str, LogEnd] = {}

    def add(self, block: Block, parser: LineParser) -> None:
        """Take the next block of its log."""
        tail = self._open.pop(block.file, None) or _Tail(parser)
        tail.parser = parser
        tail.add(block)
        while len(self._open) >= OPEN_TAILS:
            name = next(iter(self._open))
            self._closed[name] = self._open.pop(name).end(CLOSED_LINES)
        self._open[block.file] = tail

    def ends(self) -> list[LogEnd]:
        """Return the end of every log."""
        return [*self._closed.values(), *(tail.end() for tail in self._open.values())]

    def parser(self, file: str) -> LineParser | None:
        """Return what parses the lines of a log, null for one that is no longer kept."""
        tail = self._open.get(file)
        return None if tail is None else tail.parser

    def of_job(self) -> Iterator[tuple[str, _Tail]]:
        """Yield the kept tails of what the job itself prints."""
        for name, tail in self._open.items():
            if tail.parser.stream in JOB_STREAMS:
                yield name, tail
