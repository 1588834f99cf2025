"""The page of nodes: who is out of service, who is to be kept from jobs, and by which faults."""

from __future__ import annotations

from dataclasses import dataclass

from relume.serve.ledger import Ledger
from relume.serve.nodeview import Fleets, NodeView, read_fleets

PAGE = 200


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
    nodes: list[NodeView]
    is_cut: bool
    unread: list[str]


def nodes_page(ledger: Ledger, now: int) -> NodesPage:
    """Look at all clusters of the ledger."""
    fleets = read_fleets(ledger, now)
    rows = [row for cluster in fleets.states for row in _rows(fleets, cluster)]
    rows.sort(key=_by_weight)
    states = fleets.states.values()
    return NodesPage(
        total=sum(len(one.nodes) for one in states),
        out=sum(node.is_out for one in states for node in one.nodes.values()),
        held=sum(row.held_since is not None for row in rows),
        faulty=sum(row.fault_count > 0 for row in rows),
        nodes=rows[:PAGE],
        is_cut=len(rows) > PAGE,
        unread=fleets.unread,
    )


def _rows(fleets: Fleets, cluster: str) -> list[NodeView]:
    state = fleets.states[cluster]
    out = {name for name, node in state.nodes.items() if node.is_out}
    faulty = {fault.node for fault in state.faults}
    return fleets.view(cluster, out | set(state.out) | state.holds.keys() | faulty)


def _by_weight(row: NodeView) -> tuple[bool, bool, int, str]:
    is_out = row.state is not None and row.state.is_out
    return row.held_since is None, not is_out, -row.fault_count, row.node
