"""The page of nodes: who is out of service, who is to be kept from jobs, and by which faults."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import msgspec

from relume.advice import Operation, Scope
from relume.models.fleet.nodes import NodeState
from relume.models.lemons.online import Fault
from relume.serve.ledger import Ledger
from relume.serve.live.fleet import FleetState

PAGE = 200
MAX_FAULTS = 20
"""Faults of one node that are shown, the newest."""


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One node.

    Attributes
    ----------
    state
        What Slurm says of it; null when it never did.
    held_since
        Since when it is to be kept from jobs, UTC microseconds; null when it isn't.
    advice_id
        The Advice that says so; null for none that is active.
    fault_count, faults
        How many faults count against it; the newest ones.
    """

    node: str
    cluster: str
    state: NodeState | None
    held_since: int | None
    advice_id: str | None
    fault_count: int
    faults: list[Fault]


@dataclass(frozen=True, slots=True)
class NodesPage:
    """Nodes about which there is something to say, the worst first.

    Attributes
    ----------
    total, out, held, faulty
        How many nodes Slurm told of, and of these are out of service; how many are to be kept from
        jobs; how many have a fault.
    unread
        Clusters of which another version wrote, so that nothing can be said.
    """

    total: int
    out: int
    held: int
    faulty: int
    nodes: list[NodeRow]
    is_cut: bool
    unread: list[str]


def nodes_page(ledger: Ledger, now: int) -> NodesPage:
    """Look at all clusters of the ledger."""
    states, unread = {}, []
    for cluster, document in ledger.fleets().items():
        try:
            states[cluster] = msgspec.json.decode(document, type=FleetState)
        except msgspec.MsgspecError:
            unread.append(cluster)
    advised = _advised(ledger, now)
    rows = [row for cluster, state in states.items() for row in _rows(cluster, state, advised)]
    rows.sort(key=_by_weight)
    fleets = states.values()
    return NodesPage(
        total=sum(len(one.nodes) for one in fleets),
        out=sum(node.is_out for one in fleets for node in one.nodes.values()),
        held=sum(row.held_since is not None for row in rows),
        faulty=sum(row.fault_count > 0 for row in rows),
        nodes=rows[:PAGE],
        is_cut=len(rows) > PAGE,
        unread=unread,
    )


def _rows(cluster: str, state: FleetState, advised: dict[str, str]) -> list[NodeRow]:
    faults: defaultdict[str, list[Fault]] = defaultdict(list)
    for fault in state.faults:
        faults[fault.node].append(fault)
    out = {name for name, node in state.nodes.items() if node.is_out}
    names = out | set(state.out) | state.holds.keys() | faults.keys()
    return [
        NodeRow(
            node=name,
            cluster=cluster,
            state=state.nodes.get(name),
            held_since=state.holds[name].since if name in state.holds else None,
            advice_id=advised.get(name),
            fault_count=len(faults[name]),
            faults=sorted(faults[name], key=lambda one: -one.at)[:MAX_FAULTS],
        )
        for name in names
    ]


def _advised(ledger: Ledger, now: int) -> dict[str, str]:
    """The active Advice about each node."""
    return {
        node: one.advice_id
        for one in ledger.active(now)
        if one.scope is Scope.NODE and one.operation is Operation.HOLD
        for node in one.exclude_nodes
    }


def _by_weight(row: NodeRow) -> tuple[bool, bool, int, str]:
    is_out = row.state is not None and row.state.is_out
    return row.held_since is None, not is_out, -row.fault_count, row.node
