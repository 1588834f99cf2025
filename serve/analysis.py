"""One attempt under analysis: blocks go in as they are read, a verdict can be asked at any time."""

from __future__ import annotations

from collections.abc import Sequence

from relume.events import LogLine
from relume.features.progress import ProgressFormat, parse_marker, parse_progress
from relume.features.progress.assess import assess
from relume.features.progress.tracker import ProgressTracker
from relume.ingest.blocks import Block
from relume.ingest.loglines import LineParser
from relume.models.diagnosis.builder import EpisodeBuilder
from relume.models.diagnosis.diagnose import diagnose
from relume.models.diagnosis.episode import SchedulerFacts
from relume.models.diagnosis.places import read_place
from relume.models.diagnosis.settings import DiagnosisSettings
from relume.models.signatures.engine import Engine
from relume.models.signatures.matcher import Matcher
from relume.serve.scanplan import ScanPlan
from relume.verdict import Verdict

MAX_TEXT = 16 * 1024
"""Bytes of one logical line that are looked at in detail; the scan itself sees all of them."""
TAIL_BYTES = 32 * 1024
"""The end of each log, read line by line for clocks and unknown endings."""


class AttemptAnalysis:
    """Feeds the lines of one attempt to signatures and progress, and diagnoses what was seen.

    Holds bounded state: an episode, a progress tracker and the tail of each log.
    """

    def __init__(
        self,
        name: str,
        files: Sequence[str],
        *,
        scanner: tuple[Engine, ScanPlan, Matcher],
        user_formats: Sequence[ProgressFormat] = (),
    ) -> None:
        self._engine, self._plan, self._matcher = scanner
        self._user_formats = tuple(user_formats)
        self._episode = EpisodeBuilder(name, files)
        self._tracker = ProgressTracker()
        self._tails: dict[str, tuple[Block, LineParser]] = {}

    def feed(self, block: Block, parser: LineParser) -> None:
        """Scan one block of whole lines."""
        self._tails[block.file] = (block, parser)
        self._episode.note_form(parser.stream)
        data, parse = block.data, parser.parse
        for start, end, patterns in self._engine.scan(data):
            text = data[start : min(end, start + MAX_TEXT)].decode("utf-8", "replace")
            self._take(parse(text, block.line_at(start), block.byte_offset_at(start)), patterns)

    def note_scheduler(self, facts: SchedulerFacts) -> None:
        """Take what accounting says of this attempt."""
        self._episode.note_scheduler(facts)

    def verdict(self, settings: DiagnosisSettings | None = None) -> Verdict:
        """Diagnose everything fed so far; feeding may go on afterwards."""
        for block, parser in self._tails.values():
            self._read_tail(block, parser)
        return diagnose(self._episode.build(assess(self._tracker)), settings)

    def _take(self, line: LogLine, patterns: Sequence[int]) -> None:
        plan = self._plan
        first, last = patterns[0], patterns[-1]
        if first < plan.signatures_end:
            known = [p for p in patterns if p < plan.signatures_end]
            for hit in self._matcher.match(line, known):
                self._episode.add_hit(hit)
        if last < plan.signatures_end:
            return
        if any(plan.is_progress(p) for p in patterns):
            self._take_progress(line)
        if any(plan.is_marker(p) for p in patterns):
            self._take_marker(line)
        if plan.is_place(last):
            self._take_place(line)

    def _take_progress(self, line: LogLine) -> None:
        point = None
        for form in self._user_formats:
            point = point or form.parse(line.text)
        point = point or parse_progress(line.message)
        if point is None:
            return
        rank = line.rank if line.rank is not None else line.task
        advanced = self._tracker.add_point(
            point, line=line.line, file=line.file, rank=rank, event_time=line.event_time
        )
        if advanced:
            self._episode.note_advance(line)

    def _take_marker(self, line: LogLine) -> None:
        marker = parse_marker(line.message)
        if marker is None:
            return
        self._tracker.add_marker(
            marker, line=line.line, file=line.file, event_time=line.event_time
        )
        if marker.kind == "clean_end":
            self._episode.note_clean_end(line)

    def _take_place(self, line: LogLine) -> None:
        place = read_place(line)
        if place is not None:
            self._episode.note_place(*place)

    def _read_tail(self, block: Block, parser: LineParser) -> None:
        data = block.data
        start = data.find(b"\n", len(data) - TAIL_BYTES) + 1 if len(data) > TAIL_BYTES else 0
        tail: list[tuple[int, str]] = []
        for raw in data[start:].split(b"\n"):
            line = block.line_at(start)
            start += len(raw) + 1
            if not raw.strip():
                continue
            text = raw[:MAX_TEXT].decode("utf-8", "replace")
            parsed = parser.parse(text, line, 0)
            tail.append((line, text))
            if parsed.event_time is not None:
                self._tracker.add_clocked_line(parsed.event_time, line)
                self._episode.note_time(parsed.event_time)
        self._episode.note_tail(block.file, tail)
