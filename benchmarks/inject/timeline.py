"""One recorded log by its own clocks: read in order, cut at a time, or slowed from a time on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING

import numpy as np

from relume.benchmarks.corpora.clocks import with_clock
from relume.benchmarks.inject.stated import slowed_line
from relume.clock import MICROSECONDS_PER_SECOND
from relume.dataset import LogFile
from relume.errors import InputError
from relume.ingest.loglines import LineParser
from relume.ingest.timestamps import zone_of
from relume.serve.backtest.pieces import LineClock, Piece, timed_pieces
from relume.serve.backtest.sources import file_source

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MLPERF, _MLPERF_TIME = ":::MLLOG", re.compile(r'("time_ms": ?)\d{12,14}\b')
_MIN_CLOCKS = 10
"""Seconds with lines; a log with fewer has no pace that could change."""


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """The seconds (POSIX) in which a log was written, in their order."""

    seconds: NDArray[np.int64]

    @property
    def first(self) -> int:
        """The first of them."""
        return int(self.seconds[0])

    @property
    def last(self) -> int:
        """The last of them."""
        return int(self.seconds[-1])

    def at(self, share: float) -> int:
        """Return the last second with lines up to a share of the time."""
        wanted = self.first + share * (self.last - self.first)
        return int(self.seconds[np.searchsorted(self.seconds, wanted, side="right") - 1])


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A log of an attempt.

    Parameters
    ----------
    file
        Where it is; the path is absolute.
    zone
        IANA name of the zone of clocks that name none.
    near
        UTC microseconds of about when it was written; null if unknown.
    """

    file: LogFile
    zone: str
    near: int | None

    @property
    def stream(self) -> str:
        """What it is, by the data set or its content: ``stdout``, ``kernel`` and so on."""
        return file_source(self.file).stream

    def span(self) -> Span | None:
        """Return when its lines were written; null where too few have a clock."""
        pieces = (one for one in self._pieces() if one.block is not None)
        told = (one.second for one in pieces if one.second is not None)
        seconds = np.fromiter(told, np.int64)
        if len(seconds) < _MIN_CLOCKS:
            return None
        return Span(seconds)

    def until(self, second: int) -> Iterator[bytes]:
        """Yield what was written up to the end of a second (POSIX)."""
        for piece in self._pieces():
            if piece.second is None or piece.second > second:
                return
            if piece.block is not None:
                yield piece.block.data

    def slowed(self, second: int, factor: float) -> Iterator[bytes]:
        """Yield all of it; what comes after a second comes `factor` times as late.

        Clocks, and step times and rates that a line states, are changed in the form in which they
        are printed.

        Raises
        ------
        InputError
            At a clock in a form that can't be changed.
        """
        parser, since = self._parser(), second * MICROSECONDS_PER_SECOND
        for piece in self._pieces():
            if piece.block is None:
                continue
            if piece.second is not None and piece.second <= second:
                yield piece.block.data
                continue
            for raw in piece.block.data.splitlines(keepends=True):
                yield self._slowed(raw, parser, since, factor)

    def _slowed(self, raw: bytes, parser: LineParser, since: int, factor: float) -> bytes:
        text = raw.decode("utf-8", "surrogateescape")
        time = parser.look(text, 0, 0).event_time
        text = slowed_line(text, factor)
        if time is not None and time > since:
            wanted = since + round((time - since) * factor)
            text = _moved(text, wanted, zone_of(self.zone))
            found = parser.look(text, 0, 0).event_time
            if found is None or abs(found - wanted) > MICROSECONDS_PER_SECOND:
                raise InputError(
                    f"clock in {self.file.path}",
                    found=text.strip()[:80],
                    expected="a clock in a form that can be moved",
                    hint="inject a fault that ends the log instead",
                )
        return text.encode("utf-8", "surrogateescape")

    def _pieces(self) -> Iterator[Piece]:
        return timed_pieces(file_source(self.file).read(), LineClock(self._parser()))

    def _parser(self) -> LineParser:
        source = file_source(self.file)
        return LineParser(
            source.name,
            stream=source.stream,
            zone=self.zone,
            modified=source.modified,
            near=self.near,
        )


def _moved(text: str, time: int, zone: tzinfo) -> str:
    """Return a line with its clock at `time`: that of its prefix, or MLPerf's own."""
    if _MLPERF in text:
        return _MLPERF_TIME.sub(rf"\g<1>{time // 1000}", text, count=1)
    return with_clock(text, time, zone)
