"""Ranks that called another collective than the others, at one place of a group's order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from relume.events import Collective
from relume.models.collectives.graph import OpenWork
from relume.models.collectives.matching import Signature, difference, signature
from relume.models.collectives.state import State, Work, ranks_text

Called = tuple[Signature, ...]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The work, the ranks that differ from most others (none when it can't be told), in words."""

    work: OpenWork
    odd: tuple[int, ...]
    why: str


def find_mismatch(
    state: State, works: Iterable[OpenWork], began: Callable[[OpenWork], float]
) -> Mismatch | None:
    """Return the first mismatch among what nobody is through with, null when there is none."""
    found = [
        (work, groups)
        for work in works
        if not (work.done or (work.is_pair and work.held))
        and len(groups := _groups(work.waiting)) > 1
    ]
    if not found:
        return None
    work, groups = min(found, key=lambda one: began(one[0]))
    if work.is_pair:
        [(ours, _), (theirs, _)] = list(groups.items())[:2]
        what = _first_difference(ours, theirs)
        return Mismatch(work, (), f"{ranks_text(tuple(work.waiting))} disagree on it: {what}")
    usual = _usual(state, work, groups)
    if usual is None:
        what = _first_difference(*list(groups)[:2])
        return Mismatch(work, (), f"its ranks called different collectives: {what}")
    odd = sorted(rank for called, ranks in groups.items() if called != usual for rank in ranks)
    other = next(called for called in groups if called != usual)
    what = _first_difference(other, usual)
    return Mismatch(work, tuple(odd), f"{ranks_text(odd)} called another than the others: {what}")


def _groups(waiting: Mapping[int, Work]) -> dict[Called, list[int]]:
    """The ranks by what they called; what need not agree doesn't part them."""
    groups: dict[Called, list[int]] = {}
    for rank, work in waiting.items():
        called = tuple(_comparable(part) for part in work.parts)
        groups.setdefault(called, []).append(rank)
    if len(groups) == 1:
        return groups
    merged: dict[Called, list[int]] = {}
    for called, ranks in groups.items():
        alike = next(
            (known for known in merged if _first_difference(called, known) is None), called
        )
        merged.setdefault(alike, []).extend(ranks)
    return merged


def _comparable(part: Collective) -> Signature:
    one = signature(part)
    if part.is_p2p:  # what one sends the other receives
        sizes = one._replace(kind="send or receive")
        counts = tuple(_numel(shape) for shape in part.input_sizes or part.output_sizes)
        return sizes._replace(inputs=counts, outputs=None)
    return one


def _numel(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _first_difference(one: Called, other: Called) -> str | None:
    for ours, theirs in zip_longest(one, other):
        if ours is None or theirs is None:
            return f"{len(one)} against {len(other)} collectives in one batch"
        found = difference(ours, theirs)
        if found is not None:
            return found
    return None


def _usual(state: State, work: OpenWork, groups: Mapping[Called, Sequence[int]]) -> Called | None:
    """What most ranks called; where that is even, what groups of the same purpose call there."""
    ordered = sorted(groups, key=lambda called: -len(groups[called]))
    first, second = ordered[:2]
    if len(groups[first]) > len(groups[second]):
        return first
    votes = dict.fromkeys(groups, 0)
    description = state.groups[work.key].description
    for key, group in state.groups.items():
        if key == work.key or group.description != description or description is None:
            continue
        for called in _called_there(state, key.name, group.members, work.sequence):
            for known in votes:
                votes[known] += _first_difference(called, known) is None
    best = sorted(votes, key=lambda called: -votes[called])
    return best[0] if votes[best[0]] > votes[best[1]] else None


def _called_there(state: State, name: str, ranks: Iterable[int], sequence: int) -> Iterable[Called]:
    for rank in ranks:
        parts = tuple(
            signature(c)
            for c in state.dumps[rank].collectives
            if c.group == name and c.sequence_number == sequence and not c.is_p2p
        )
        if parts:
            yield parts
