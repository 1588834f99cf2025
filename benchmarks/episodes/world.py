"""The cluster of one episode: nodes, ranks, processes, and clocks that don't agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from random import Random

from relume.slurm.hostlists import expand, fold

SIZES: tuple[tuple[int, int, int], ...] = (
    (1, 8, 3),
    (2, 4, 6),
    (2, 8, 10),
    (3, 8, 4),
    (4, 4, 6),
    (4, 8, 12),
    (8, 8, 10),
    (16, 4, 5),
    (16, 8, 6),
    (32, 8, 3),
    (64, 4, 1),
    (64, 8, 1),
    (128, 4, 1),
    (128, 8, 1),
)
"""Nodes, ranks a node, and how often: 8 to 1,024 ranks on 1 to 128 nodes."""
_FIRST_DAY = datetime(2026, 2, 3, tzinfo=UTC)
_DAYS = 120
_NAMES: tuple[Callable[[int], str], ...] = (
    lambda i: f"gpu-a{i:03d}",
    lambda i: f"node{i:04d}",
    lambda i: f"dgx-{i:03d}",
    lambda i: f"cn{i // 18 + 1:02d}-{i % 18:02d}",
    lambda i: f"nid{i + 1000:06d}",
    lambda i: f"h100-r{i // 16 + 1}-n{i % 16 + 1}",
    lambda i: f"ip-10-{i // 200 + 3}-{i % 200 + 7}-{(i * 37) % 250 + 2}",
    lambda i: f"x{1000 + i // 64}c{i // 8 % 8}s{i % 8}b0n0",
    lambda i: f"g{i + 1:04d}",
    lambda i: f"tensor{i + 11}",
)


@dataclass(frozen=True, slots=True)
class World:
    """Where one attempt runs.

    `skew` is by how many seconds a node's clock is ahead of the true time; `zone_hours` is the zone
    of clocks that print one.
    """

    rng: Random
    nodes: tuple[str, ...]
    per_node: int
    job_id: int
    start: datetime
    skew: Mapping[str, float]
    zone_hours: int
    spare_nodes: tuple[str, ...]

    @property
    def ranks(self) -> int:
        """World size."""
        return len(self.nodes) * self.per_node

    def node_of(self, rank: int) -> str:
        """Block layout: consecutive ranks share a node."""
        return self.nodes[rank // self.per_node]

    def local(self, rank: int) -> int:
        """Local rank, which is the GPU's index too."""
        return rank % self.per_node

    def ranks_of(self, node: str) -> range:
        """Ranks on a node."""
        first = self.nodes.index(node) * self.per_node
        return range(first, first + self.per_node)

    def pid(self, rank: int) -> int:
        """Process id: other numbers on other nodes."""
        index = self.nodes.index(self.node_of(rank))
        return 21_000 + (self.job_id * 7 + index * 1_913) % 400_000 + self.local(rank) * 3

    def pci(self, rank: int) -> str:
        """PCI id of the rank's GPU, as the driver prints it."""
        return f"0000:{0x1B + 0x10 * self.local(rank):02x}:00"

    def address(self, node: str) -> str:
        """IP of a node."""
        index = self.nodes.index(node)
        return f"10.12.{index // 200 + 4}.{index % 200 + 11}"

    def hostlist(self) -> str:
        """Nodes in Slurm's form."""
        return fold(self.nodes)

    def some_rank(self) -> int:
        """A rank other than 0, which often prints more than the others."""
        return self.rng.randrange(1, self.ranks)

    def some_node(self) -> str:
        """A node other than the first where there are several."""
        return self.rng.choice(self.nodes[1:] or self.nodes)

    def clock(self, at: float, node: str | None = None) -> datetime:
        """What a clock shows `at` seconds after the start, in UTC; the scheduler's without a node."""
        return self.start + timedelta(seconds=at + (self.skew[node] if node else 0.0))

    def zoned(self, at: float, node: str | None = None) -> datetime:
        """The same in the zone of the site."""
        return self.clock(at, node).astimezone(timezone(timedelta(hours=self.zone_hours)))


def make_world(rng: Random, *, min_nodes: int = 1) -> World:
    """Draw a cluster of at least `min_nodes` nodes."""
    sizes = [size for size in SIZES if size[0] >= min_nodes]
    count, per_node, _ = rng.choices(sizes, [weight for *_, weight in sizes])[0]
    name, first = rng.choice(_NAMES), rng.randrange(3, 160)
    nodes = tuple(expand(fold(name(first + i) for i in range(count))))  # in Slurm's order
    spare = tuple(name(first + count + 2 + i) for i in range(4))
    start = _FIRST_DAY + timedelta(seconds=rng.randrange(_DAYS * 86_400))
    return World(
        rng=rng,
        nodes=nodes,
        per_node=per_node,
        job_id=rng.randrange(100_000, 9_999_999),
        start=start,
        skew=_skew(rng, nodes),
        zone_hours=rng.choice((0, 0, 0, 1, 2, 9, -5, -8)),
        spare_nodes=spare,
    )


def _skew(rng: Random, nodes: tuple[str, ...]) -> dict[str, float]:
    """Most clusters agree within milliseconds, some within seconds, a few are minutes apart."""
    spread = rng.choice((0.005, 0.005, 0.05, 2.0, 10.0, 45.0, 170.0))
    return {node: round(rng.uniform(-spread, spread), 3) for node in nodes}
