"""One recorded log as batches in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import TypeAlias

from relume.clock import MICROSECONDS_PER_SECOND
from relume.ingest.blocks import Block, BlockPiece
from relume.ingest.forms import JOB
from relume.ingest.lake.batches import Landing, LineBatch
from relume.ingest.loglines import LineParser
from relume.serve.backtest.pieces import LineClock, timed_pieces
from relume.serve.backtest.sources import LogSource

Timed: TypeAlias = tuple[int, Landing]
"""A landing with its time, UTC microseconds."""
SOURCE = "backtest"
_LAST_LINES = 20
"""Lines at the end of a block that are looked at for the latest clock in it."""


class RecordedLog:
    """A log of an attempt, opened: its first second is known before the rest is read.

    Parameters
    ----------
    log
        Where it is.
    cluster, attempt
        Whose it is.
    zone
        IANA name of the zone of clocks that name none.
    near
        UTC microseconds of about when it was written, null if unknown.

    Attributes
    ----------
    first
        When its first lines came, UTC microseconds; null for a log without clocks.

    Raises
    ------
    InputError
        When it can't be read, also while it is.
    """

    def __init__(
        self, log: LogSource, *, cluster: str, attempt: str, zone: str, near: int | None
    ) -> None:
        self.log = log
        self._batch = partial(_batch, log, cluster, attempt)
        parser = LineParser(
            log.name, stream=log.stream, zone=zone, modified=log.modified, near=near
        )
        pieces = timed_pieces(log.read(), LineClock(parser), believes_leaps=log.stream != JOB)
        head = next(pieces, None)
        self._pieces = pieces if head is None else chain([head], pieces)
        self._rest: list[BlockPiece] = []
        second = None if head is None else head.second
        self.first = None if second is None else _polled(second)

    def landings(
        self,
        start: int,
        vague: Callable[[int], Landing],
        known: Callable[[int], Landing],
        *,
        within: tuple[int, int] | None = None,
    ) -> Iterator[Timed]:
        """Yield the lines of which it is known when they came, once; those before `start` then.

        `vague` and `known` make what is told in between: from that time on nobody can tell whether
        the log was silent, and from then on it is clear again. Lines that didn't come `within` two
        times, where they are given, are another attempt's, and left out.
        """
        is_vague, latest = False, start
        for piece in self._pieces:
            if piece.second is None:
                if piece.block is not None and within is None:
                    self._rest.append(piece.block)
                continue
            time = _polled(piece.second)
            if within is not None and not within[0] <= time <= within[1]:
                continue
            time = max(time, start)
            if (piece.is_vague or piece.block is None) and not is_vague:
                is_vague = True
                since = time if piece.block is None else latest
                yield since, vague(since)
            elif is_vague and not piece.is_vague and piece.block is not None:
                is_vague = False
                yield time, known(time)
            if piece.block is not None:
                yield time, self._batch(piece.block, time)
            latest = time

    def untimed(self, time: int) -> Iterator[Timed]:
        """Yield, once and as of `time`, all lines of a log without clocks."""
        return ((time, self._batch(one.block, time)) for one in self._pieces if one.block)

    def rest(self, time: int) -> Iterator[Timed]:
        """Yield, once and as of `time`, the lines that `landings` came to and of no known time."""
        rest, self._rest = self._rest, []
        return ((time, self._batch(block, time)) for block in rest)


def node_batches(
    log: LogSource, *, cluster: str, zone: str, begin: int
) -> Iterator[tuple[int, LineBatch]]:
    """Yield the lines of a node's log from `begin` on (UTC microseconds).

    Lines without a clock before the first one that has one can't be told to be of that time: a log
    without any gives nothing.
    """
    parser = LineParser(log.name, stream=log.stream, zone=zone, modified=log.modified, near=begin)
    later = (block for block in log.read() if not _is_before(block, parser, begin))
    pieces = timed_pieces(later, LineClock(parser), believes_leaps=True)
    for piece in pieces:
        if piece.second is None:
            return
        time = _polled(piece.second)
        if time >= begin and piece.block is not None:
            yield time, _batch(log, cluster, None, piece.block, time)


def _batch(
    log: LogSource, cluster: str, attempt: str | None, piece: BlockPiece, time: int
) -> LineBatch:
    return LineBatch(
        block=piece,
        attempt=attempt,
        stream=log.stream,
        node=log.node,
        observed_at=time,
        cluster=cluster,
        source=SOURCE,
    )


def _is_before(block: Block, parser: LineParser, begin: int) -> bool:
    """Whether a block ends before `begin`, by the latest clock near its end."""
    lines = block.data.removesuffix(b"\n").rsplit(b"\n", _LAST_LINES)[-_LAST_LINES:]
    for raw in reversed(lines):
        time = parser.look(raw.decode("utf-8", "replace"), 0, 0).event_time
        if time is not None:
            return time < begin
    return False


def _polled(second: int) -> int:
    """When a service that polls at every whole second sees what was written in `second`."""
    return (second + 1) * MICROSECONDS_PER_SECOND
