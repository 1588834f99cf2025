"""What snapshots of the scheduler say of nodes, as changes to land."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from relume.events import NodeEvent
from relume.ingest.nodes.actors import judge
from relume.serve.live.naming import SCHEDULER
from relume.slurm.job import SlurmNode, SlurmSnapshot
from relume.slurm.nodes import is_drained, is_out


@dataclass(slots=True)
class ClusterNodes:
    """The nodes of one cluster as they were last seen. Bounded by them.

    What a node works on is no change: only whether it is in service, why not, and where.
    """

    cluster: str
    _known: dict[str, tuple[object, ...]] = field(default_factory=dict)

    def take(self, snapshot: SlurmSnapshot, now: int) -> Iterator[NodeEvent]:
        """Yield what has changed, as seen at `now` (UTC microseconds); the first time, all."""
        for node in snapshot.nodes:
            told = _told(node)
            if self._known.get(node.node) == told:
                continue
            self._known[node.node] = told
            cause = judge(node.reason)
            yield NodeEvent(
                source=SCHEDULER,
                cluster=self.cluster,
                event_time=now,
                observed_at=now,
                node=node.node,
                state=node.state,
                reason=node.reason,
                actor=cause.actor,
                check=cause.check,
                outcome=cause.outcome,
                partitions=node.partitions,
            )


def _told(node: SlurmNode) -> tuple[object, ...]:
    reason = node.reason if is_out(node.state) else None
    return is_out(node.state), is_drained(node.state), reason, node.partitions
