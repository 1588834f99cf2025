"""What a Python traceback ends with: the exception, whatever its class is called.

Patterns can only know names that end in *Error* or *Exception*. The last line of a traceback tells
the others: it is the first one after the frames that is not indented.
"""

from __future__ import annotations

import re
from collections import deque
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
    indent: int
    """Of its heading; see `_indent`."""
    end: int
    """Lines of its log read with tracebacks open, up to which it is followed."""
    read: int = 0
    """How many of them were read where the last block ended."""
    is_over: bool = False
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

    For each block: `begin` first, then `until` and `follow` for every heading in it, then `finish`.
    All open tracebacks are followed at once, and each line is read once: a wave of a million
    headings costs no more than their lines do.
    """

    def __init__(self) -> None:
        self._open: dict[str, deque[_Search]] = {}
        self._searches = deque[_Search]()
        self._by_printer: dict[_Printer, list[_Search]] = {}
        self._line = self._place = 0
        self._block: Block | None = None
        self._parser: LineParser | None = None

    def begin(self, block: Block, parser: LineParser) -> None:
        """Go on with the tracebacks that began in earlier blocks of this one's log."""
        self._block, self._parser, self._place = block, parser, 0
        open_ones = self._open.pop(block.file, ())
        self._searches, self._by_printer = deque(s for s in open_ones if not s.is_over), {}
        self._line = self._searches[0].read if self._searches else 0
        for search in self._searches:
            self._by_printer.setdefault(search.printer, []).append(search)

    def follow(self, begin: int, head: LogLine) -> None:
        """Follow the traceback that `head` begins; `begin` is where the line after it does.

        Lines of other printers in between are passed over.
        """
        search = _Search(_printer(head), _indent(head), self._line + MAX_LINES)
        self._searches.append(search)
        self._by_printer.setdefault(search.printer, []).append(search)
        self._place = max(self._place, begin)

    @property
    def is_open(self) -> bool:
        """Whether any traceback is followed."""
        return bool(self._by_printer)

    def until(self, place: int) -> list[Raised]:
        """Return where tracebacks end in lines that begin at `place` or before, in their order."""
        found = list[Raised]()
        if self._block is None or self._parser is None:
            return found
        data = self._block.data
        while self._by_printer and self._place <= place and self._place < len(data):
            begin = self._place
            end = data.find(b"\n", begin)
            end = len(data) if end < 0 else end
            text = data[begin : min(end, begin + MAX_TEXT)].decode("utf-8", "replace")
            line = self._parser.look(text, 0, 0)
            found += sorted(Raised(begin, frame) for frame in self._take(line))
            self._place = end + 1
        return found

    def finish(self) -> list[Raised]:
        """Return the same for all lines that are left; what goes on is kept for the next block."""
        if self._block is None:
            return []
        found = self.until(len(self._block.data))
        if self._by_printer:
            for search in self._searches:
                search.read = self._line
            self._open[self._block.file] = self._searches
        self._block = self._parser = None
        return found

    def _take(self, line: LogLine) -> list[str]:
        """Take the next line; return where the exceptions were raised that it names."""
        self._line += 1
        printer, raised = _printer(line), list[str]()
        searches = self._by_printer.get(printer, [])
        over = [search for search in searches if _is_last(line, search)]
        if over:
            self._keep(printer, [search for search in searches if not _is_last(line, search)])
            for search in over:
                search.is_over = True
            if _RAISED.match(line.message):
                raised = [search.raised_in() for search in over]
        elif searches and (frame := _FRAME.search(line.message)):
            for search in searches:
                search.note(frame[1], frame[2])
        while self._searches and (self._searches[0].is_over or self._searches[0].end <= self._line):
            self._drop(self._searches.popleft())
        return raised

    def _drop(self, search: _Search) -> None:
        """Forget the oldest traceback, unless it is over."""
        if not search.is_over:
            self._keep(search.printer, self._by_printer[search.printer][1:])

    def _keep(self, printer: _Printer, searches: list[_Search]) -> None:
        if searches:
            self._by_printer[printer] = searches
        else:
            del self._by_printer[printer]


def _printer(line: LogLine) -> _Printer:
    return line.rank, line.local_rank, line.task, line.node


def _is_last(line: LogLine, search: _Search) -> bool:
    """Whether a line is no frame any more: it stands no further in than its heading did."""
    return line.message[:1] not in {"", " ", "\t"} and _indent(line) <= search.indent


def _indent(line: LogLine) -> int:
    """Blanks before the message, of which what stamps lines may have taken some for its own."""
    message = line.message
    head = line.text[: line.message_start]
    return len(head) - len(head.rstrip()) + len(message) - len(message.lstrip())
