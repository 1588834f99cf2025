"""Collects what lines say of ranks, within fixed bounds, until somebody asks for the map."""

from __future__ import annotations

from relume.events import LogLine
from relume.models.ranks.facts import NOTHING, RankFact, Said, Source
from relume.models.ranks.reading import read_line

MAX_NUMBERS = 1 << 17
"""Ranks and tasks of which places are remembered; more than any job that ran."""
MAX_JOBS = 1024
"""Jobs that a controller started meanwhile."""
MAX_PER_RANK = 8
"""Different places remembered of one rank: more of them are a contradiction anyway."""


class RankCollector:
    """Takes lines in reading order. Bounded; equal lines in equal order give equal facts.

    After the launcher has started its processes anew, what a file said of a rank before is
    forgotten as soon as it says it again: the rank may run elsewhere now. `starts` is the line of
    each file at which it last shows other processes on the same GPUs; `begun` when each rank joined
    all others, by its own clock.
    """

    def __init__(self) -> None:
        self._facts: dict[tuple[bool, int], list[tuple[int, RankFact]]] = {}
        self._rounds: dict[str, int] = {}
        self.world_size: int | None = None
        self.largest_size: int | None = None
        self.tasks: int | None = None
        self.ranks_per_node: int | None = None
        self.nodes: tuple[str, ...] = ()
        self.is_cyclic: bool | None = None
        self.addresses: dict[str, str | None] = {}
        self.begun: dict[int, int] = {}
        self.allocations: dict[str, tuple[str, ...]] = {}
        self.starts: dict[str, int] = {}
        self._heads: set[str] = set()
        self._writers: dict[str, int | None] = {}
        self._launches: dict[str, tuple[str, int]] = {}
        self._processes: dict[tuple[str, str], tuple[int, int]] = {}

    def take(self, line: LogLine) -> None:
        """Take a line that one of `RANK_PATTERNS` found."""
        said = read_line(line)
        if said is NOTHING:
            return
        if len(said.facts) == 1:
            self._note_process(said.facts[0])
        self.add(said)
        if len(said.facts) == 1 and len(self._writers) < MAX_NUMBERS:
            rank = said.facts[0].rank
            self._writers[line.file] = rank if self._writers.get(line.file, rank) == rank else None
        if said.launch is not None:
            self._note_launch(*said.launch, line.event_time)
        elif said.nodes and line.rank is None and line.task is None:
            self._note_head(line)
        if line.event_time is not None and len(said.facts) == 1:
            self._note_begin(said.facts[0], line.event_time)

    def _note_begin(self, fact: RankFact, event_time: int) -> None:
        """Note when a rank joined the communicator of all ranks: they join it together."""
        is_joint = fact.size in {None, self.largest_size}
        if fact.origin.source is not Source.NCCL_INIT or not is_joint or fact.rank is None:
            return
        if len(self.begun) < MAX_NUMBERS:
            self.begun.setdefault(fact.rank, event_time)

    def _note_head(self, line: LogLine) -> None:
        """Note the head of a batch script, which prints its nodes: the second one begins anew."""
        if line.file in self._heads:
            self.restart(line.file)
            self.starts[line.file] = line.line
        self._heads.add(line.file)

    def _note_launch(self, job: str, node: str, event_time: int | None) -> None:
        """Note when a node first launched the newest job that it launched."""
        known = self._launches.get(node)
        if event_time is None or (known is None and len(self._launches) >= MAX_NUMBERS):
            return
        if known is None or known[0] != job:
            self._launches[node] = job, event_time

    def writers(self) -> dict[str, int]:
        """Return the rank of each log in which one rank alone says where it runs; else none.

        A single log that holds one such line says nothing of who wrote the others.
        """
        known = {file: rank for file, rank in self._writers.items() if rank is not None}
        return known if len(known) > 1 else {}

    def launched(self) -> dict[str, int]:
        """Return when each node launched the newest of its jobs, by its own clock."""
        return {node: time for node, (_, time) in self._launches.items()}

    def _note_process(self, fact: RankFact) -> None:
        """Note the process on a GPU: where another one comes, the ranks were started anew."""
        file, line = fact.origin.file, fact.origin.line
        if fact.pid is None or fact.pci is None or fact.node is None or file is None:
            return
        gpu, now = (fact.node, fact.pci), self._rounds.get(file, 0)
        pid, began = self._processes.get(gpu, (fact.pid, now))
        if pid != fact.pid and began >= now:
            self.restart(file)
            self.starts[file] = line or 0
        if gpu in self._processes or len(self._processes) < MAX_NUMBERS:
            self._processes[gpu] = fact.pid, self._rounds.get(file, 0)

    def add(self, said: Said) -> None:
        """Take what a line says; numbers of the whole job that came last count."""
        for fact in said.facts:
            self.add_fact(fact)
        self.world_size = said.world_size or self.world_size
        self.tasks = said.tasks or self.tasks
        self.ranks_per_node = said.ranks_per_node or self.ranks_per_node
        self.nodes = said.nodes or self.nodes
        for address, node in said.addresses:
            self._add_address(address, node)
        if said.allocation is not None and len(self.allocations) < MAX_JOBS:
            self.allocations[said.allocation[0]] = said.allocation[1]
        self.is_cyclic = self.is_cyclic if said.is_cyclic is None else said.is_cyclic

    def _add_address(self, address: str, node: str) -> None:
        """Take the address of a node; one that two nodes have (a bridge's, say) is nobody's."""
        if address in self.addresses:
            is_same = self.addresses[address] == node
            self.addresses[address] = node if is_same else None
        elif len(self.addresses) < MAX_NUMBERS:
            self.addresses[address] = node

    def add_fact(self, fact: RankFact) -> None:
        """Take one fact; those of communicators that are known to be a part of the job go."""
        if fact.size is not None and fact.size < (self.largest_size or 0):
            return
        if fact.size is not None:
            self.largest_size = fact.size
        key = _key(fact)
        if key is None or (key not in self._facts and len(self._facts) >= MAX_NUMBERS):
            return
        now = self._rounds.get(fact.origin.file or "", 0)
        held = [(began, known) for began, known in self._facts.get(key, ()) if began >= now]
        if any(_same(known, fact) for _, known in held):
            return
        if len(held) < MAX_PER_RANK:
            held.append((now, fact))
        self._facts[key] = held

    def restart(self, file: str) -> None:
        """Take that the launcher starts its processes anew, as a line of `file` says."""
        self._rounds[file] = self._rounds.get(file, 0) + 1

    def facts(self) -> list[RankFact]:
        """Return every fact that still counts: of communicators those of the largest only."""
        return [
            fact
            for held in self._facts.values()
            for _, fact in held
            if fact.size is None or fact.size == self.largest_size
        ]


def _key(fact: RankFact) -> tuple[bool, int] | None:
    """Facts are held by rank; those about a task only, by task."""
    if fact.rank is not None:
        return True, fact.rank
    return None if fact.task is None else (False, fact.task)


def _same(known: RankFact, fact: RankFact) -> bool:
    """Whether a fact says nothing that is not known from as good a source."""
    return known.origin.source == fact.origin.source and all(
        getattr(fact, name) in (None, getattr(known, name))
        for name in ("size", "task", "node", "node_index", "local_rank", "gpu", "pci", "pid")
    )
