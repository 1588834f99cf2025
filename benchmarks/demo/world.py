"""The cluster of one simulated attempt: nodes, ranks, clock, names. Seeded, no clock is read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

GPUS_PER_NODE = 8
_START = datetime(2026, 3, 2, 4, 0, 0, tzinfo=UTC)


@dataclass(slots=True)
class World:
    """Nodes and clock of one attempt; `now` advances as its logs are written.

    `pace` are the seconds from one line of progress to the next, and `done` how many lines of
    progress earlier attempts came to; null draws both.
    """

    rng: Random
    nodes: tuple[str, ...]
    job_id: int
    now: datetime
    pace: float | None = None
    done: int | None = None

    @property
    def ranks(self) -> int:
        """World size: one rank a GPU."""
        return len(self.nodes) * GPUS_PER_NODE

    def node_of(self, rank: int) -> str:
        """Block layout: consecutive ranks share a node."""
        return self.nodes[rank // GPUS_PER_NODE]

    def wait(self, seconds: float) -> datetime:
        """Advance the clock and return it."""
        self.now += timedelta(seconds=seconds)
        return self.now

    def seconds_a_line(self, low: float, high: float, steps: int = 1) -> float:
        """Return its pace; without one `steps` steps of a length between `low` and `high`."""
        drawn = steps * self.rng.uniform(low, high)
        return drawn if self.pace is None else self.pace

    def pick_rank(self) -> int:
        """Some rank other than 0, which often prints more than the others."""
        return self.rng.randrange(1, self.ranks)

    def pci(self, local_rank: int) -> str:
        """PCI id of a GPU, as the driver prints it."""
        return f"0000:{0x1B + 0x10 * local_rank:02x}:00"


def make_world(seed: str) -> World:
    """Return a world of 2 to 8 nodes."""
    rng = Random(seed)
    first, count = rng.randint(1, 40), rng.choice([2, 4, 8])
    nodes = tuple(f"gpu-a{first + i:02d}" for i in range(count))
    start = _START + timedelta(minutes=rng.randrange(40_000))
    return World(rng, nodes, rng.randint(100_000, 999_999), start)
