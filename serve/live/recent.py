"""The last minutes of logs that are nobody's yet: a job is known a while after it has begun.

What the kernel of a node said meanwhile must not be lost, since a bad GPU often ends a job within
its first seconds; nor what was pushed of the job itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from relume.clock import MICROSECONDS_PER_SECOND
from relume.ingest.lake.batches import LineBatch
from relume.serve.live.naming import sender_of

RECENT_SECONDS = 120.0
MAX_BYTES = 32 << 20
"""Over all nodes; the oldest go first."""


@dataclass(slots=True)
class RecentLines:
    """Lines of logs that were landed within the last `RECENT_SECONDS`."""

    _batches: deque[LineBatch] = field(default_factory=deque)
    _bytes: int = 0

    def add(self, batch: LineBatch) -> None:
        """Keep a batch for a while."""
        self._batches.append(batch)
        self._bytes += len(batch.block.data)
        oldest = (batch.observed_at or 0) - RECENT_SECONDS * MICROSECONDS_PER_SECOND
        while self._bytes > MAX_BYTES or (
            self._batches and (self._batches[0].observed_at or 0) < oldest
        ):
            self._bytes -= len(self._batches.popleft().block.data)

    def of(self, nodes: set[str], now: int) -> Iterator[LineBatch]:
        """Yield what is kept of some nodes, in the order in which it landed."""
        oldest = now - RECENT_SECONDS * MICROSECONDS_PER_SECOND
        for batch in self._batches:
            if batch.node in nodes and (batch.observed_at or 0) >= oldest:
                yield batch

    def take_of(self, attempt: str, job_id: str, now: int) -> Iterator[LineBatch]:
        """Yield what is kept of an attempt, or of its job before anybody knew it; forget that."""
        oldest = now - RECENT_SECONDS * MICROSECONDS_PER_SECOND
        mine = [one for one in self._batches if _is_of(one, attempt, job_id)]
        self._batches = deque(one for one in self._batches if not _is_of(one, attempt, job_id))
        self._bytes = sum(len(one.block.data) for one in self._batches)
        for batch in mine:
            if (batch.observed_at or 0) >= oldest:
                yield batch


def _is_of(batch: LineBatch, attempt: str, job_id: str) -> bool:
    if batch.attempt is not None:
        return batch.attempt == attempt
    return sender_of(batch.source)[1] == job_id
