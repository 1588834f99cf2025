"""What a Python traceback ends with: the exception, whatever its class is called.

Patterns can only know names that end in *Error* or *Exception*. The last line of a traceback tells
the others: it is the first one after the frames that is not indented.
"""

from __future__ import annotations

import re

from relume.events import LogLine
from relume.ingest.blocks import Block
from relume.ingest.loglines import LineParser

TRACEBACK_RULE = "generic_traceback"
RAISED_RULE = "generic_exception"
MAX_LINES = 400
"""A longer traceback, with the lines of other ranks between, is not followed to its end."""
MAX_TEXT = 4096
_RAISED = re.compile(r"(?:(?:[A-Za-z_]\w*\.)+[A-Za-z_]\w*|[A-Z]\w*[a-z]\w*)(?:: |:?$)")
"""A dotted name or a CamelCase one, alone or before its message."""


def find_raised(block: Block, begin: int, parser: LineParser, head: LogLine) -> LogLine | None:
    """Return the line that names the exception of a traceback, null when it isn't in this block.

    `begin` is where the line after the heading `head` begins. Lines of other printers in between
    are passed over.
    """
    data, printer = block.data, (head.rank, head.local_rank, head.task, head.node)
    for _ in range(MAX_LINES):
        if begin >= len(data):
            return None
        end = data.find(b"\n", begin)
        end = len(data) if end < 0 else end
        text = data[begin : min(end, begin + MAX_TEXT)].decode("utf-8", "replace")
        line = parser.parse(text, block.line_at(begin), block.byte_offset_at(begin))
        begin = end + 1
        if (line.rank, line.local_rank, line.task, line.node) != printer:
            continue
        if line.message[:1] in {"", " ", "\t"}:
            continue
        return line if _RAISED.match(line.message) else None
    return None
