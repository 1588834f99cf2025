"""Slurm's hostlists: ``gpu-b[17-18,22]`` to names and back.

The ranges are ClusterShell's (imported on first use; it runs without its configuration). Around it
stand two guards: only Slurm's own grammar gets through, since ClusterShell also knows groups, which
may run commands, and set operators; and the number of names is counted before any is made.
"""

from __future__ import annotations

import re
from collections import defaultdict
from math import prod
from typing import TYPE_CHECKING

from relume.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_LIMIT = 65_536
"""Names: above the nodes of any cluster, and less than half a second to make."""
NOTHING = frozenset({"", "(null)", "None assigned"})
"""How squeue, scontrol and sacct write that there is no node."""

_NAME_CHARACTERS = 255
"""The longest host name (POSIX HOST_NAME_MAX)."""
_NUMBER = "[0-9]{1,18}"
_RANGE = f"{_NUMBER}(?:-{_NUMBER})?"
_LITERAL = "[A-Za-z0-9._-]"
_ITEM = rf"(?:{_LITERAL}|\[{_RANGE}(?:,{_RANGE})*\])+"
_LIST = re.compile(f"{_ITEM}(?:,{_ITEM})*")
_ITEMS = re.compile(_ITEM)
_BRACKET = re.compile(r"\[([^\]]*)\]")
_NAME = re.compile(f"{_LITERAL}{{1,{_NAME_CHARACTERS}}}")
_TRAILING_NUMBER = re.compile(r"(.*?)([0-9]+)\Z")


def expand(text: str, limit: int = DEFAULT_LIMIT) -> list[str]:
    """Return the names that a hostlist stands for: each once, in natural order.

    Zero padding is kept, several brackets multiply. The order is that of the names, not of the
    text. What Slurm prints for *no node* (`NOTHING`) gives an empty list. Time and memory grow with
    the number of names.

    Parameters
    ----------
    text
        A hostlist as Slurm prints it or a user writes it.
    limit
        The largest number of names to make, counted with repeats; it is checked beforehand.

    Raises
    ------
    InputError
        When the text is no hostlist, or stands for more than `limit` names.

    Examples
    --------
    >>> expand("gpu-b[17-18,22],login1")
    ['gpu-b17', 'gpu-b18', 'gpu-b22', 'login1']
    >>> expand("a[1-2]b[09-10]")
    ['a1b09', 'a1b10', 'a2b09', 'a2b10']
    """
    stripped = text.strip()
    if stripped in NOTHING:
        return []
    if _LIST.fullmatch(stripped) is None:
        raise _bad_hostlist(text, "other characters or unbalanced brackets")
    items: list[str] = _ITEMS.findall(stripped)
    if max(map(_width, items)) > _NAME_CHARACTERS:
        raise _bad_hostlist(text, f"a name longer than {_NAME_CHARACTERS} characters")
    count = sum(map(_count, items))
    if count > limit:
        raise InputError(
            f"hostlist {_shortened(text)}",
            found=f"{count} names",
            expected=f"at most {limit}",
            hint="narrow the ranges",
        )
    plain = {item for item in items if "[" not in item}
    names = plain | _expand_ranges([item for item in items if "[" in item], text)
    return sorted(names, key=_natural)


def fold(names: Iterable[str]) -> str:
    """Return the shortest usual hostlist for `names`; the empty string for none.

    Only the number that ends a name is folded: Slurm refuses a hostlist whose last bracket is
    followed by text. Names that end otherwise are listed as they are. `expand` undoes it.

    Raises
    ------
    InputError
        When a name holds characters that no hostlist may have.

    Examples
    --------
    >>> fold(["gpu-b22", "gpu-b18", "gpu-b17", "login1"])
    'gpu-b[17-18,22],login1'
    >>> fold(["r1n01", "r1n02", "r2n01", "n1-ib", "n2-ib"])
    'n1-ib,n2-ib,r1n[01-02],r2n01'
    """
    numbers: defaultdict[str, set[str]] = defaultdict(set)
    folded = []
    for name in set(names):
        if _NAME.fullmatch(name) is None:
            raise _bad_hostlist(name, "other characters, or a name that is too long")
        match = _TRAILING_NUMBER.match(name)
        if match is None:
            folded.append(name)
        else:
            numbers[match[1]].add(match[2])
    folded += [prefix + _fold_numbers(found) for prefix, found in numbers.items()]
    return ",".join(sorted(folded, key=_natural))


def _width(item: str) -> int:
    """Return the characters of the longest name that an item gives."""
    widest = (max(map(len, re.split("[,-]", numbers))) for numbers in _BRACKET.findall(item))
    return len(_BRACKET.sub("", item)) + sum(widest)


def _count(item: str) -> int:
    """Return how many names an item gives, without making them."""
    return prod(
        sum(_length(numbers) for numbers in bracket.split(","))
        for bracket in _BRACKET.findall(item)
    )


def _length(numbers: str) -> int:
    first, _, last = numbers.partition("-")
    # A reversed range is refused later; counted as negative, it would make room for a huge one.
    return abs(int(last or first) - int(first)) + 1


def _expand_ranges(items: list[str], text: str) -> set[str]:
    if not items:
        return set()
    from ClusterShell.NodeSet import (  # noqa: PLC0415 - 25 ms that --help need not pay
        RESOLVER_NOGROUP,
        NodeSet,
        NodeSetException,
    )

    try:
        # One by one: a set of names with several numbers each takes 25 times as long.
        return {name for item in items for name in NodeSet(item, resolver=RESOLVER_NOGROUP)}
    except NodeSetException as error:
        raise _bad_hostlist(text, f"a range that can't be read ({error})") from error


def _fold_numbers(numbers: set[str]) -> str:
    if len(numbers) == 1:
        return next(iter(numbers))
    from ClusterShell.RangeSet import RangeSet  # noqa: PLC0415 - as above

    return f"[{RangeSet.fromlist(numbers)}]"


def _natural(name: str) -> tuple[list[str | int], str]:
    """Sort numbers in names by value; the name itself decides between ``n1`` and ``n01``."""
    return [int(p) if p.isdigit() else p for p in re.split("([0-9]+)", name)], name


def _bad_hostlist(text: str, found: str) -> InputError:
    return InputError(
        f"hostlist {_shortened(text)}",
        found=found,
        expected="names and ranges like gpu-b[17-18,22]",
        hint="check brackets and padding; separate names by commas",
    )


def _shortened(text: str, characters: int = 80) -> str:
    return repr(text if len(text) <= characters else text[: characters - 3] + "...")
