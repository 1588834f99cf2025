"""What a ledger knows of nodes: what Slurm says, who is to be kept from jobs, by which faults."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import msgspec

from relume.advice import Advice, Operation, Scope
from relume.identity import AttemptId
from relume.models.fleet.nodes import NodeState
from relume.models.lemons.online import Fault
from relume.serve.ledger import Ledger
from relume.serve.live.fleet import FleetState

MAX_FAULTS = 20
"""Faults of one node that are shown, the newest."""


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node.

    Attributes
    ----------
    state
        What Slurm says of it; null when it never did.
    held_since
        Since when it is to be kept from jobs, UTC microseconds; null when it isn't.
    advice_id
        The Advice that says so; null for none that is active.
    parole_at
        When it is let go at the latest, UTC microseconds; null when it isn't held, or nothing
        active says so.
    fault_count, faults
        How many faults count against it; the newest ones.
    """

    node: str
    cluster: str
    state: NodeState | None
    held_since: int | None
    advice_id: str | None
    parole_at: int | None
    fault_count: int
    faults: list[Fault]


@dataclass(frozen=True, slots=True)
class Fleets:
    """Of each cluster what is known beside its attempts.

    Attributes
    ----------
    states
        By cluster.
    advised
        The active Advice about each node, by cluster and node.
    unread
        Clusters of which another version wrote, so that nothing can be said.
    """

    states: dict[str, FleetState]
    advised: dict[tuple[str, str], Advice]
    unread: list[str]

    def view(self, cluster: str, names: set[str] | None = None) -> list[NodeView]:
        """Return nodes of a cluster, in no order; all that are known when `names` is null."""
        state = self.states[cluster]
        faults: defaultdict[str, list[Fault]] = defaultdict(list)
        for fault in state.faults:
            faults[fault.node].append(fault)
        if names is None:
            names = state.nodes.keys() | set(state.out) | state.holds.keys() | faults.keys()
        return [self._view(cluster, name, faults.get(name, [])) for name in names]

    def _view(self, cluster: str, name: str, faults: list[Fault]) -> NodeView:
        state = self.states[cluster]
        advice = self.advised.get((cluster, name))
        return NodeView(
            node=name,
            cluster=cluster,
            state=state.nodes.get(name),
            held_since=state.holds[name].since if name in state.holds else None,
            advice_id=None if advice is None else advice.advice_id,
            parole_at=None if advice is None else advice.expires_at,
            fault_count=len(faults),
            faults=sorted(faults, key=lambda one: -one.at)[:MAX_FAULTS],
        )


def read_fleets(ledger: Ledger, now: int) -> Fleets:
    """Read what is known of all clusters as of `now`."""
    states, unread = {}, []
    for cluster, document in ledger.fleets().items():
        try:
            states[cluster] = msgspec.json.decode(document, type=FleetState)
        except msgspec.MsgspecError:
            unread.append(cluster)
    advised = {
        (AttemptId.parse(one.attempt).job_key.cluster, node): one
        for one in ledger.active(now)
        if one.scope is Scope.NODE and one.operation is Operation.HOLD
        for node in one.exclude_nodes
    }
    return Fleets(states, advised, unread)
