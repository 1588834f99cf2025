"""The last minutes of the nodes' logs: a job is known a while after it has begun.

What the kernel of a node said meanwhile must not be lost, since a bad GPU often ends a job within
its first seconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from relume.clock import MICROSECONDS_PER_SECOND
from relume.ingest.lake.batches import LineBatch

RECENT_SECONDS = 120.0
MAX_BYTES = 32 << 20
"""Over all nodes; the oldest go first."""


@dataclass(slots=True)
class RecentLines:
    """Lines of nodes' logs that were landed within the last `RECENT_SECONDS`."""

    _batches: deque[LineBatch] = field(default_factory=deque)
    _bytes: int = 0

    def add(self, batch: LineBatch) -> None:
        """Keep a batch for a while."""
        self._batches.append(batch)
        self._bytes += len(batch.block.data)
        oldest = (batch.observed_at or 0) - RECENT_SECONDS * MICROSECONDS_PER_SECOND
        while self._bytes > MAX_BYTES or (self._batches[0].observed_at or 0) < oldest:
            self._bytes -= len(self._batches.popleft().block.data)

    def of(self, nodes: set[str], now: int) -> Iterator[LineBatch]:
        """Yield what is kept of some nodes, in the order in which it landed."""
        oldest = now - RECENT_SECONDS * MICROSECONDS_PER_SECOND
        for batch in self._batches:
            if batch.node in nodes and (batch.observed_at or 0) >= oldest:
                yield batch
