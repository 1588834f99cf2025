"""Run the programs of all ranks until nobody can go on: who called, started, completed what.

Each rank has a host that enqueues, a stream that runs what was enqueued in order, and a lane for
each group and pair that runs its collectives in order. A collective completes when all of its ranks
have started it and called the same; the host goes ahead of the stream until it drains it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from math import inf, prod

from relume.benchmarks.dumps.programs import (
    Batch,
    Call,
    Compute,
    Drain,
    Host,
    Instruction,
    Job,
    Join,
    Peer,
    Shape,
)

HOST_SECONDS = 0.00005
"""What it takes the host to enqueue something."""
TRANSFER_SECONDS = 0.002
TIMEOUT_SECONDS = 600.0


@dataclass(slots=True, eq=False)
class Record:
    """One work of one rank: what its recorder notes. Times in seconds, null for what never was."""

    group: int
    sequence: int
    collectives: int
    operation: str
    input: Shape
    output: Shape
    dtype: str
    is_p2p: bool
    created: float
    batch: int | None = None
    started: float | None = None
    completed: float | None = None

    @property
    def called(self) -> tuple[object, ...]:
        """What all ranks must call alike."""
        counts = () if self.operation == "all_to_all" else (prod(self.input), prod(self.output))
        return (self.operation, self.dtype, *counts)


@dataclass(slots=True)
class Faults:
    """What keeps collectives from completing though all came: those of a dead network."""

    dead: set[tuple[int, int]] = field(default_factory=set)
    """Group and number."""
    died: dict[int, int] = field(default_factory=dict)
    """Ranks that die at an instruction of their program."""


@dataclass(slots=True, eq=False)
class _Lane:
    free: float = 0.0
    queue: deque[tuple[float, list[tuple[Record, Hashable]]]] = field(default_factory=deque)
    running: list[Record] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Rank:
    number: int
    program: list[Instruction]
    at: int = 0
    host: float = 0.0
    stream: float = 0.0
    items: deque[tuple[float, object]] = field(default_factory=deque)
    draining: bool = False
    loose: list[Record] = field(default_factory=list)
    lanes: dict[Hashable, _Lane] = field(default_factory=dict)
    collectives: dict[int, int] = field(default_factory=dict)
    pairs: dict[int, int] = field(default_factory=dict)
    peers: dict[Hashable, int] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Waiting:
    records: tuple[Record, ...]


class Run:
    """One run of a job. After `run`, `records` holds each rank's works in the order of calls."""

    def __init__(self, job: Job, faults: Faults) -> None:
        self._job, self._faults = job, faults
        self._ranks = [_Rank(n, program) for n, program in enumerate(job.programs)]
        self._met: dict[Hashable, dict[int, Record]] = {}
        self._ready: deque[_Rank] = deque(self._ranks)

    @property
    def records(self) -> list[list[Record]]:
        """The works of every rank."""
        return [rank.records for rank in self._ranks]

    @property
    def end(self) -> float:
        """When the last thing happened."""
        times = [max(rank.host, rank.stream) for rank in self._ranks]
        return max(time for time in times if time < inf)

    def run(self) -> Run:
        """Run until nothing goes on any more."""
        while self._ready:
            rank = self._ready.popleft()
            while self._host(rank) or self._stream(rank):
                pass
        return self

    # --- the host ---------------------------------------------------------------------------

    def _host(self, rank: _Rank) -> bool:
        if rank.draining or rank.host == inf or rank.at >= len(rank.program):
            return False
        if self._faults.died.get(rank.number) == rank.at:
            rank.host = rank.stream = inf
            return False
        instruction = rank.program[rank.at]
        rank.at += 1
        rank.host += instruction.seconds if isinstance(instruction, Host) else HOST_SECONDS
        if isinstance(instruction, Call):
            record = self._call(rank, instruction)
            rank.items.append((rank.host, (instruction, [record])))
        elif isinstance(instruction, Peer | Batch):
            parts = instruction.parts if isinstance(instruction, Batch) else (instruction,)
            is_batch = isinstance(instruction, Batch)
            made = [
                self._peer(rank, part, is_first=i == 0 or not is_batch)
                for i, part in enumerate(parts)
            ]
            if is_batch:
                for record in made:
                    record.batch = made[0].sequence
            rank.items.append((rank.host, (instruction, made)))
        elif not isinstance(instruction, Host):
            rank.items.append((rank.host, instruction))
            rank.draining = isinstance(instruction, Drain)
        return True

    def _call(self, rank: _Rank, call: Call) -> Record:
        number = rank.collectives[call.group] = rank.collectives.get(call.group, 0) + 1
        record = Record(
            call.group, number, number, call.operation, call.input, call.output, call.dtype,
            is_p2p=False, created=rank.host,
        )  # fmt: skip
        rank.records.append(record)
        return record

    def _peer(self, rank: _Rank, part: Peer, *, is_first: bool) -> Record:
        number = rank.pairs.get(part.group, 0) + is_first
        rank.pairs[part.group] = number
        ranks = self._job.groups[part.group].ranks
        own, other = ranks.index(rank.number), ranks.index(part.peer)
        name = f"send {own}->{other}" if part.is_send else f"recv {own}<-{other}"
        record = Record(
            part.group, number, rank.collectives.get(part.group, 0), name, part.shape, part.shape,
            "BFloat16", is_p2p=True, created=rank.host,
        )  # fmt: skip
        rank.records.append(record)
        return record

    # --- the stream -------------------------------------------------------------------------

    def _stream(self, rank: _Rank) -> bool:
        if not rank.items or rank.stream == inf:
            return False
        queued, item = rank.items[0]
        rank.stream = max(rank.stream, queued)
        if isinstance(item, Compute):
            rank.stream += item.seconds
        elif isinstance(item, Join | Drain | _Waiting):
            records = item.records if isinstance(item, _Waiting) else rank.loose
            if any(record.completed is None for record in records):
                return False
            rank.stream = max([rank.stream, *(r.completed for r in records if r.completed)])
            rank.loose = rank.loose if isinstance(item, _Waiting) else []
        elif isinstance(item, tuple):
            self._launch(rank, *item)
            return True
        rank.items.popleft()
        if isinstance(item, Drain):
            rank.host, rank.draining = max(rank.host, rank.stream), False
        return True

    def _launch(self, rank: _Rank, instruction: Instruction, records: list[Record]) -> None:
        """Hand a collective to its lane; the stream goes on, or waits for it."""
        lane_key, works = self._works(rank, instruction, records)
        lane = rank.lanes.setdefault(lane_key, _Lane())
        lane.queue.append((rank.stream, works))
        waits = isinstance(instruction, Batch) or getattr(instruction, "waits", True)
        rank.items.popleft()
        if waits:
            rank.items.appendleft((rank.stream, _Waiting(tuple(records))))
        else:
            rank.loose += records
        self._advance(rank, lane)

    def _works(
        self, rank: _Rank, instruction: Instruction, records: list[Record]
    ) -> tuple[Hashable, list[tuple[Record, Hashable]]]:
        if isinstance(instruction, Call):
            record = records[0]
            return instruction.group, [(record, (instruction.group, record.sequence))]
        parts = instruction.parts if isinstance(instruction, Batch) else (instruction,)
        works: list[tuple[Record, Hashable]] = []
        lane: Hashable = None
        for part, record in zip(parts, records, strict=True):
            assert isinstance(part, Peer)  # noqa: S101
            ends = (rank.number, part.peer) if part.is_send else (part.peer, rank.number)
            place = rank.peers[part.group, ends] = rank.peers.get((part.group, ends), 0) + 1
            works.append((record, (part.group, ends, place)))
            lane = ("batch", part.group) if isinstance(instruction, Batch) else (part.group, ends)
        return lane, works

    def _advance(self, rank: _Rank, lane: _Lane) -> None:
        """Start what is first in a lane, once what ran before is complete."""
        while lane.queue and all(record.completed is not None for record in lane.running):
            lane.free = max([lane.free, *(r.completed for r in lane.running if r.completed)])
            handed, works = lane.queue.popleft()
            lane.running = [record for record, _ in works]
            for record, key in works:
                record.started = max(handed, lane.free)
                self._meet(rank, record, key)

    def _meet(self, rank: _Rank, record: Record, key: Hashable) -> None:
        met = self._met.setdefault(key, {})
        met[rank.number] = record
        needed = 2 if record.is_p2p else len(self._job.groups[record.group].ranks)
        if len(met) < needed or not self._completes(list(met.values())):
            return
        end = max(r.started for r in met.values() if r.started is not None) + TRANSFER_SECONDS
        for number, one in met.items():
            one.completed = end
            other = self._ranks[number]
            for lane in list(other.lanes.values()):
                if one in lane.running:
                    self._advance(other, lane)
            self._ready.append(other)

    def _completes(self, records: list[Record]) -> bool:
        starts = [record.started or 0.0 for record in records]
        first = records[0]
        alike = first.is_p2p or all(record.called == first.called for record in records)
        in_time = max(starts) - min(starts) < TIMEOUT_SECONDS
        return alike and in_time and (first.group, first.sequence) not in self._faults.dead


def open_records(run: Run) -> Iterator[tuple[int, Record]]:
    """Every work that never completed, with its rank."""
    for number, records in enumerate(run.records):
        yield from ((number, record) for record in records if record.completed is None)
