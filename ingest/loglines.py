"""From a line of text to the event that the rest of Relume speaks."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from relume.events import LogLine
from relume.ingest.prefixes import Prefix, parse_prefix
from relume.ingest.timestamps import Clock

_RANK_FILE = re.compile(
    r"(?:^|[^a-zA-Z])(?:std(?:out|err))?_?rank[_-]?(\d{1,7})(?!\d)", re.IGNORECASE
)
_KERNEL_FILE = re.compile(
    r"^(?:dmesg|kern(?:el)?|kmsg|syslog|messages)[._-](?P<after>[A-Za-z][\w-]*?\d[\w-]*?)(?:\.\w{2,4})*$"
    r"|^(?P<before>[A-Za-z][\w-]*?\d[\w-]*?)[._-](?:dmesg|kern(?:el)?|kmsg|syslog|messages)(?:\.\w{2,4})*$"
)
_MLPERF_TIME = re.compile(r'"time_ms": ?(\d{12,14})\b')


class LineParser:
    """Parses the lines of one log.

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
        Zone of clocks that name none.
    modified
        When the log was last written (POSIX seconds): gives the year of clocks without one.
    """

    def __init__(
        self,
        file: str,
        *,
        stream: str = "stdout",
        attempt: str | None = None,
        zone: str = "UTC",
        modified: float | None = None,
    ) -> None:
        self.file = file
        self.stream = stream
        self._attempt = attempt
        if modified is None:
            self._clock = Clock(zone)
        else:
            written = datetime.fromtimestamp(modified, UTC)
            self._clock = Clock(zone, written.year, written.month)
        self._rank = rank_of_file(file)
        self._node = node_of_file(file)

    def parse(self, text: str, line: int, offset: int) -> LogLine:
        """Return the event of one logical line.

        A clock without a date, year or zone database gives a null `event_time`, never a guess.
        """
        prefix = parse_prefix(text)
        rank = prefix.rank if prefix.rank is not None else prefix.group_rank
        return LogLine(
            text=text,
            line=line,
            offset=offset,
            file=self.file,
            message_start=prefix.length,
            stream=self.stream,
            attempt=self._attempt,
            node=prefix.node or self._node,
            rank=rank if rank is not None else self._rank,
            local_rank=prefix.local_rank,
            task=prefix.task,
            gpu=prefix.gpu,
            event_time=self._time(prefix, text),
        )

    def _time(self, prefix: Prefix, text: str) -> int | None:
        if prefix.clock is not None:
            return self._clock.read(prefix.clock)
        if text.startswith(":::MLLOG", prefix.length) and (found := _MLPERF_TIME.search(text)):
            return int(found[1]) * 1000
        return None


def rank_of_file(file: str) -> int | None:
    """Rank in a file name such as ``rank_3.log`` or ``stderr_rank12``, null without.

    >>> rank_of_file("logs/stderr_rank12.txt"), rank_of_file("franke.log")
    (12, None)
    """
    found = _RANK_FILE.search(Path(file).name)
    return int(found[1]) if found else None


def node_of_file(file: str) -> str | None:
    """Node in the name of a kernel log such as ``dmesg-gpu-a01.log``, null without.

    >>> node_of_file("dmesg-gpu-a01.log"), node_of_file("gpu-a01.kern.log"), node_of_file("a.log")
    ('gpu-a01', 'gpu-a01', None)
    """
    found = _KERNEL_FILE.match(Path(file).name)
    return (found["after"] or found["before"]) if found else None
