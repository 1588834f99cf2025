"""From a line of text to the event that the rest of Relume speaks."""

from __future__ import annotations

import re
from dataclasses import replace

from relume.events import LogLine
from relume.ingest.filenames import writer_of
from relume.ingest.prefixes import Prefix, parse_prefix
from relume.ingest.timestamps import SECOND_MICROS, Clock

_MLPERF = ":::MLLOG"
_MLPERF_TIME = re.compile(r'"time_ms": ?(\d{12,14})\b')
_MLPERF_CHARACTERS = 400
"""The time stands near the front of an MLPerf line."""


class LineParser:
    """Parses the lines of one log, in their order.

    Parameters
    ----------
    file
        Name of the log. `rank_3.log` and `dmesg-gpu-a01.log` tell the rank or the node of lines
        whose own prefixes don't.
    stream
        ``stdout``, ``stderr``, ``kernel``, ``slurmctld``.
    attempt
        The attempt that the log belongs to, if known.
    zone
        Zone of clocks that name none: an IANA name or an offset.
    modified
        When the log was last written (POSIX seconds): gives the year of clocks without one.
    near
        UTC microseconds of about when its lines were written, where that is known better: clocks
        without a year then take the one that is closest.

    Raises
    ------
    InputError
        For an unknown zone.

    Examples
    --------
    >>> line = LineParser("rank_3.log").parse("[2026-01-02 03:04:05] step 7", line=0, offset=0)
    >>> line.rank, line.message, line.event_time
    (3, 'step 7', 1767323045000000)
    """

    def __init__(  # noqa: PLR0913 - what is known of the log, each by its name
        self,
        file: str,
        *,
        stream: str = "stdout",
        attempt: str | None = None,
        zone: str = "UTC",
        modified: float | None = None,
        near: int | None = None,
        node: str | None = None,
    ) -> None:
        self.file = file
        self.stream = stream
        self._attempt = attempt
        latest = None if modified is None else int(modified * SECOND_MICROS)
        self._clock = Clock(zone, latest, near)
        writer = writer_of(file)
        self._writer = replace(writer, node=writer.node or node)

    def parse(self, text: str, line: int, offset: int) -> LogLine:
        """Return the event of one logical line. Never raises.

        A clock without a date or year gives a null `event_time`, never a guess. The rank of a
        process group stands for the global rank where nothing else tells it.
        """
        return self._event(text, line, offset, remember=True)

    def clock(self, text: str) -> tuple[str, int] | None:
        """Return the clock of a line and its time, null for a line without one. Never raises.

        For who needs no more than that, of the lines in their order.
        """
        prefix = parse_prefix(text)
        time = self._time(prefix, text, remember=True)
        return None if time is None else (prefix.clock or "", time)

    def time_of(self, clock: str) -> int | None:
        """Return the time of a clock by its text, out of order, null for none."""
        return self._clock.read(clock, remember=False)

    def look(self, text: str, line: int, offset: int) -> LogLine:
        """Parse a line out of order: later lines are read as if this one had not been."""
        return self._event(text, line, offset, remember=False)

    def _event(self, text: str, line: int, offset: int, *, remember: bool) -> LogLine:
        prefix, writer = parse_prefix(text), self._writer
        rank = writer.rank if prefix.rank is None else prefix.rank
        local_rank = writer.local_rank if prefix.local_rank is None else prefix.local_rank
        return LogLine(
            text=text,
            line=line,
            offset=offset,
            file=self.file,
            message_start=prefix.length,
            stream=self.stream,
            attempt=self._attempt,
            node=prefix.node or writer.node,
            rank=prefix.group_rank if rank is None else rank,
            local_rank=local_rank,
            task=prefix.task,
            gpu=prefix.gpu,
            event_time=self._time(prefix, text, remember=remember),
        )

    def _time(self, prefix: Prefix, text: str, *, remember: bool) -> int | None:
        if prefix.clock is not None:
            return self._clock.read(prefix.clock, remember=remember)
        if text.startswith(_MLPERF, prefix.length):
            found = _MLPERF_TIME.search(text, prefix.length, prefix.length + _MLPERF_CHARACTERS)
            return None if found is None else int(found[1]) * 1000
        return None
