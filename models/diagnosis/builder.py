"""Collects an episode line by line, within fixed bounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relume.events import LogLine
from relume.features.progress.assess import ProgressAssessment
from relume.models.collectives.evidence import DumpEvidence
from relume.models.diagnosis.clocks import estimate
from relume.models.diagnosis.consequences import ANCHORS
from relume.models.diagnosis.episode import (
    AdvanceTail,
    Episode,
    LogEnd,
    Position,
    SchedulerFacts,
    SignatureHits,
    number_of,
)
from relume.models.diagnosis.placing import facts_of, has_agents
from relume.models.diagnosis.writers import learn_writers, name_writers
from relume.models.ranks.collecting import RankCollector
from relume.models.ranks.mapping import resolve
from relume.models.signatures.hit import Hit
from relume.verdict import JOB_STREAMS

MAX_NODES = 1 << 16
"""Nodes whose kernel logs are remembered."""
MAX_FRAMES = 4096
"""Exceptions of which it is remembered where they were raised: a wave of as many ranks."""


class EpisodeBuilder:
    """Takes hits, advances, places and facts in reading order; `build` gives the episode so far.

    `shows_failure` is false as long as no line and no word of the scheduler is a sign of one.
    """

    def __init__(self, attempt: str, files: Sequence[str]) -> None:
        self._attempt = attempt
        self._files = tuple(files)
        self._file_index = {name: index for index, name in enumerate(self._files)}
        self._hits: dict[str, SignatureHits] = {}
        self._advances: dict[str, AdvanceTail] = {}
        self._ranks = RankCollector()
        self._scheduler = SchedulerFacts()
        self._clean_end: Position | None = None
        self._forms: set[str] = set()
        self._end_time: int | None = None
        self._restarts: dict[str, int] = {}
        self._lost_ends: dict[str, None] = {}
        self._frames: dict[tuple[str, int], str] = {}
        self._kernel_nodes: dict[str, None] = {}
        self._job_files: dict[str, None] = {}
        self._begin_time: int | None = None
        self._dumps: DumpEvidence | None = None
        self.shows_failure = False

    def note_file(self, file: str, stream: str) -> None:
        """Take a file of the attempt; files that were not announced come after those that were."""
        if stream in JOB_STREAMS:
            self._job_files[file] = None
        if file not in self._file_index:
            self._file_index[file] = len(self._files)
            self._files = (*self._files, file)

    def add_hit(self, hit: Hit) -> None:
        """Take one signature hit."""
        self._hits.setdefault(hit.signature.id, SignatureHits()).add(hit)
        line = hit.line
        if (
            line.stream == "kernel"
            and line.node is not None
            and len(self._kernel_nodes) < MAX_NODES
        ):
            self._kernel_nodes[line.node] = None
        self.shows_failure |= hit.signature.role in ANCHORS
        self.note_time(hit.line.event_time)

    def note_advance(self, line: LogLine) -> None:
        """Take a line that showed a new step."""
        tail = self._advances.setdefault(line.file, AdvanceTail())
        tail.add(line.line, line.event_time)
        tail.rank, tail.node = number_of(line), line.node
        self.note_clock(line)

    def note_clean_end(self, line: LogLine) -> None:
        """Take an explicit clean end."""
        self._clean_end = Position(self._file_index[line.file], line.line)

    def note_place(self, line: LogLine) -> None:
        """Take a line that says where ranks run."""
        self._ranks.take(line)
        self.note_clock(line)

    def note_scheduler(self, facts: SchedulerFacts) -> None:
        """Take what accounting says."""
        self._scheduler = facts
        self.shows_failure |= facts.state is not None

    def note_dumps(self, dumps: DumpEvidence) -> None:
        """Take what the dumps of the attempt show."""
        self._dumps = dumps
        self.shows_failure |= dumps.shows_failure

    def note_form(self, stream: str) -> None:
        """Take what form of log was read (stdout, kernel, slurmctld)."""
        self._forms.add(stream)

    def note_time(self, event_time: int | None) -> None:
        """Take a clock reading: the latest one is the end of what was seen."""
        if event_time is not None and event_time > (self._end_time or 0):
            self._end_time = event_time

    def note_clock(self, line: LogLine) -> None:
        """Take the clock of a line that shows the job at work: the first one is near its begin."""
        time = line.event_time
        self.note_time(time)
        if time is not None and line.stream in JOB_STREAMS:
            self._begin_time = min(time, self._begin_time or time)

    def note_restart(self, line: LogLine) -> None:
        """Take a line that says that the work starts again."""
        self._restarts[line.file] = line.line
        self._ranks.restart(line.file)

    def note_lost_end(self, file: str) -> None:
        """Take that the last part of a log could not be read."""
        self._lost_ends[file] = None

    def note_frame(self, line: LogLine, frame: str) -> None:
        """Take in which code (``file.py:function``) the exception that a line names was raised."""
        if len(self._frames) < MAX_FRAMES:
            self._frames[line.file, line.line] = frame

    def last_advance(self, file: str) -> int | None:
        """Line of the last new step in `file`, null when it shows none."""
        tail = self._advances.get(file)
        return tail.lines[-1] if tail is not None else None

    def build(self, progress: ProgressAssessment, ends: Iterable[LogEnd] = ()) -> Episode:
        """Return the episode of everything taken so far; `ends` are those of its logs, by now."""
        known = {end.file: end for end in ends}
        clocks = [end.time for end in known.values() if end.time is not None]
        clocks += [] if self._end_time is None else [self._end_time]
        facts = self._scheduler
        own = facts.nodes or self._ranks.nodes or tuple(self._kernel_nodes)
        world = self._ranks.world_size or self._ranks.largest_size or self._ranks.tasks
        writers = learn_writers(
            self._hits,
            nodes=own,
            world_size=world,
            job_files=self._job_files,
            told=self._ranks.writers(),
        )
        hits = name_writers(self._hits, writers)
        ranks = resolve(
            self._ranks,
            facts_of(hits.values()),
            facts.nodes,
            by_launchers=has_agents(hits),
            seen=self._kernel_nodes,
        )
        told = (hit for group in hits.values() for hit in group.first)
        begun = self._ranks.begun.items()
        return Episode(
            attempt=self._attempt,
            files=self._files,
            progress=progress,
            hits=hits,
            advances=self._advances,
            ranks=ranks,
            clocks=estimate(told, begun, ranks, start=facts.start, end=facts.end),
            scheduler=self._scheduler,
            clean_end=self._clean_end,
            begin_time=self._begin_time,
            starts=dict(self._ranks.starts),
            launches=self._ranks.launched(),
            forms=frozenset(self._forms),
            end_time=max(clocks, default=None),
            ends=known,
            restarts=dict(self._restarts),
            lost_ends=tuple(self._lost_ends),
            frames=dict(self._frames),
            dumps=self._dumps,
            named=writers.named,
        )
