"""The subset test: what only some nodes lack is their fault, what all lack is the job's.

A module that can't be imported, a file that isn't there, a driver that is too old: each looks like
a mistake of the user. If all processes of one node fail so while other nodes get past that place,
the node is set up in another way (signature reference, fact 9).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from relume.models.diagnosis.citing import cited
from relume.models.diagnosis.episode import Episode
from relume.models.diagnosis.locating import nodes_known, of_one_node, printed_at
from relume.models.diagnosis.suspects import in_common
from relume.models.signatures.hit import Hit
from relume.reasons import Reason, ReasonCode
from relume.slurm.nodes import short_name
from relume.verdict import Domain, Locator, Retry

OF_THE_IMAGE = frozenset(
    {
        *("missing_file", "import_failure", "permission_denied", "process_limit"),
        *("cuda_build_mismatch", "driver_mismatch", "gpu_driver_stale", "gpu_not_visible"),
        *("container_start_failure", "image_import_failure"),
    }
)
"""Causes that are the job's own (its image, its data, its options) where every node has them."""
OF_THE_NODE = OF_THE_IMAGE | {
    *("disk_full", "stale_file_handle", "storage_io_error", "read_only_filesystem"),
    *("shared_memory_exhausted", "shared_memory_full", "external_service_unavailable"),
    *("hub_unavailable", "no_network_interface", "gpu_driver_not_ready", "node_disk_full"),
    *("fabric_manager_not_running", "gpu_busy_or_unavailable", "ib_memory_registration"),
}
"""Causes that are a node's where a few nodes alone have them."""
OF_A_SERVICE = frozenset({"external_service_unavailable", "hub_unavailable"})
"""Causes that lie elsewhere unless a whole node has them; never a reason to leave it out: who asks
a server that is down is chance, and the others may have died before they asked."""
MAX_SHARE = 0.5
"""Of the nodes; where more fail, the others may only have died before they could say so."""
ALL_SHARE = 0.8
"""So many nodes are all: some output is always lost."""
MIN_PRINTERS = 2
"""Processes of a node that must fail alike: one alone may do what only it does, as rank 0 does."""
MIN_NODES = 2


@dataclass(frozen=True, slots=True)
class Spread:
    """Over which nodes a failure is spread, and what follows from it.

    `node` is the first that fails, null where all do; `is_alone` whether it is the only one.
    """

    domain: Domain
    retry: Retry
    reason: Reason
    node: str | None = None
    is_alone: bool = False


def spread_of(episode: Episode, hit: Hit) -> Spread | None:
    """Apply the subset test to the cause of `hit`; null where it says nothing.

    Silent where the node of a printer is unknown, where only one process of a node fails, and on
    an attempt of one node.
    """
    cause = hit.signature.cause
    if cause not in OF_THE_NODE:
        return None
    everyone = _nodes(episode)
    alike = [h for h in _of_cause(episode, cause) if not episode.recovered(h)]
    places = list(dict.fromkeys(printed_at(episode, h) for h in alike))
    if len(everyone) < MIN_NODES or any(where.node is None for where in places):
        return _of_neighbours(episode, hit, alike, places)
    count = Counter(short_name(where.node) for where in places if where.node is not None)
    if not set(count) <= everyone:
        return None
    if len(count) >= ALL_SHARE * len(everyone):
        return _everywhere(alike, len(count)) if cause in OF_THE_IMAGE else None
    if len(count) > MAX_SHARE * len(everyone) or not all(
        _whole(episode, name, n, len(everyone), all_of=cause in OF_A_SERVICE)
        for name, n in count.items()
    ):
        return None
    name = next(iter(count))
    node = episode.ranks.name_of(name) or name
    who = node if len(count) == 1 else f"{len(count)} of {len(everyone)} nodes"
    is_alone = len(count) == 1 and cause not in OF_A_SERVICE
    return _alone(hit, alike, node, who, is_alone=is_alone)


def _of_neighbours(
    episode: Episode, hit: Hit, alike: list[Hit], places: list[Locator]
) -> Spread | None:
    """Judge where not every node is known: neighbouring ranks of which one has a known node.

    As many other ranks must be known not to fail so.
    """
    common = of_one_node(in_common(places), places, episode.ranks)
    others = set(episode.ranks.places) - {where.rank for where in places}
    if common.node is None or len(places) < MIN_PRINTERS or len(others) < len(places):
        return None
    return _alone(hit, alike, common.node, common.node, is_alone=False)


def _alone(hit: Hit, alike: list[Hit], node: str, who: str, *, is_alone: bool) -> Spread:
    reason = Reason(ReasonCode.SOME_NODES_ONLY, cited(alike), len(alike), detail=who)
    domain = hit.signature.domain
    is_workload = domain in {Domain.WORKLOAD, Domain.UNKNOWN}
    changed = Domain.PLATFORM if is_workload else domain
    return Spread(changed, Retry.YES, reason, node=node, is_alone=is_alone)


def _nodes(episode: Episode) -> set[str]:
    return set(map(short_name, nodes_known(episode)))


def _of_cause(episode: Episode, cause: str) -> list[Hit]:
    groups = (g for g in episode.hits.values() if g.first[0].signature.cause == cause)
    return [hit for group in groups for hit in group.first]


def _whole(episode: Episode, name: str, printers: int, nodes: int, *, all_of: bool) -> bool:
    """Whether the processes that fail are most of those of a node, or all of them."""
    there = len(episode.ranks.ranks_on(name))
    world = episode.ranks.world_size
    if world is not None:
        there = max(there, world // nodes)
        if printers == there == 1:
            return not all_of
    return printers >= max(MIN_PRINTERS, there if all_of else there / 2)


def _everywhere(alike: list[Hit], nodes: int) -> Spread:
    reason = Reason(ReasonCode.ALL_NODES_ALIKE, cited(alike), nodes)
    return Spread(Domain.WORKLOAD, Retry.NO, reason)
