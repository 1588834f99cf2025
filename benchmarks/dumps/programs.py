"""What ranks of a training job do, call by call: the programs that are run to a hang.

The layouts are those that frameworks use: data parallel with buckets, sharded parameters, tensor
and pipeline parallel (one forward, one backward), experts that exchange tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TypeAlias

Shape: TypeAlias = tuple[int, ...]
DEFAULT = 0
"""Number of the group of all ranks."""
RANKS_PER_HOST = 8


@dataclass(frozen=True, slots=True)
class Compute:
    """A kernel that takes so many seconds on the stream."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Host:
    """Work of the host (the next batch of data), in seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Call:
    """A collective of a group; `waits` says whether what follows on the stream waits for it."""

    group: int
    operation: str
    input: Shape
    output: Shape
    dtype: str = "BFloat16"
    waits: bool = True


@dataclass(frozen=True, slots=True)
class Peer:
    """A send to another rank, or a receive from it."""

    group: int
    peer: int
    is_send: bool
    shape: Shape
    waits: bool = True


@dataclass(frozen=True, slots=True)
class Batch:
    """Sends and receives that go together (`batch_isend_irecv`)."""

    parts: tuple[Peer, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """The stream waits for every collective that was not waited for."""


@dataclass(frozen=True, slots=True)
class Drain:
    """The host waits for the stream (it prints the loss)."""


Instruction: TypeAlias = Compute | Host | Call | Peer | Batch | Join | Drain


@dataclass(frozen=True, slots=True)
class GroupOf:
    """A process group: the name PyTorch gives it, its purpose, its ranks."""

    name: str
    description: str
    ranks: tuple[int, ...]


@dataclass(slots=True)
class Job:
    """A job before it runs. `steps` has, for each rank, where each of its steps begins."""

    layout: str
    world: int
    groups: list[GroupOf] = field(default_factory=list)
    programs: list[list[Instruction]] = field(default_factory=list)
    steps: list[list[int]] = field(default_factory=list)

    def group_of(self, description: str, rank: int) -> int:
        """Number of the group of that purpose that `rank` is in."""
        return next(
            number
            for number, group in enumerate(self.groups)
            if group.description == description and rank in group.ranks
        )

    def host_of(self, rank: int) -> int:
        """Number of the host that `rank` runs on."""
        return rank // RANKS_PER_HOST


def make_job(layout: str, world: int, steps: int, random: Random) -> Job:
    """Make the programs of `steps` steps of one layout."""
    job = Job(layout, world, [GroupOf("0", "default_pg", tuple(range(world)))])
    write = LAYOUTS[layout](job, random)
    for rank in range(world):
        program: list[Instruction] = []
        begins = []
        for _ in range(steps):
            begins.append(len(program))
            program += [_jittered(instruction, random) for instruction in write(rank)]
        job.programs.append(program)
        job.steps.append(begins)
    return job


def _jittered(instruction: Instruction, random: Random) -> Instruction:
    """No two steps take the same time."""
    if isinstance(instruction, Compute | Host):
        return replace(instruction, seconds=instruction.seconds * random.uniform(0.9, 1.2))
    return instruction


Writer: TypeAlias = Callable[[int], Iterator[Instruction]]


def _add_groups(job: Job, description: str, groups: Sequence[Sequence[int]]) -> None:
    for ranks in groups:
        job.groups.append(GroupOf(str(len(job.groups)), description, tuple(ranks)))


def _ddp(_: Job, random: Random) -> Writer:
    buckets = [random.randrange(1, 30) * 1024 for _ in range(random.randrange(2, 6))]

    def step(_: int) -> Iterator[Instruction]:
        yield Host(0.004)
        yield Compute(0.02)
        for bucket in buckets:
            yield Compute(0.005)
            yield Call(DEFAULT, "all_reduce", (bucket,), (bucket,), "Float", waits=False)
        yield Join()
        yield Call(DEFAULT, "all_reduce", (1,), (1,), "Float")
        yield Compute(0.003)
        yield Drain()

    return step


def _fsdp(job: Job, random: Random) -> Writer:
    layers = [random.randrange(1, 9) * 4096 for _ in range(random.randrange(3, 7))]
    world = job.world

    def step(_: int) -> Iterator[Instruction]:
        yield Host(0.004)
        for size in (*layers, *reversed(layers)):
            yield Call(DEFAULT, "_all_gather_base", (size,), (size * world,))
            yield Compute(0.006)
        for size in layers:
            yield Compute(0.008)
            scattered = (size * world,), (size,)
            yield Call(DEFAULT, "_reduce_scatter_base", *scattered, "Float", waits=False)
        yield Join()
        yield Call(DEFAULT, "all_reduce", (), (), "Float")
        yield Drain()

    return step


def _tensor(job: Job, random: Random) -> Writer:
    size = random.choice([2, 4, 8][: 3 if job.world > RANKS_PER_HOST else 2])
    tensor = [range(first, first + size) for first in range(0, job.world, size)]
    _add_groups(job, "TENSOR_MODEL_PARALLEL_GROUP", tensor)
    _add_groups(job, "DATA_PARALLEL_GROUP", [range(i, job.world, size) for i in range(size)])
    layers = random.randrange(2, 5)

    def step(rank: int) -> Iterator[Instruction]:
        own = job.group_of("TENSOR_MODEL_PARALLEL_GROUP", rank)
        data = job.group_of("DATA_PARALLEL_GROUP", rank)
        yield Host(0.003)
        yield Call(own, "broadcast", (5,), (5,), "Long")
        for _ in range(2 * layers):
            yield Compute(0.004)
            yield Call(own, "all_reduce", (2048, 1, 1024), (2048, 1, 1024))
        yield Call(data, "all_reduce", (4_000_000,), (4_000_000,), "Float")
        yield Call(DEFAULT, "all_reduce", (1,), (1,), "Float")
        yield Drain()

    return step


def _pipeline(job: Job, random: Random) -> Writer:
    few = job.world < 4 * RANKS_PER_HOST
    stages = random.choice([2, 4] if few else [4, 8])
    width = random.choice([1, 2, 4]) if job.world >= 4 * stages else 1
    per_stage = job.world // stages  # data parallel times tensor parallel
    if width > 1:
        tensor = [range(first, first + width) for first in range(0, job.world, width)]
        _add_groups(job, "TENSOR_MODEL_PARALLEL_GROUP", tensor)
    lines = [[i + per_stage * s for s in range(stages)] for i in range(per_stage)]
    _add_groups(job, "PIPELINE_MODEL_PARALLEL_GROUP", lines)
    data = [
        range(stage * per_stage + i, (stage + 1) * per_stage, width)
        for stage in range(stages)
        for i in range(width)
    ]
    _add_groups(job, "DATA_PARALLEL_GROUP", data)
    microbatches, batched = stages + random.randrange(1, 4), random.choice([True, False])
    shape = (2048, 1, 1024)

    def step(rank: int) -> Iterator[Instruction]:
        stage = rank // per_stage
        line = job.group_of("PIPELINE_MODEL_PARALLEL_GROUP", rank)
        own = job.group_of("TENSOR_MODEL_PARALLEL_GROUP", rank) if width > 1 else None
        before = rank - per_stage if stage > 0 else None
        after = rank + per_stage if stage < stages - 1 else None

        def layers() -> Iterator[Instruction]:
            yield Compute(0.006)
            if own is not None:
                yield Call(own, "all_reduce", shape, shape)
                yield Compute(0.004)
                yield Call(own, "_reduce_scatter_base", shape, (2048 // width, 1, 1024))

        def exchange(*parts: tuple[int | None, bool]) -> Iterator[Instruction]:
            peers = [
                Peer(line, peer, is_send, shape, waits=not is_send)
                for peer, is_send in parts
                if peer is not None
            ]
            if batched and peers:
                yield Batch(tuple(peers))
            else:
                yield from peers

        warm_up = min(stages - 1 - stage, microbatches)
        yield Host(0.003)
        for _ in range(warm_up):
            yield from exchange((before, False))
            yield from layers()
            yield from exchange((after, True))
        for turn in range(microbatches - warm_up):
            yield from exchange((before, False)) if turn == 0 or not batched else ()
            yield from layers()
            yield from exchange((after, True), (after, False))
            yield from layers()
            more = batched and turn < microbatches - warm_up - 1
            yield from exchange((before, True), *([(before, False)] if more else []))
        for _ in range(warm_up):
            yield from exchange((after, False))
            yield from layers()
            yield from exchange((before, True))
        replicas = job.group_of("DATA_PARALLEL_GROUP", rank)
        yield Call(replicas, "all_reduce", (3_000_000,), (3_000_000,), "Float")
        yield Call(DEFAULT, "all_reduce", (1,), (1,), "Float")
        yield Drain()

    return step


def _experts(job: Job, random: Random) -> Writer:
    size = random.choice([4, 8][: 2 if job.world > RANKS_PER_HOST else 1])
    experts = [range(first, first + size) for first in range(0, job.world, size)]
    _add_groups(job, "EXPERT_MODEL_PARALLEL_GROUP", experts)
    _add_groups(job, "EXPERT_DATA_PARALLEL_GROUP", [range(i, job.world, size) for i in range(size)])
    layers = random.randrange(2, 5)
    tokens = Random(random.random())

    def step(rank: int) -> Iterator[Instruction]:
        own = job.group_of("EXPERT_MODEL_PARALLEL_GROUP", rank)
        data = job.group_of("EXPERT_DATA_PARALLEL_GROUP", rank)
        yield Host(0.003)
        for _ in range(layers):
            received = 4096 + tokens.randrange(-200, 200)
            yield Compute(0.003)
            yield Call(own, "_all_gather_base", (16,), (16 * size,), "Long")
            yield Call(own, "all_to_all", (4096, 512), (received, 512))
            yield Compute(0.006)
            yield Call(own, "all_to_all", (received, 512), (4096, 512))
        yield Call(data, "all_reduce", (2_000_000,), (2_000_000,), "Float")
        yield Call(DEFAULT, "all_reduce", (1,), (1,), "Float")
        yield Drain()

    return step


LAYOUTS: dict[str, Callable[[Job, Random], Writer]] = {
    "ddp": _ddp,
    "fsdp": _fsdp,
    "tensor": _tensor,
    "pipeline": _pipeline,
    "experts": _experts,
}
