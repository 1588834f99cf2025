"""Whom the lines of one cause accuse together: those who print it, and those whom it names.

One line of a wave says little. Many lines that have a node in common, as printer or as the peer
that could not be reached, say that it is this node's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from relume.slurm.nodes import short_name
from relume.verdict import Locator

MIN_WITNESSES = 2
"""Nodes that must name a peer before it is blamed: of two alone, either may be at fault."""
NAMING_SHARE = 0.8
"""Share of the lines that must have the accused in common: the failure also breaks other pairs."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Who could not reach whom: short names of nodes, or addresses; null where not known."""

    printer: str | None
    peer: str


def in_common(places: Iterable[Locator]) -> Locator:
    """Return what all places have in common, field by field.

    >>> in_common([Locator(node="n1", rank=0, gpu="0"), Locator(node="n1.example", rank=1)])
    Locator(node='n1', rank=None, local_rank=None, gpu=None, nic=None)
    """
    known = list(places)
    if not known:
        return Locator()
    first = known[0]
    nodes = {None if where.node is None else short_name(where.node) for where in known}
    return Locator(
        node=first.node if len(nodes) == 1 else None,
        rank=first.rank if len({where.rank for where in known}) == 1 else None,
        local_rank=first.local_rank if len({where.local_rank for where in known}) == 1 else None,
        gpu=first.gpu if len({where.gpu for where in known}) == 1 else None,
        nic=first.nic if len({where.nic for where in known}) == 1 else None,
    )


def accused(pairs: Sequence[Pair]) -> str | None:
    """Return the node that is part of nearly every pair, null where two could be.

    Those who can't reach it are its witnesses, and so are those whom it can't reach itself.

    >>> accused([Pair("n1", "n9"), Pair("n2", "n9"), Pair("n9", "n3")])
    'n9'
    >>> accused([Pair("n1", "n9"), Pair("n1", "n9")]) is None
    True
    """
    others: defaultdict[str, set[str]] = defaultdict(set)
    count: defaultdict[str, int] = defaultdict(int)
    distinct = list(dict.fromkeys(pairs))
    for pair in distinct:
        for one, other in ((pair.printer, pair.peer), (pair.peer, pair.printer)):
            if one is not None and one != other:
                count[one] += 1
                others[one].add(other or "")
    witnessed = [
        node
        for node, met in others.items()
        if len(met) >= MIN_WITNESSES and count[node] >= NAMING_SHARE * len(distinct)
    ]
    return witnessed[0] if len(witnessed) == 1 else None
