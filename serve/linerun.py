"""Lines that are kept of a log, in a row: one buffer, which is split only when somebody asks.

A busy log has hundreds of lines a second, of nearly all of which nobody ever asks. An object for
each would cost more than reading them, above all the collector of garbage, which visits them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from relume.ingest.blocks import Block


@dataclass(frozen=True, slots=True)
class LineRun:
    r"""Some lines in a row.

    Attributes
    ----------
    data
        The lines, an LF between each two.
    numbers
        Their physical lines, as many; none where nobody will ask for them.
    position
        Where the first one begins in its log, in bytes.

    Examples
    --------
    >>> block = Block(b"one\ntwo\nthree\n", "log", 7, raw_offset=0, line_offset=0)
    >>> run = run_of(block, 4, 14)
    >>> run.texts(), list(run.numbers), run.places()
    ([b'two', b'three'], [8, 9], [4, 8])
    """

    data: bytes
    numbers: Sequence[int]
    position: int = 0

    @property
    def count(self) -> int:
        """How many lines they are, which have numbers."""
        return len(self.numbers)

    @property
    def size(self) -> int:
        """How long they are without their ends."""
        return len(self.data) + 1 - self.count

    def first_after(self, line: int) -> int:
        """Return from which on all come after physical line `line`; their count for none."""
        first, numbers = len(self.numbers), self.numbers
        while first and numbers[first - 1] > line:
            first -= 1
        return first

    def texts(self) -> list[bytes]:
        """Return the lines without their ends."""
        return self.data.split(b"\n")

    def places(self) -> list[int]:
        """Return where each line begins in its log."""
        return starts_of(self.texts(), self.position)


def run_of(
    block: Block, begin: int, end: int, *, offset: int = 0, numbered: bool = True
) -> LineRun:
    """Return the lines of a block between two places, at least one.

    An LF before `end` ends the last one. `offset` is where the block begins in its log.
    """
    numbers = block.numbers(begin, end) if numbered else ()
    return LineRun(block.data[begin:end].removesuffix(b"\n"), numbers, offset + begin)


def starts_of(texts: Sequence[bytes], begin: int) -> list[int]:
    """Return where lines in a row begin, the first of them at `begin`.

    >>> starts_of([b"one", b"two"], 10)
    [10, 14]
    """
    return list(accumulate((len(text) + 1 for text in texts[:-1]), initial=begin))
