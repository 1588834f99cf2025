"""An episode: all evidence of one attempt, bounded however long its logs are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from relume.events import LogLine
from relume.features.progress.assess import ProgressAssessment
from relume.models.collectives.evidence import DumpEvidence
from relume.models.diagnosis.clocks import NO_OFFSETS, Clocks, node_of
from relume.models.ranks.mapping import RankMap
from relume.models.ranks.slots import numbers_before
from relume.models.signatures.hit import Hit

FIRST_PER_SIGNATURE = 64
"""Earliest hits kept of each rule: enough to order causes; a wave of a million stays small."""
PRINTERS_PER_SIGNATURE = 4096
"""Distinct printers remembered per rule: more than the ranks of one node failure wave need."""
RECOVERY_SLACK_MICROSECONDS = 180_000_000
"""Clocks of nodes may be minutes apart: so much later must steps in another file be."""
ADVANCES_TO_RECOVER = 3
"""New steps after a failure line that show the job went on (DESIGN 5: >= 3 new steps)."""


class Printer(NamedTuple):
    """Who printed a line, as far as its prefix says.

    `mark` is the first numbers of a line whose prefix doesn't say: they differ between ranks.
    """

    node: str | None
    rank: int | None
    local_rank: int | None
    task: int | None
    gpu: str | None
    mark: str | None = None


class Position(NamedTuple):
    """Where a line stands: reading order of its file, then its line."""

    file_index: int
    line: int


def _as_it_is(line: LogLine) -> LogLine:
    return line


@dataclass(slots=True)
class SignatureHits:
    """The hits of one rule: the first ones whole, the rest as a count and a set of printers."""

    first: list[Hit] = field(default_factory=list)
    last: Hit | None = None
    count: int = 0
    printers: set[Printer] = field(default_factory=set)

    def add(self, hit: Hit) -> None:
        """Count `hit`; keep it while there is room, or when a new printer says it."""
        self.count += 1
        self.last = hit
        printer = printer_of(hit)
        is_new = printer not in self.printers and len(self.printers) < PRINTERS_PER_SIGNATURE
        if is_new:
            self.printers.add(printer)
        if len(self.first) < FIRST_PER_SIGNATURE or is_new:
            self.first.append(hit)

    def kept(self) -> tuple[Hit, ...]:
        """The hits kept whole, in reading order: the first ones, and the last."""
        is_apart = self.last is not None and self.last is not self.first[-1]
        return (*self.first, self.last) if is_apart and self.last else tuple(self.first)

    def is_printed_by(self, number: int) -> bool:
        """Whether the process of this rank, or task, is one of the printers."""
        return any(number in {printer.rank, printer.task} for printer in self.printers)

    def relabelled(self, change: Callable[[Hit], Hit]) -> SignatureHits:
        """Return the same hits as `change` makes them; their number stays."""
        first = list(map(change, self.first))
        group = SignatureHits.of(first)
        group.first, group.count = first, self.count
        group.last = None if self.last is None else change(self.last)
        return group

    @classmethod
    def of(cls, hits: Iterable[Hit]) -> SignatureHits:
        """Collect the hits of one rule."""
        group = cls()
        for hit in hits:
            group.add(hit)
        return group


@dataclass(frozen=True, slots=True)
class LogEnd:
    """The end of one log.

    `lines` are its last lines as (line, text). `time` is the latest clock among the last few of
    them: null where they have none, and then nobody knows when the log ended.
    """

    file: str
    stream: str
    lines: tuple[tuple[int, str], ...] = ()
    time: int | None = None


@dataclass(slots=True)
class AdvanceTail:
    """The last few lines at which a file showed a new step, to tell survivors from victims.

    `rank` and `node` are of the printer of the last one, null where its prefixes don't say.
    """

    lines: list[int] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    rank: int | None = None
    node: str | None = None

    def add(self, line: int, event_time: int | None) -> None:
        """Note one advance."""
        self.lines = [*self.lines[-ADVANCES_TO_RECOVER + 1 :], line]
        if event_time is not None:
            self.times = [*self.times[-ADVANCES_TO_RECOVER + 1 :], event_time]

    def outlived(self, line: int) -> bool:
        """Whether enough new steps came after `line` of the same file."""
        return self.steps_after(line) >= ADVANCES_TO_RECOVER

    def steps_after(self, line: int) -> int:
        """New steps after `line` of the same file, at most as many as make a recovery."""
        return sum(advance > line for advance in self.lines)

    def outlived_time(self, event_time: int) -> bool:
        """Whether enough new steps came after `event_time` in this file."""
        return len(self.times) == ADVANCES_TO_RECOVER and self.times[0] > event_time


@dataclass(frozen=True, slots=True)
class SchedulerFacts:
    """What accounting says of the attempt; state null when no record was given.

    `start` and `end` are UTC microseconds, null while unknown.
    """

    state: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    nodes: tuple[str, ...] = ()
    start: int | None = None
    end: int | None = None


@dataclass(slots=True)
class Episode:
    """The evidence that one diagnosis works on.

    `ranks` says where ranks run. `ends` holds the end of each log. `clean_end` is the position of
    the last explicit clean end, null when none was printed. `restarts` is the last line of each
    file that says that the work starts again. `lost_ends` are the logs whose last part could not be
    read. `frames` says of lines that name an exception, by file and line, in which code it was
    raised. `clocks` says by how much the clocks of nodes are off. `begin_time` is the earliest
    clock of lines that show the job at work, null without one. `starts` is the line of each file at
    which the ranks were last started anew, `launches` when each node's daemon launched the job.
    `dumps` is what dumps of the attempt show, null without any.
    """

    attempt: str
    files: tuple[str, ...]
    progress: ProgressAssessment
    hits: dict[str, SignatureHits] = field(default_factory=dict)
    advances: dict[str, AdvanceTail] = field(default_factory=dict)
    ranks: RankMap = field(default_factory=RankMap)
    scheduler: SchedulerFacts = field(default_factory=SchedulerFacts)
    clean_end: Position | None = None
    forms: frozenset[str] = frozenset()
    end_time: int | None = None
    ends: dict[str, LogEnd] = field(default_factory=dict)
    restarts: dict[str, int] = field(default_factory=dict)
    lost_ends: tuple[str, ...] = ()
    frames: dict[tuple[str, int], str] = field(default_factory=dict)
    clocks: Clocks = NO_OFFSETS
    begin_time: int | None = None
    starts: dict[str, int] = field(default_factory=dict)
    dumps: DumpEvidence | None = None
    launches: dict[str, int] = field(default_factory=dict)
    named: Callable[[LogLine], LogLine] = field(default=_as_it_is, compare=False)
    """Gives a line of the job its rank and node, where they can be told."""

    def time(self, hit: Hit) -> int | None:
        """When the line of `hit` was written, by a clock that all nodes share; null if unknown."""
        time = hit.line.event_time
        if time is None or self.clocks is NO_OFFSETS:
            return time
        return time - self.clocks.of(node_of(hit, self.ranks))

    def position(self, hit: Hit) -> Position:
        """Reading-order position of a hit."""
        return Position(self.files.index(hit.line.file), hit.line.line)

    def all_hits(self) -> Iterator[Hit]:
        """Every kept hit, in no particular order."""
        for group in self.hits.values():
            yield from group.kept()

    def taken_back(self, hit: Hit) -> bool:
        """Whether a later line of the same file says that this is over."""
        return any(
            closing.line.file == hit.line.file
            and closing.line.line > hit.line.line
            and _same_object(closing, hit)
            for group in self.hits.values()
            if group.first and hit.signature.id in group.first[0].signature.closes
            for closing in group.kept()
        )

    def recovered(self, hit: Hit) -> bool:
        """Whether the job showed enough new steps, or a clean end, after this line."""
        file, line = hit.line.file, hit.line.line
        own = self.advances.get(file)
        if own is not None and own.outlived(line):
            return True
        restart = self.restarts.get(file, -1)
        if own is not None and restart >= line and own.steps_after(restart):
            return True  # the launcher started its processes anew, and they work
        time = self.time(hit)
        if time is not None and any(
            tail.outlived_time(time + self._ahead(tail) + RECOVERY_SLACK_MICROSECONDS)
            for name, tail in self.advances.items()
            if name != file
        ):
            return True
        if self.clean_end is None or self.clean_end.file_index != self.position(hit).file_index:
            return False
        return self.clean_end.line >= hit.line.line

    def _ahead(self, tail: AdvanceTail) -> int:
        node = tail.node or self.ranks.place(tail.rank).node
        return self.clocks.of(node)


def _same_object(closing: Hit, hit: Hit) -> bool:
    """Whether two lines speak of one peer or NIC, as far as both name one."""
    return all(
        closing.captures[name] == hit.captures[name]
        for name in ("peer", "nic")
        if name in closing.captures and name in hit.captures
    )


def number_of(line: LogLine) -> int | None:
    """Return the rank that wrote a line, or its task where only that is known; null for neither."""
    return line.task if line.rank is None else line.rank


def printer_of(hit: Hit) -> Printer:
    """Who printed the line of `hit`."""
    line = hit.line
    is_known = line.rank is not None or line.task is not None
    mark = None if is_known else numbers_before(line.text)
    return Printer(line.node, line.rank, line.local_rank, line.task, line.gpu, mark)
