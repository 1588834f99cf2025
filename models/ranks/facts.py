"""What single lines say of where ranks run, each with where it was read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Source(StrEnum):
    """Who said where a rank runs."""

    NCCL_INIT = "nccl_init"
    """NCCL's line about a new communicator: host, process, rank, device and PCI id in one."""
    LAUNCHER = "launcher"
    """torchrun's, DeepSpeed's or another launcher's books."""
    SRUN = "srun"
    """A message of srun that names a host and its tasks."""
    ENVIRONMENT = "environment"
    """A process that prints its own rank with its host, local rank or device."""
    PREFIX = "prefix"
    """A rank and a host that stand before one and the same line."""
    LAYOUT = "layout"
    """The node list and the way tasks are laid out over it, which other lines confirm."""
    ASSUMED = "assumed"
    """The same by Slurm's default, which no line confirms, and none contradicts."""


DIRECT = frozenset(set(Source) - {Source.LAYOUT, Source.ASSUMED})
"""Sources that were read; the others are reckoned from them."""


class Origin(NamedTuple):
    """Where something was read: who said it, and the 0-based line in its file (null: reckoned)."""

    source: Source
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class RankFact:
    """What one line says of one rank, or of one task of srun. Null where it doesn't say.

    `size` is the number of ranks that `rank` counts in, where that may be a part of the job only
    (an NCCL communicator); null for the rank of the whole job. `gpu` is the index of a device on
    its node, `pci` its normalised PCI id, `pid` the process. `node_index` counts in the job's node
    list.
    """

    origin: Origin
    rank: int | None = None
    task: int | None = None
    node: str | None = None
    node_index: int | None = None
    local_rank: int | None = None
    gpu: str | None = None
    pci: str | None = None
    pid: int | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """All that one line says: facts about ranks, and numbers of the whole job (null: not told).

    `addresses` are pairs of an IP and the node that it is of, `allocation` is a job, of whomever,
    with its nodes, `launch` a job and the node on which a task of it is launched.
    """

    facts: tuple[RankFact, ...] = ()
    world_size: int | None = None
    tasks: int | None = None
    ranks_per_node: int | None = None
    nodes: tuple[str, ...] = ()
    addresses: tuple[tuple[str, str], ...] = ()
    is_cyclic: bool | None = None
    allocation: tuple[str, tuple[str, ...]] | None = None
    launch: tuple[str, str] | None = None


NOTHING = Said()
"""What most lines say."""
