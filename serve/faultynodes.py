"""Which nodes of a lake are faulty: faults, score, and what would have been advised about them."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from relume.events import NodeEvent
from relume.ingest.lake import LakeReader
from relume.ingest.lake.index import LakeIndex
from relume.ingest.lake.segments import TABLES
from relume.models.fleet.nodes import NodeBook, Turn
from relume.models.lemons.evidence import faulty_nodes, is_fault, shown
from relume.models.lemons.online import SHARED_SECONDS, Fault, NodeLedger
from relume.models.lemons.quarantine import DAY, Change, QuarantineSettings
from relume.models.lemons.score import Blame, NodeScore, score_nodes
from relume.serve.scan.scanned import Scanned

_SETTLES = round(SHARED_SECONDS * 1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultyNode:
    """One node with a fault.

    Attributes
    ----------
    score
        Of the whole time; null for a node on which no job is known to have worked.
    faults
        In the order of their times.
    change
        The newest that would be advised; null for nothing.
    is_out
        Whether it is out of service, by what was told last.
    """

    node: str
    score: NodeScore | None
    faults: tuple[Fault, ...]
    change: Change | None
    is_out: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReport:
    """The faulty nodes, the most suspicious first; how many there are in all, and may be held.

    `shared` counts faults that struck so many nodes at once that no node is to blame; `attempts`
    are those that were looked at.
    """

    nodes: tuple[FaultyNode, ...]
    fleet: int
    places: int
    attempts: int
    shared: int


def node_report(
    scanned: Sequence[Scanned], events: Iterable[NodeEvent], settings: QuarantineSettings
) -> NodeReport:
    """Tell the faults of attempts and nodes to the ledger of the service, in their order.

    Parameters
    ----------
    scanned
        The attempts, judged.
    events
        What was told of nodes, in the order of the times.
    settings
        How long who is held.
    """
    ledger, book = NodeLedger(settings), NodeBook()
    fleet = {node for one in scanned for node in one.entry.nodes}
    told: Iterable[Fault | NodeEvent] = sorted(_faults(scanned), key=attrgetter("at"))
    changes: dict[str, Change] = {}
    noted = now = 0
    for item in heapq.merge(told, events, key=_time):
        now = max(now, _time(item))
        found = ledger.advance(now, max(len(fleet), len(book)))
        if isinstance(item, Fault):
            ledger.note(item)
            noted += 1
        else:
            turn = book.take(item)
            noted += turn is Turn.OUT and is_fault(item)
            found += ledger.turned(item, turn, now)
        changes |= {one.node: one for one in found}
    found = ledger.advance(now + _SETTLES, max(1, len(fleet), len(book)))
    changes |= {one.node: one for one in found}
    days = _node_days(scanned)
    blames = (one for one in _blames(ledger.faults) if days.get(one.node))
    scores = {one.node: one for one in score_nodes(blames, days)}
    return NodeReport(
        nodes=tuple(_ranked(ledger, book, scores, changes)),
        fleet=max(len(fleet), len(book)),
        places=ledger.quarantine.places,
        attempts=len(scanned),
        shared=noted - len(ledger.faults),
    )


def node_events(lake: Path, since: int | None = None) -> Iterator[NodeEvent]:
    """Yield what a lake tells of nodes, as it landed, from a time on (UTC microseconds).

    Raises
    ------
    LakeError
        When the lake can't be read.
    """
    reader = LakeReader(lake)
    groups = [one for one in reader.index().groups if one.table == TABLES[NodeEvent]]
    index = LakeIndex(groups)
    found = (
        one
        for one in reader.landings_about((), index.nodes, index=index)
        if isinstance(one, NodeEvent) and _time(one) >= (since or 0)
    )
    yield from sorted(found, key=_time)


def _faults(scanned: Iterable[Scanned]) -> Iterator[Fault]:
    for one in scanned:
        verdict = one.verdict
        if verdict is None or not one.is_finding:
            continue
        for node in faulty_nodes(verdict):
            yield Fault(
                node=node,
                at=one.end or one.start or 0,
                domain=verdict.domain,
                attempt=one.entry.attempt,
                words=verdict.rule or verdict.cause or "",
                evidence=shown(verdict),
            )


def _blames(faults: Iterable[Fault]) -> Iterator[Blame]:
    for number, one in enumerate(faults):
        yield Blame(one.node, one.attempt or f"fault {number}", one.domain)


def _node_days(scanned: Iterable[Scanned]) -> dict[str, float]:
    days: defaultdict[str, float] = defaultdict(float)
    for one in scanned:
        if one.start is not None and one.end is not None:
            for node in one.entry.nodes:
                days[node] += (one.end - one.start) / DAY
    return days


def _ranked(
    ledger: NodeLedger,
    book: NodeBook,
    scores: dict[str, NodeScore],
    changes: dict[str, Change],
) -> list[FaultyNode]:
    faults: defaultdict[str, list[Fault]] = defaultdict(list)
    for one in ledger.faults:
        faults[one.node].append(one)
    rows = [
        FaultyNode(
            node=node,
            score=scores.get(node),
            faults=tuple(faults[node]),
            change=changes.get(node),
            is_out=book.is_out(node),
        )
        for node in faults.keys() | changes.keys()
    ]
    return sorted(rows, key=lambda row: (-len(row.faults), -_excess(row), row.node))


def _excess(row: FaultyNode) -> float:
    return 0.0 if row.score is None else row.score.excess


def _time(item: Fault | NodeEvent) -> int:
    if isinstance(item, Fault):
        return item.at
    return item.event_time or item.observed_at or 0
