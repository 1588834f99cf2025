"""One attempt under analysis: blocks go in as they are read, a verdict can be asked at any time."""

from __future__ import annotations

from collections.abc import Sequence

from relume.clock import MICROSECONDS_PER_SECOND
from relume.events import LogLine
from relume.features.progress.assess import assess
from relume.features.progress.markers import MarkerKind, marker_located
from relume.features.progress.parse import parse_located
from relume.features.progress.tracker import ProgressTracker
from relume.ingest.blocks import Block
from relume.ingest.loglines import LineParser
from relume.models.diagnosis.builder import EpisodeBuilder
from relume.models.diagnosis.consequences import is_generic
from relume.models.diagnosis.diagnose import diagnose
from relume.models.diagnosis.episode import SchedulerFacts
from relume.models.diagnosis.places import read_place
from relume.models.diagnosis.settings import DiagnosisSettings
from relume.models.signatures.hit import Hit
from relume.serve.scanplan import Located, Scanner
from relume.serve.tracebacks import RAISED_RULE, TRACEBACK_RULE, find_raised
from relume.verdict import Verdict

MAX_TEXT = 16 * 1024
"""Bytes of one logical line that are looked at in detail; the scan itself sees all of them."""
JOB_STREAMS = frozenset({"stdout", "stderr"})
"""Streams of the job itself: a kernel log goes on whatever the job does."""
CLOCK_SECONDS = 2
"""How far the clocks of a node and of the scheduler may differ; both often tell whole seconds."""
TAIL_BYTES = 32 * 1024
"""The end of each log, read line by line for clocks and unknown endings."""


class AttemptAnalysis:
    """Feeds the lines of one attempt to signatures and progress, and diagnoses what was seen.

    Holds bounded state: an episode, a progress tracker and the last block read. `new_steps` counts
    the lines that showed a new step; `first_step` and `last_step` are null without a number.
    `began_at` (UTC microseconds, null when not known) is when the attempt began: what other logs
    than its own tell of the time before is about somebody else.
    """

    def __init__(
        self,
        name: str,
        files: Sequence[str],
        *,
        scanner: Scanner,
    ) -> None:
        self._engine, self._plan, self._matcher, catalogue = scanner
        self._raised = catalogue.by_id.get(RAISED_RULE)
        self._episode = EpisodeBuilder(name, files)
        self._tracker = ProgressTracker()
        self._open: tuple[Block, LineParser] | None = None
        self.began_at: int | None = None
        self.new_steps = 0
        self.first_step: int | None = None
        self.last_step: int | None = None

    def feed(self, block: Block, parser: LineParser) -> None:
        """Scan one block of whole lines."""
        if self._open is not None and self._open[0].file != block.file:
            self._read_tail(*self._open)
        self._open = (block, parser)
        self._episode.note_file(block.file)
        self._episode.note_form(parser.stream)
        data, parse = block.data, parser.parse
        for start, end, patterns in self._engine.scan(data):
            text = data[start : min(end, start + MAX_TEXT)].decode("utf-8", "replace")
            line = parse(text, block.line_at(start), block.byte_offset_at(start))
            if self._is_from_before(line.event_time, parser):
                continue
            if self._take(line, patterns) and self._raised is not None:
                raised = find_raised(block, end + 1, parser, line)
                if raised is not None:
                    self._episode.add_hit(Hit(self._raised, raised, {}))

    def note_scheduler(self, facts: SchedulerFacts) -> None:
        """Take what accounting says of this attempt."""
        self._episode.note_scheduler(facts)

    def verdict(self, settings: DiagnosisSettings | None = None) -> Verdict:
        """Diagnose everything fed so far; feeding may go on afterwards."""
        if self._open is not None:
            self._read_tail(*self._open)
        return diagnose(self._episode.build(assess(self._tracker)), settings)

    def _is_from_before(self, event_time: int | None, parser: LineParser) -> bool:
        """Whether a line of a node's log is older than the attempt."""
        if parser.stream in JOB_STREAMS or event_time is None or self.began_at is None:
            return False
        return event_time < self.began_at - CLOCK_SECONDS * MICROSECONDS_PER_SECOND

    def _take(self, line: LogLine, patterns: Sequence[int]) -> bool:
        """Take one candidate line; return whether a traceback begins with it."""
        located = self._plan.split(patterns)
        begins_traceback = False
        if located.signatures:
            hits = self._matcher.match(line, located.signatures)
            for hit in hits:
                if hit is not hits[0] and is_generic(hit):
                    break  # another rule knows this line better, and those after say even less
                self._episode.add_hit(hit)
                begins_traceback = begins_traceback or hit.signature.id == TRACEBACK_RULE
        if located.progress or located.user_progress:
            self._take_progress(line, located)
        if located.markers:
            self._take_marker(line, located.markers)
        if located.places:
            self._take_place(line)
        return begins_traceback

    def _take_progress(self, line: LogLine, located: Located) -> None:
        forms = (self._plan.user_formats[i] for i in located.user_progress)
        read = (point for form in forms if (point := form.parse(line.text)) is not None)
        point = next(read, None) or parse_located(line.message, located.progress)
        if point is None:
            return
        advanced = self._tracker.add_point(
            point,
            line=line.line,
            file=line.file,
            rank=line.rank if line.rank is not None else line.task,
            event_time=line.event_time,
        )
        if advanced:
            self._episode.note_advance(line)
            self._note_step(point.step)

    def _note_step(self, step: int | None) -> None:
        self.new_steps += 1
        if step is not None:
            self.first_step = step if self.first_step is None else self.first_step
            self.last_step = step if self.last_step is None else max(self.last_step, step)

    def _take_marker(self, line: LogLine, patterns: Sequence[int]) -> None:
        marker = marker_located(line.message, patterns)
        if marker is None:
            return
        self._tracker.add_marker(marker, line=line.line, file=line.file, event_time=line.event_time)
        if marker.kind is MarkerKind.CLEAN_END:
            self._episode.note_clean_end(line)

    def _take_place(self, line: LogLine) -> None:
        place = read_place(line)
        if place is not None:
            self._episode.note_place(*place)

    def _read_tail(self, block: Block, parser: LineParser) -> None:
        """Take the clocks of the last lines: how long a log goes on shows a silent job."""
        data, tail = block.data, list[tuple[int, str]]()
        start = data.find(b"\n", len(data) - TAIL_BYTES) + 1 if len(data) > TAIL_BYTES else 0
        last = self._tracker.last_progress
        for raw in data[start:].split(b"\n"):
            number = block.line_at(min(start, len(data) - 1)) if data else 0
            start += len(raw) + 1
            if not raw.strip():
                continue
            text = raw[:MAX_TEXT].decode("utf-8", "replace")
            time = parser.parse(text, number, 0).event_time
            if self._is_from_before(time, parser):
                continue
            tail.append((number, text))
            self._episode.note_time(time)
            after = last is None or (last.file == block.file and number > last.line)
            if time is not None and after and parser.stream in JOB_STREAMS:
                self._tracker.add_clocked_line(time, number)
        self._episode.note_tail(block.file, tail)
