"""Ranks that call another number of collectives, sends or receives than others in their place.

Ranks in the same place of like groups run the same program: when they call a collective of
everybody they have called as much of everything else. Who has called more or less left something
out, or does something of its own. It shows in any dump that is there, whatever else is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from relume.models.collectives.case import Case
from relume.models.collectives.finding import CollectiveFinding, Pattern
from relume.models.collectives.state import GroupKey, State, ranks_text

LEAST_ALIKE = 2
"""So many others in its place must have called alike."""
LEAST_OF_ALL = 4
"""Where too few are in its place: so many of all, without an exception."""
MOST_ODD = 0.25
"""When a larger share is odd, ranks just differ."""

SURE_WITH_NOTHING_OPEN = 0.6
"""Nothing is open in the dumps that are there: what hangs is where one is missing."""


class _What(NamedTuple):
    """What is counted: calls in a group of that purpose and size, of pairs or of all its ranks."""

    description: str
    size: int
    is_p2p: bool

    @property
    def noun(self) -> str:
        """What such calls are called."""
        return "sends and receives" if self.is_p2p else "collectives"


class Oddity(NamedTuple):
    """How many calls a rank has made, and how many `others` in its place have."""

    what: _What
    made: int
    usual: int
    others: int

    @property
    def words(self) -> str:
        """What of a rank is odd, to be put behind it."""
        return (
            f"has called {self.made} {self.what.noun} of its {self.what.description} when "
            f"{self.others} others in its place had called {self.usual}"
        )


class _Called(NamedTuple):
    """The last collective of the widest group that a rank called, and its calls before that."""

    number: int
    place: object
    counts: dict[_What, int]


def odd_one_out(case: Case) -> CollectiveFinding | None:
    """Name the rank that has called something else than others in its place; of several the first.

    Several that are odd belong to one group where they do the same wrong thing together. Nobody is
    named where such a one left no dump, or where it can't be told who waited first.
    """
    is_hung = case.state.missing or any(case.state.open.values())
    odd = odd_ranks(case.state) if is_hung else {}
    if not odd or len(odd) > max(1, MOST_ODD * len(case.state.dumps)):
        return None
    together = _together(case.state, odd)
    if together is None:
        return None
    first = min(odd, key=lambda rank: (case.entered(rank), rank))
    why = f"rank {first} {odd[first].words}"
    suspects = tuple(sorted({*odd, *together}))
    if together or (len(odd) > 1 and not case.tells_first(tuple(odd))):
        why += f"; {ranks_text(suspects)} may have done so together, who waited first is lost"
        return CollectiveFinding(Pattern.ODD_ONE_OUT, 0.0, suspects=suspects, why=(why,))
    if len(odd) > 1:
        why += f", as {ranks_text(suspects)} have, and waited first"
    sure = 0.0 if any(case.state.open.values()) else SURE_WITH_NOTHING_OPEN
    return CollectiveFinding(
        Pattern.ODD_ONE_OUT, sure, (first,), suspects if len(odd) > 1 else (), why=(why,)
    )


def _together(state: State, odd: Mapping[int, Oddity]) -> tuple[int, ...] | None:
    """Ranks without a dump that may be odd together with these; null where these are not together.

    Who has sent and received more than others has done so with somebody.
    """
    keys = [
        key
        for key, group in state.groups.items()
        if odd.keys() <= set(key.ranks)
        and all(one.what[:2] == (group.description, len(key.ranks)) for one in odd.values())
    ]
    if not keys:
        return () if len(odd) == 1 else None
    has_peer = any(one.what.is_p2p and one.made > one.usual for one in odd.values())
    return tuple(rank for rank in keys[0].ranks if rank in state.missing) if has_peer else ()


def odd_ranks(state: State) -> dict[int, Oddity]:
    """Return the ranks that have called another number than most in their place, and of what."""
    anchor = max(state.groups, key=lambda key: len(key.ranks), default=None)
    if anchor is None:
        return {}
    told = {rank: _called(state, anchor, rank) for rank in state.groups[anchor].members}
    called = {rank: one for rank, one in told.items() if one is not None}
    odd: dict[int, Oddity] = {}
    for number, place in {(one.number, one.place) for one in called.values()}:
        alike = {r: c.counts for r, c in called.items() if (c.number, c.place) == (number, place)}
        odd |= _differing(alike)
    return odd or _only_one(called)


def _differing(alike: Mapping[int, Mapping[_What, int]]) -> dict[int, Oddity]:
    odd: dict[int, Oddity] = {}
    for what in {what for counts in alike.values() for what in counts}:
        told = {rank: counts[what] for rank, counts in alike.items() if what in counts}
        [(usual, others)] = Counter(told.values()).most_common(1)
        if others >= LEAST_ALIKE and 2 * others > len(told):
            odd |= {r: Oddity(what, n, usual, others) for r, n in told.items() if n != usual}
    return odd


def _only_one(called: Mapping[int, _Called]) -> dict[int, Oddity]:
    """The one rank of all that differs in its number of a group's collectives."""
    for number in {one.number for one in called.values()}:
        counts = {
            rank: {what: n for what, n in one.counts.items() if not what.is_p2p}
            for rank, one in called.items()
            if one.number == number
        }
        odd = _differing(counts)
        if len(odd) == 1 and all(one.others >= LEAST_OF_ALL for one in odd.values()):
            return odd
    return {}


def _called(state: State, anchor: GroupKey, rank: int) -> _Called | None:
    """What a rank had called when it called the last collective of the widest group."""
    named = {told.name: told for told in state.dumps[rank].groups}
    counts: dict[_What, int] = {}
    found: tuple[int, dict[_What, int]] | None = None
    for collective in state.dumps[rank].collectives:
        if collective.group == anchor.name and not collective.is_p2p:
            if found is None or found[0] != collective.sequence_number:
                found = collective.sequence_number, dict(counts)
            continue
        told = named.get(collective.group)
        if told is not None and told.description is not None:
            what = _What(told.description, len(told.ranks), collective.is_p2p)
            counts[what] = max(counts.get(what, 0), collective.sequence_number)
    return _Called(found[0], _place(state, rank), found[1]) if found is not None else None


def _place(state: State, rank: int) -> object:
    """What ranks must have alike to run the same program: place and size of groups with pairs."""
    paired = {c.group for c in state.dumps[rank].collectives if c.is_p2p}
    return frozenset(
        (told.description, len(told.ranks), told.ranks.index(rank))
        if told.name in paired and rank in told.ranks
        else (told.description, len(told.ranks), -1)
        for told in state.dumps[rank].groups
    )
