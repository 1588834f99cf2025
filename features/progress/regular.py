r"""Work that goes on in lines which no progress format knows: counters that grow, work by its name.

A log without step lines, or one whose steps pause for an evaluation or an upload, still shows that
its job works: the same line comes again and again, and a number in it only grows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

WORK_LINES: Final = 5
"""Lines of one shape that make a counter, or work under way."""
REGULAR_LINES: Final = 20
"""Lines of one shape after a failure that make it doubtful: victims don't go on so."""
HABIT_LINES: Final = 2
"""Times that a line's shape must have come before the failure to be a habit of the job."""
GROWING_SHARE: Final = 0.5
"""Share of the lines at which a counter grows; several ranks may print one value each."""
MAX_CHARACTERS: Final = 300
"""How much of a line its shape is made of."""

_CLOCKS: Final = re.compile(
    r"\d{4}[-/]\d\d[-/]\d\d[T _]?|\d+:\d\d(?::\d\d)?(?:[.,]\d+)?|\b1\d{9}\.\d+|^\s*\[ *\d+\.\d+\]"
    r"|\b0x[0-9a-fA-F]+",
    re.ASCII,
)
"""Numbers that grow by themselves, and addresses."""
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_WAITING: Final = re.compile(
    r"(?i)wait|stuck|tim(?:ed?|ing)[ -]?out|no progress|heartbeat|\balive\b|\bidle\b|pulse:"
    r"|retr(?:y|i)|\bh[au]ng\b|blocked|watchdog|uptime|not responding|frame #"
)
"""What a job, or what watches it, says while nothing is done; and the frames of a stack."""
_WORK: Final = re.compile(
    r"(?i)\b(?:evaluat|validat|upload|download|saved?\b|saving\b|writ(?:ing|ten)\b"
    r"|checkpoint|copy|copied|sync(?:ing|hroniz)|flush|shard|export|convert)"
)
"""Words for the long phases beside training."""


@dataclass(slots=True)
class _Shape:
    """Lines that differ in numbers only: where they stand, and the numbers of each."""

    lines: list[int] = field(default_factory=list)
    numbers: list[tuple[float, ...]] = field(default_factory=list)

    def grows(self) -> bool:
        """Whether one of the numbers never falls, and grows most of the time."""
        return any(_is_counter(values) for values in zip(*self.numbers, strict=True))


def last_work(lines: Iterable[tuple[int, str]]) -> int | None:
    """Return the last line that shows work under way, null when none does.

    `lines` are (line, text) in order, all of them after the last step. Work is a counter that
    grows, or a long phase's own words again and again; what waits says neither.

    Examples
    --------
    >>> last_work((n, f"uploading part {n} of 90") for n in range(20))
    19
    >>> last_work((n, f"still waiting for rank 3 ({n} s)") for n in range(20)) is None
    True
    """
    found: int | None = None
    work: list[int] = []
    shapes = _shapes(lines, work)
    for shape in shapes.values():
        if len(shape.lines) >= WORK_LINES and shape.grows():
            found = max(found or 0, shape.lines[-1])
    return max(found or 0, work[-1]) if len(work) >= WORK_LINES else found


def is_waiting(text: str) -> bool:
    """Whether a line says that its printer waits, or only that it is there.

    Examples
    --------
    >>> is_waiting("[rank3] heartbeat: waiting for peers")
    True
    """
    return _WAITING.search(text, 0, MAX_CHARACTERS) is not None


def goes_on_after(lines: Sequence[tuple[int, str]], line: int) -> bool:
    """Whether a job goes on as before after `line`: lines of a habit of its own, a number growing.

    `lines` are the last ones of the log as (line, text). Where they hold none from before `line`,
    a growing number is enough.
    """
    if sum(number > line for number, _ in lines) < REGULAR_LINES:
        return False
    before = Counter(_read(text)[0] for number, text in lines if number < line)
    after = _shapes((number, text) for number, text in lines if number > line)
    return any(
        len(shape.lines) >= REGULAR_LINES
        and shape.grows()
        and (not before or before[words] >= HABIT_LINES)
        for words, shape in after.items()
    )


def _shapes(lines: Iterable[tuple[int, str]], work: list[int] | None = None) -> dict[str, _Shape]:
    """Group lines by shape, without those that wait; lines of a long phase are noted in `work`."""
    shapes: dict[str, _Shape] = {}
    for number, text in lines:
        if is_waiting(text):
            continue
        if work is not None and _WORK.search(text, 0, MAX_CHARACTERS):
            work.append(number)
        words, numbers = _read(text)
        shape = shapes.setdefault(words, _Shape())
        shape.lines.append(number)
        shape.numbers.append(numbers)
    return shapes


def _read(text: str) -> tuple[str, tuple[float, ...]]:
    """(the words of a line without its clocks and numbers, the numbers)."""
    bare = _CLOCKS.sub("", text[:MAX_CHARACTERS])
    numbers = tuple(float(number) for number in _NUMBER.findall(bare))
    return _NUMBER.sub("#", bare), numbers


def _is_counter(values: Sequence[float]) -> bool:
    steps = [later - earlier for earlier, later in pairwise(values)]
    return min(steps) >= 0.0 and sum(step > 0.0 for step in steps) >= GROWING_SHARE * len(steps)
