"""What a Python traceback ends with: the exception, whatever its class is called.

Patterns can only know names that end in *Error* or *Exception*. The last line of a traceback tells
the others: it is the first one after the frames that is not indented.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from relume.events import LogLine
from relume.ingest.blocks import Block
from relume.ingest.loglines import LineParser
from relume.models.policy.place import INSIDE, is_installed

TRACEBACK_RULE = "generic_traceback"
RAISED_RULE = "generic_exception"
MAX_LINES = 400
"""A longer traceback, with the lines of other ranks between, is not followed to its end."""
MAX_OPEN = 4096
"""Tracebacks of one log followed over the end of a block: a wave of as many ranks."""
MAX_TEXT = 4096
_RAISED = re.compile(r"(?:(?:[A-Za-z_]\w*\.)+[A-Za-z_]\w*|[A-Z]\w*[a-z]\w*)(?:: |:?$)")
"""A dotted name or a CamelCase one, alone or before its message."""

_FRAME = re.compile(r'File "([^"]{1,4000})", line \d{1,9}, in (\S{1,200})')


class Raised(NamedTuple):
    """Where in a block an exception is named, and in which code it was raised.

    `frame` is the innermost frame of the job's own code as ``path:function``, and behind `INSIDE`
    the innermost one of installed code below it; empty when no frame was printed.
    """

    begin: int
    frame: str


_Printer: TypeAlias = tuple[int | None, int | None, int | None, str | None]


@dataclass(slots=True)
class _Search:
    """A traceback whose last line was not seen yet."""

    printer: _Printer
    lines_left: int = MAX_LINES
    own: str = ""
    inner: str = ""

    def note(self, path: str, function: str) -> None:
        """Take the next frame; of Python's importing only that it has a place at all."""
        frame = f"{path}:{function}"
        if not is_installed(path):
            self.own, self.inner = frame, ""
        elif not (path.startswith("<") and (self.own or self.inner)):
            self.inner = frame

    def raised_in(self) -> str:
        """Where it was raised, as far as its frames tell."""
        return INSIDE.join(frame for frame in (self.own, self.inner) if frame)


class RaisedFinder:
    """Finds the lines that name the exceptions of tracebacks, however the log is cut into blocks.

    For each block: `resume` first, then `follow` for every heading in it.
    """

    def __init__(self) -> None:
        self._open: dict[str, list[_Search]] = {}

    def resume(self, block: Block, parser: LineParser) -> list[Raised]:
        """Return where in `block` the tracebacks end that began in earlier blocks of its log."""
        return self._search(self._open.pop(block.file, []), block, 0, parser)

    def follow(self, block: Block, begin: int, parser: LineParser, head: LogLine) -> list[Raised]:
        """Return where the traceback ends that `head` begins; nothing if that isn't to be seen yet.

        `begin` is where the line after the heading begins. Lines of other printers in between are
        passed over.
        """
        return self._search([_Search(_printer(head))], block, begin, parser)

    def _search(
        self, searches: Sequence[_Search], block: Block, begin: int, parser: LineParser
    ) -> list[Raised]:
        data, found, searches = block.data, list[Raised](), list(searches)
        while searches and begin < len(data):
            end = data.find(b"\n", begin)
            end = len(data) if end < 0 else end
            text = data[begin : min(end, begin + MAX_TEXT)].decode("utf-8", "replace")
            line = parser.look(text, 0, 0)
            ends = [s for s in searches if s.printer == _printer(line) and _is_last(line)]
            if ends and _RAISED.match(line.message):
                found.append(Raised(begin, ends[-1].raised_in()))
            frame = _FRAME.search(line.message)
            for search in searches:
                search.lines_left -= 1
                if frame is not None and search.printer == _printer(line):
                    search.note(frame[1], frame[2])
            searches = [s for s in searches if s not in ends and s.lines_left > 0]
            begin = end + 1
        if searches:
            self._open[block.file] = [*self._open.get(block.file, []), *searches][:MAX_OPEN]
        return found


def _printer(line: LogLine) -> _Printer:
    return line.rank, line.local_rank, line.task, line.node


def _is_last(line: LogLine) -> bool:
    return line.message[:1] not in {"", " ", "\t"}
