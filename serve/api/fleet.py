"""Routes about what stands beside attempts: nodes, controllers, milestones."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from relume.clock import Clock
from relume.serve.api.bodies import ControllerList, ControllerView, MilestoneList, NodeList
from relume.serve.api.paging import MAX_NAME, Paged, Within, written
from relume.serve.api.problems import documented
from relume.serve.api.reading import as_json, given
from relume.serve.ledger import Ledger, NotFoundError
from relume.serve.nodeview import Fleets, NodeView, read_fleets


class Only(StrEnum):
    """Which nodes are listed."""

    OUT = "out"
    """Out of service, by the word of Slurm."""
    HELD = "held"
    """To be kept from jobs."""
    FAULTY = "faulty"
    """With a fault that counts."""

    def fits(self, node: NodeView) -> bool:
        """Whether a node is one of them."""
        if self is Only.OUT:
            return node.state is not None and node.state.is_out
        return node.held_since is not None if self is Only.HELD else node.fault_count > 0


class NodesQuery(Paged):
    """Which nodes are listed."""

    only: Only | None = None
    """Such nodes only: out of service, to be kept from jobs, with a fault. All when left out."""
    cluster: Annotated[str | None, Field(max_length=MAX_NAME)] = None
    """Of this cluster only."""


class MilestonesQuery(Within):
    """Which milestones are listed."""

    attempt: Annotated[str | None, Field(max_length=MAX_NAME)] = None
    """Of this attempt only: its text form, or `job_id-restart_count` of the newest job."""


def fleet_routes(ledger: Ledger, clock: Clock) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/v1", tags=["fleet"])

    @router.get("/nodes", responses=given(NodeList) | documented(422, 503))
    def list_nodes(query: Annotated[NodesQuery, Query()]) -> Response:
        """Return nodes by cluster and name: what Slurm says, since when one is held, its faults."""
        behind, only = query.behind("nodes", (str, str)), query.only
        fleets = read_fleets(ledger, clock.now())
        nodes = [one for one in _nodes(fleets, query.cluster) if only is None or only.fits(one)]
        if behind is not None:
            nodes = [one for one in nodes if (one.cluster, one.node) > behind]
        page = nodes[: query.limit]
        end = (page[-1].cluster, page[-1].node) if len(nodes) > len(page) else None
        return as_json(NodeList(tuple(page), tuple(fleets.unread), written("nodes", end)))

    @router.get("/nodes/{cluster}/{node}", responses=given(NodeView) | documented(404, 422, 503))
    def get_node(cluster: str, node: str) -> Response:
        """Return one node."""
        fleets = read_fleets(ledger, clock.now())
        for one in fleets.view(cluster) if cluster in fleets.states else ():
            if one.node == node:
                return as_json(one)
        raise NotFoundError(
            f"node {node[:80]!r} of cluster {cluster[:80]!r}",
            found="nothing that is known of it",
            expected="a node that Slurm or a log told of",
        )

    @router.get("/controllers", responses=given(ControllerList) | documented(422, 503))
    def list_controllers() -> Response:
        """Return the newest lease of each cluster: who has it, and whether it is alive."""
        now = clock.now()
        found = (ControllerView.of(lease, now) for lease in ledger.leases())
        return as_json(ControllerList(tuple(found)))

    @router.get("/milestones", responses=given(MilestoneList) | documented(422, 503))
    def list_milestones(query: Annotated[MilestonesQuery, Query()]) -> Response:
        """Return how far restarted attempts got, newest first."""
        behind = query.behind("milestones", (int, str, str))
        page = ledger.page_milestones(query.wanted(), behind, query.limit)
        return as_json(MilestoneList(page.records, written("milestones", page.end)))

    return router


def _nodes(fleets: Fleets, cluster: str | None) -> list[NodeView]:
    """Nodes in their order, of one cluster or of all."""
    names = sorted(fleets.states.keys() if cluster is None else {cluster} & fleets.states.keys())
    return [one for name in names for one in sorted(fleets.view(name), key=lambda each: each.node)]
