"""From records to files: who writes where, in which order lines arrive, and what is cut off."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import inf
from random import Random

from relume.benchmarks.episodes.label import Forms
from relume.benchmarks.episodes.script import (
    IF_PREFIXED,
    INFO,
    JOB_SOURCES,
    WARNING,
    Record,
    Script,
    Source,
)
from relume.benchmarks.episodes.systems import (
    KERNEL_ONLY,
    SYSLOG,
    UNDATED,
    UNZONED,
    SystemStyle,
    controller_file,
    controller_line,
)
from relume.benchmarks.episodes.writers import CLOCKED, PLAIN, Style, Voice

ONE, TWO, PER_RANK, PER_NODE = "one file", "out and err", "file a rank", "file a node"
MAX_RANK_FILES = 128
_CLOCK = re.compile("\x02([^\x03]*)\x03")


@dataclass(frozen=True, slots=True)
class Layout:
    """How the records of one episode are written.

    `names` and `controller` say which file names and which form of slurmctld's log are used.
    `unmarked_hours` moves the clocks of system logs that name no zone.
    """

    files: str
    names: Forms
    style: Style
    system: SystemStyle
    controller: Forms
    unmarked_hours: int = 0
    cut_start: bool = False
    cut_end: bool = False
    late_culprit: bool = False
    torn: bool = False
    interleaved: bool = False
    naming: int = 0


@dataclass(slots=True)
class Written:
    """One line of a file, with what it tells of the culprit."""

    text: str
    record: Record
    is_root: bool
    tells: frozenset[str] = frozenset()
    places: int | None = None
    shows_rank: bool = False


@dataclass(slots=True)
class Files:
    """The files of an episode in writing."""

    lines: dict[str, list[Written]] = field(default_factory=dict)

    def add(self, file: str, line: Written) -> None:
        """Append a line to a file."""
        self.lines.setdefault(file, []).append(line)


def write(script: Script, layout: Layout, rng: Random) -> Files:
    """Write all records into files in the order in which they arrive, then cut."""
    files = Files()
    arrived: list[tuple[float, str, Written]] = []
    last: dict[tuple[str, int, str], float] = {}
    for record in sorted(script.records, key=lambda record: record.at):
        if _misleads(layout, record):
            continue
        file, lines = _WRITERS[record.source](script, layout, record)
        # What one process writes into one file stays in its order, however late it comes.
        writer = (record.source.value, record.rank, file)
        arrival = max(_arrival(script, layout, record), last.get(writer, -inf))
        for line in lines:
            arrived.append((arrival, file, line))
            if layout.interleaved and record.source is Source.RANK:
                arrival += rng.uniform(0.0, 0.08)
        if record.source is Source.RANK:
            last[writer] = arrival
    for _, file, line in sorted(arrived, key=lambda entry: entry[0]):
        files.add(file, line)
    if layout.torn:
        _tear(files, rng)
    _cut(files, layout, rng)
    return files


def _misleads(layout: Layout, record: Record) -> bool:
    """Whether nobody could see that this is of another time: no date, no line that says so."""
    if record.dated_only:
        return layout.system.name in UNDATED
    is_earlier = record.at < 0 and record.source in JOB_SOURCES
    return is_earlier and layout.files in {PER_RANK, PER_NODE}


def _arrival(script: Script, layout: Layout, record: Record) -> float:
    """Logs of ranks and launchers are pipes: what one node writes may come seconds late."""
    late = record.late
    is_culprit = record.node == script.truth.node
    if layout.late_culprit and is_culprit and record.source is Source.RANK and record.level != INFO:
        late += 25.0
    return record.at + late


def _rank_lines(script: Script, layout: Layout, record: Record) -> tuple[str, list[Written]]:
    world, style = script.world, layout.style
    voice = Voice(
        world,
        record.rank,
        world.clock(record.at, record.node),
        world.zoned(record.at, record.node),
        record.level,
    )
    file, by_name = _rank_file(script, layout, record)
    if style is CLOCKED and record.raw:
        style = PLAIN  # what isn't logged has no clock
    text = _read_clocks(record.text, voice.clock)
    texts = [text] if style.whole else text.split("\n")
    written = [style.write(voice, text) for text in texts]
    return file, _marked(script, record, written, style.tells | by_name)


def _rank_file(script: Script, layout: Layout, record: Record) -> tuple[str, frozenset[str]]:
    rank, node, job = record.rank, record.node, script.world.job_id
    if layout.files == PER_RANK:
        known = (f"rank_{rank}.log", f"logs/stderr_rank{rank}.txt", f"logs/rank{rank}.err")
        other = (
            f"worker-{rank}.out",
            f"task.{rank:04d}.txt",
            f"slurm-{job}.{rank}.out",
            f"{node}-{rank}.log",
            f"out/{node}.{rank}.stderr",
        )
        unseen = (
            f"rank-logs/rank{rank:05d}.attempt0",
            f"stdout.{rank}",
            f"{node}_gpu{script.world.local(rank)}_r{rank}.txt",
        )
        names = {Forms.KNOWN: known, Forms.OTHER: other, Forms.UNSEEN: unseen}[layout.names]
        name = names[layout.naming % len(names)]
        return name, frozenset({"rank", "node"} if node in name else {"rank"})
    if layout.files == PER_NODE:
        names = (f"{node}.log", f"{job}_{node}.out", f"{node}/train.log")
        return names[layout.naming % len(names)], frozenset({"node"})
    if layout.files == TWO:
        is_err = record.level not in {INFO, WARNING}
        return f"slurm-{job}.{'err' if is_err else 'out'}", frozenset()
    return f"slurm-{job}.out", frozenset()


def _job_file(script: Script, layout: Layout) -> str:
    return f"slurm-{script.world.job_id}.{'err' if layout.files == TWO else 'out'}"


def _agent_lines(script: Script, layout: Layout, record: Record) -> tuple[str, list[Written]]:
    """Torchrun's agents log as glog does, without a year; blocks are printed as they are."""
    at = script.world.clock(record.at, record.node)
    text = _read_clocks(record.text, at)
    texts = text.split("\n")
    if not record.raw:
        level, _, rest = text.partition(" ")
        pid = script.world.pid(script.world.ranks_of(record.node)[0]) - 50
        texts = [f"{level[0]}{at:%m%d %H:%M:%S}.{at.microsecond:06d} {pid} {rest}"]
    if layout.files == PER_NODE:
        file, by_name = _rank_file(script, layout, record)
        return file, _marked(script, record, texts, by_name)
    return _job_file(script, layout), _marked(script, record, texts, frozenset())


