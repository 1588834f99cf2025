"""Learns where unknown loggers print the rank: the place that takes as many values as there are.

A grammar of prefixes knows the common ones. Of the others, whatever their form, one thing holds:
before the message stands a number that is another one for each process, from 0 up, with hardly a
gap. The same holds for the names of logs where each process has its own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

HEAD_CHARACTERS = 120
"""A prefix that tells the rank ends before."""
MARK_CHARACTERS = 40
MAX_SLOTS = 3
"""Numbers at the front of a line that are looked at."""
MIN_VALUES = 3
"""Different values that make a slot: two lines may differ in anything."""
MIN_DENSITY = 0.3
"""Share of the numbers from 0 to the largest that must be there, where nobody knows the world."""
MIN_SHARE = 0.2
"""Share of the lines that must have the slot: what only one message has is no prefix."""
MIN_OF_MOST = 0.5
"""... and of the lines with the most common slot: a number in some messages is no rival of it."""
# An integer that is no part of a date, a clock, a version, an address or a decimal.
_NUMBER = re.compile(r"(?<![\d.:/+])(?<!\d-)\d{1,7}(?![\d:+%]|\.\d|-\d|/\d)")
_OF = re.compile(r"(?<![\d.:/+])(?<!\d-)\d{1,7}(?=/\d{1,7}[\])])")
"""... or the first of two, as in ``(3/64)``."""
_HINT = re.compile(r"(?i)(?:rank|ran[gk]o?|proc(?:ess|id)?|task|worker|\br)[ _=:-]{0,3}\Z")
_NO_RANK = re.compile(
    r"(?i)(?:step|iter(?:ation)?|epoch|batch|gpu|cuda|local[_ ]?rank|default|pid|line)\W?\Z"
)
"""Words before numbers of other things; *default* is torchrun's role of a local rank."""
_DIGITS = re.compile(r"\d")
_HINT_CHARACTERS = 16


@dataclass(frozen=True, slots=True)
class Slots:
    """Where ranks stand: the text before the number, digits masked."""

    known: frozenset[str] = frozenset()

    def rank_of(self, text: str) -> int | None:
        """Return the rank that stands in a slot of `text`, null where there is none.

        >>> learn([f"[w{n}] lost" for n in range(4)], world_size=4).rank_of("[w2] other words")
        2
        """
        for before, value in _slots(text) if self.known else ():
            if before in self.known:
                return value
        return None


def learn(texts: Iterable[str], world_size: int | None = None) -> Slots:
    """Learn the slots of many lines (or names of logs) of which no grammar knows the printer.

    Where several places would do, a word such as *rank* before it decides; without one, none is.
    """
    values: defaultdict[str, set[int]] = defaultdict(set)
    count: defaultdict[str, int] = defaultdict(int)
    total = 0
    for text in texts:
        total += 1
        for before, value in _slots(text):
            values[before].add(value)
            count[before] += 1
    fitting = {
        before: found
        for before, found in values.items()
        if count[before] >= MIN_SHARE * total and _is_rank(before, found, world_size)
    }
    most = max((count[before] for before in fitting), default=0)
    common = {b: found for b, found in fitting.items() if count[b] >= MIN_OF_MOST * most}
    return Slots(frozenset(_chosen(common)))


def ranks_of_names(names: Iterable[str], world_size: int | None = None) -> dict[str, int]:
    """Return the rank in each of the names of logs, where each process has a log of its own.

    It is the number, counted from the end of the name, that is another one in every log. A log
    that is named in another way than most is the launcher's.

    >>> ranks_of_names(["out/n7-0.log", "out/n7-1.log", "out/n8-2.log", "out/job-977.log"])
    {'out/n7-0.log': 0, 'out/n7-1.log': 1, 'out/n8-2.log': 2}
    """
    families: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        families[_masked(name)].append(name)
    largest = max(families.values(), key=len, default=[])
    numbers = {name: [int(n) for n in re.findall(r"\d{1,7}", name)[::-1]] for name in largest}
    least = min(map(len, numbers.values()), default=0)
    for place in range(min(least, MAX_SLOTS)):
        values = {name: found[place] for name, found in numbers.items()}
        distinct = set(values.values())
        if len(distinct) == len(values) and _is_rank("", distinct, world_size):
            return values
    return {}


def _masked(name: str) -> str:
    """The name of a log in its folder, whose numbers are all the same."""
    return re.sub(r"\d+", "0", name.rpartition("/")[2])


def numbers_before(text: str) -> str | None:
    """Return the first two numbers at the front of a line as text, null where there is none.

    >>> numbers_before("[12]: lost peer"), numbers_before("lost peer")
    ('12', None)
    """
    found = _NUMBER.findall(text, 0, MARK_CHARACTERS)[:2]
    return ",".join(found) or None


def _slots(text: str) -> list[tuple[str, int]]:
    """The first few numbers of a line, each with what stands before it."""
    head = text[:HEAD_CHARACTERS]
    found = sorted(
        (match for pattern in (_NUMBER, _OF) for match in pattern.finditer(head)),
        key=re.Match.start,
    )
    return [(_DIGITS.sub("0", head[: match.start()]), int(match[0])) for match in found[:MAX_SLOTS]]


def _is_rank(before: str, values: set[int], world_size: int | None) -> bool:
    least = MIN_VALUES if world_size is None else min(MIN_VALUES, world_size)
    if len(values) < least or _NO_RANK.search(before[-_HINT_CHARACTERS:]):
        return False
    if world_size is not None:
        return max(values) < world_size
    return len(values) >= MIN_DENSITY * (max(values) + 1)


def _chosen(fitting: Mapping[str, set[int]]) -> list[str]:
    """Of the slots of one line the one that is named a rank; else the only one."""
    hinted = [before for before in fitting if _HINT.search(before[-_HINT_CHARACTERS:])]
    if hinted:
        return hinted
    firsts = [
        b for b in fitting if not any(b != other and b.startswith(other) for other in fitting)
    ]
    return firsts if len(firsts) == len(fitting) else []
