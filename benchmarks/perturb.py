"""Perturbed copies of cases: the same truth in other clothes.

A perturbation changes what must not matter (host names, rank numbers, order of ranks, prefixes,
what stands before or is cut away) and carries the labels along. Seeded by the case id, so every run
makes the same copies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random

from relume.benchmarks.corpora.failure_cases import Case

_HOST = re.compile(r"\bnode(\d{3})\b")
_RANK_FORMS = re.compile(
    r"(?P<head>\[rank|\[Rank |\bRank |\brank |\brank=|\bRank=|rank      : |\bRANK=)(?P<rank>\d+)\b"
)
_RANK_PREFIX = re.compile(r"^\[rank(\d+)\]:")
_DIGITS = re.compile(r"\d+")
_CLOCKED = re.compile(
    r"^\W*(?:\d{4}[-/]\d\d|\w{3} +\d|\w{3} \w{3} +\d|\[rank|[\d:]+ )|\d\d:\d\d:\d\d"
)
RENUMBER = 5
"""Rank r becomes r + 5: every mention of it moves alike."""
HEALTHY_LINES = 200
_MIN_RANKS = 2
_MIN_LINES = 5
"""Shorter excerpts have no end to cut away."""


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A named change of a case; returns null where it does not apply."""

    name: str
    apply: Callable[[Case, Random], Case | None]


def perturb(cases: Sequence[Case], healthy: Sequence[str]) -> dict[str, list[Case]]:
    """Return the perturbed copies of `cases` by perturbation name.

    `healthy` are the first lines of a healthy log, spliced before each case.
    """
    changes = (*_CHANGES, Perturbation("spliced", lambda c, _: _spliced(c, healthy)))
    copies: dict[str, list[Case]] = {}
    for change in changes:
        made = (change.apply(case, Random(f"{change.name}/{case.id}")) for case in cases)
        copies[change.name] = [case for case in made if case is not None]
    return copies


def _rename_hosts(case: Case, rng: Random) -> Case | None:
    base = rng.choice(["gpu-b", "dgx", "h100-", "worker"])

    def renamed(text: str) -> str:
        return _HOST.sub(lambda m: f"{base}{m.group(1)}", text)

    lines = tuple(map(renamed, case.text))
    if lines == case.text:
        return None
    return replace(
        case,
        text=lines,
        culprit=renamed(case.culprit) if case.culprit else None,
        culprit_also=frozenset(map(renamed, case.culprit_also)),
    )


def _renumber_ranks(case: Case, _: Random) -> Case | None:
    if case.culprit and not re.fullmatch(r"rank \d+", case.culprit):
        return None

    def moved(match: re.Match[str]) -> str:
        return f"{match['head']}{int(match['rank']) + RENUMBER}"

    if any(_HAS_WORLD.search(line) for line in case.text):
        return None
    lines = tuple(_RANK_FORMS.sub(moved, line) for line in case.text)
    if lines == case.text:
        return None
    culprit = None
    if case.culprit:
        culprit = f"rank {int(case.culprit.split()[1]) + RENUMBER}"
    also = frozenset(_moved_number(name) for name in case.culprit_also) | case.culprit_also
    return replace(case, text=lines, culprit=culprit, culprit_also=also)


_HAS_WORLD = re.compile(r"expected ranks|nranks|global_ranks|Rank +\d+ .* GPU")


def _moved_number(name: str) -> str:
    return str(int(name) + RENUMBER) if name.isdigit() else name


def _reorder_ranks(case: Case, rng: Random) -> Case | None:
    """Interleave the ranks differently; the lines of each rank keep their order."""
    owners = [m.group(1) if (m := _RANK_PREFIX.match(line)) else None for line in case.text]
    ranks = sorted({owner for owner in owners if owner is not None})
    if len(ranks) < _MIN_RANKS or None in owners:
        return None
    queues = {rank: [i for i, owner in enumerate(owners) if owner == rank] for rank in ranks}
    order: list[int] = []
    while any(queues.values()):
        rank = rng.choice([r for r in ranks if queues[r]])
        order.append(queues[rank].pop(0))
    moved = {old: new for new, old in enumerate(order)}
    return _relabelled(case, [case.text[i] for i in order], moved)


def _truncate(case: Case, rng: Random) -> Case | None:
    """Cut the end, never the labelled line; a straggler needs its end to be one."""
    if len(case.text) < _MIN_LINES or case.kind in {"straggler", "hang"} or case.culprit:
        return None
    needed = max((i for i in (*case.accept_line, case.root_line) if i is not None), default=2)
    keep = rng.randint(max(needed + 1, len(case.text) * 2 // 3), len(case.text))
    if keep == len(case.text):
        return None
    return replace(case, text=case.text[:keep])


def _stamp(case: Case, rng: Random) -> Case | None:
    """Give lines without a clock one; what has a clock already keeps it."""
    if any(_CLOCKED.search(line) for line in case.text):
        return None
    start = datetime(2026, 1, 2, 10, tzinfo=UTC) + timedelta(seconds=rng.randint(0, 3000))
    lines = tuple(
        f"{start + timedelta(seconds=i):%Y-%m-%d %H:%M:%S} {line}"
        for i, line in enumerate(case.text)
    )
    return replace(case, text=lines)


def _colour(case: Case, _: Random) -> Case:
    """Colour codes at both ends, as a terminal's copy has them."""
    return replace(case, text=tuple(f"\x1b[0m{line}\x1b[39m" for line in case.text))


def _spliced(case: Case, healthy: Sequence[str]) -> Case:
    """The case at the end of a healthy log: the insertion point is the true onset."""
    head = list(healthy[:HEALTHY_LINES])
    moved = {i: i + len(head) for i in range(len(case.text))}
    return _relabelled(case, [*head, *case.text], moved)


def _relabelled(case: Case, lines: Sequence[str], moved: dict[int, int]) -> Case:
    """Move the line labels; a line that says the same as an accepted one is accepted too."""
    accepted = {i for i in case.accept_line if i is not None}
    shapes = {_shape(case.text[i]) for i in accepted}
    alike = {i for i in range(len(case.text)) if _shape(case.text[i]) in shapes}
    accept = (
        *(moved[i] for i in sorted(accepted | alike)),
        *((None,) if None in case.accept_line else ()),
    )
    root = moved[case.root_line] if case.root_line is not None else None
    return replace(case, text=tuple(lines), root_line=root, accept_line=accept)


def _shape(line: str) -> str:
    return _DIGITS.sub("0", line)


_CHANGES: tuple[Perturbation, ...] = (
    Perturbation("renamed-hosts", _rename_hosts),
    Perturbation("renumbered-ranks", _renumber_ranks),
    Perturbation("reordered-ranks", _reorder_ranks),
    Perturbation("truncated", _truncate),
    Perturbation("stamped", _stamp),
    Perturbation("coloured", _colour),
)