def _launcher_lines(script: Script, layout: Layout, record: Record) -> tuple[str, list[Written]]:
    texts = _read_clocks(record.text, script.world.clock(record.at)).split("\n")
    return _job_file(script, layout), _marked(script, record, texts, frozenset())


def _system_lines(script: Script, layout: Layout, record: Record) -> tuple[str, list[Written]]:
    world, system = script.world, layout.system
    if record.source is Source.NODE_DAEMON and system.name in KERNEL_ONLY:
        system = SYSLOG
    at: datetime = world.zoned(record.at, record.node)
    if system.name in UNZONED:
        at = world.clock(record.at, record.node) + timedelta(hours=layout.unmarked_hours)
    texts = [system.write(world, _with_text(record, text), at) for text in record.text.split("\n")]
    return system.file(record.node), _marked(script, record, texts, frozenset())


def _controller_lines(script: Script, layout: Layout, record: Record) -> tuple[str, list[Written]]:
    texts = [controller_line(script.world, record, layout.controller)]
    return controller_file(layout.controller), _marked(script, record, texts, frozenset())


_WRITERS: dict[Source, Callable[[Script, Layout, Record], tuple[str, list[Written]]]] = {
    Source.RANK: _rank_lines,
    Source.AGENT: _agent_lines,
    Source.LAUNCHER: _launcher_lines,
    Source.KERNEL: _system_lines,
    Source.NODE_DAEMON: _system_lines,
    Source.CONTROLLER: _controller_lines,
}


def _read_clocks(text: str, at: datetime) -> str:
    return _CLOCK.sub(lambda found: at.strftime(found[1]), text)


def _with_text(record: Record, text: str) -> Record:
    return Record(record.at, record.source, record.node, record.rank, text)


def _marked(
    script: Script, record: Record, texts: list[str], by_place: frozenset[str]
) -> list[Written]:
    """Say of the lines of a record which one is a root, and what they tell of the culprit."""
    roots = {root % len(texts) for root in record.roots}
    names_culprit = bool(roots or record.tells)
    written = []
    for number, text in enumerate(texts):
        tells: frozenset[str] = frozenset()
        if names_culprit and (not roots or number in roots):
            from_prefix = by_place if roots and _is_culprit(script, record) else frozenset()
            tells = from_prefix | (record.tells - {IF_PREFIXED})
            if IF_PREFIXED in record.tells and "rank" in by_place:
                tells |= {"rank"}
        places = record.places
        if places is None and {"rank", "node"} <= by_place:
            places = record.rank
        shows = record.source is Source.RANK and (
            "rank" in by_place or re.search(rf"[Rr]ank[ =]?{record.rank}\b", text) is not None
        )
        written.append(Written(text, record, number in roots, tells, places, shows))
    return written


def _is_culprit(script: Script, record: Record) -> bool:
    truth = script.truth
    if truth.rank is not None and record.source is Source.RANK:
        return record.rank == truth.rank
    return record.node == truth.node


def _tear(files: Files, rng: Random) -> None:
    """Glue some lines of ranks to the next one: two processes wrote at once, without a newline."""
    for lines in files.lines.values():
        for number in range(len(lines) - 2, 0, -1):
            pair = lines[number : number + 2]
            is_plain = all(
                w.record.source is Source.RANK and not w.is_root and not w.tells for w in pair
            )
            if is_plain and rng.random() < 0.04:
                lines[number] = Written(pair[0].text + pair[1].text, pair[0].record, is_root=False)
                del lines[number + 1]


def _cut(files: Files, layout: Layout, rng: Random) -> None:
    """Lose the start or the end of the job's files, but never a line that names the cause."""
    for name, lines in files.lines.items():
        if lines[0].record.source not in JOB_SOURCES:
            continue
        roots = [n for n, line in enumerate(lines) if line.is_root]
        start, end = 0, len(lines)
        if layout.cut_start:
            start = round((roots[0] if roots else len(lines) // 2) * rng.uniform(0.3, 0.95))
        if layout.cut_end:
            last = (roots[-1] if roots else len(lines) // 2) + 1
            end = last + round((len(lines) - last) * rng.uniform(0.05, 0.6))
        files.lines[name] = lines[start:end]
    for name in [name for name, lines in files.lines.items() if not lines]:
        del files.lines[name]
