"""One attempt under analysis: blocks go in as they are read, a verdict can be asked at any time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relume.events import LogLine
from relume.features.progress.assess import assess
from relume.ingest.blocks import Block
from relume.ingest.loglines import LineParser
from relume.models.collectives.evidence import DumpEvidence
from relume.models.diagnosis.builder import EpisodeBuilder
from relume.models.diagnosis.consequences import is_generic
from relume.models.diagnosis.diagnose import diagnose
from relume.models.diagnosis.episode import Episode, SchedulerFacts
from relume.models.diagnosis.foremost import MAX_COMPARED, is_weak, with_foremost
from relume.models.diagnosis.own import ended_well
from relume.models.diagnosis.settings import DiagnosisSettings
from relume.models.diagnosis.unexplained import has_open_end
from relume.models.signatures.hit import Hit
from relume.models.templates.history import TemplateHistory
from relume.models.templates.shapes import Shape
from relume.models.templates.unrecognised import MAX_SHOWN
from relume.serve.kept import KeptLines, Span
from relume.serve.progress import Progress
from relume.serve.scanplan import Located, Scanner
from relume.serve.steps.finder import StepFinder
from relume.serve.tails import MAX_TEXT, Tails
from relume.serve.tracebacks import RAISED_RULE, TRACEBACK_RULE, Raised, RaisedFinder
from relume.serve.unrecognised import Unmatched
from relume.verdict import Kind, Verdict

MAX_SPLITS = 1024
"""Patterns that lines have together, sorted by who reads them: of most lines they are the same."""


class AttemptAnalysis:
    """Feeds the lines of one attempt to signatures and progress, and diagnoses what was seen.

    What it says depends on the lines fed only: neither on how they were cut into blocks, nor on
    whether a verdict was asked for in between. Holds bounded state: an episode, a progress tracker
    and the ends of the logs. `progress` tells of its steps.
    """

    def __init__(
        self,
        name: str,
        files: Sequence[str],
        *,
        scanner: Scanner,
        history: TemplateHistory | None = None,
    ) -> None:
        self._rules, engine, self._plan, self._matcher, self._catalogue = scanner
        self._finder = StepFinder(engine, self._plan)
        self._raised = self._catalogue.by_id.get(RAISED_RULE)
        self._episode = EpisodeBuilder(name, files)
        self.progress = Progress(self._plan, self._episode)
        self._tails = Tails()
        self._tracebacks = RaisedFinder()
        self._kept = KeptLines()
        self._located: dict[tuple[int, ...], Located] = {}
        self._unmatched = Unmatched(self._kept, self._tails, scanner, history)
        self._said: tuple[DiagnosisSettings | None, bool, Verdict, Episode] | None = None
        self._shows_failure: bool | None = None

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is found again when it is asked for."""
        return self.__dict__ | {"_located": {}, "_said": None, "_shows_failure": None}

    def feed(self, block: Block, parser: LineParser) -> None:
        """Scan one block of whole lines."""
        self._forget()
        self._episode.note_file(block.file, parser.stream)
        self._episode.note_form(parser.stream)
        data, parse = block.data, parser.parse
        self._tracebacks.begin(block, parser)
        # Lines whose own times are kept are read one by one: then finding their forms is in vain.
        found = self._finder.find(block, parser, together=not self.progress.keeps_times)
        steps: list[Span] = []
        read = -1
        for start, end, patterns in sorted(self._rules.scan(data) + found.candidates):
            if start != read:  # else both scans found this line
                if self._tracebacks.is_open:
                    self._take_raised(self._tracebacks.until(start), block, parser)
                raw = data[start : min(end, start + MAX_TEXT)]
                text = raw.decode("utf-8", "replace")
                line = parse(text, block.line_at(start), block.byte_offset_at(start))
                read = start
            if patterns[-1] >= self._plan.steps_from:
                steps += self.progress.take_run(found.before(start), parser)
            before = self.progress.new_steps
            if self._take(line, patterns, raw, parser):
                self._tracebacks.follow(end + 1, line)
            if self.progress.new_steps > before:
                steps.append((start, end))
        steps += self.progress.take_run(found.before(len(data)), parser)
        self._take_raised(self._tracebacks.finish(), block, parser)
        self._tails.add(block, parser)
        self._kept.add(block, steps)

    def note_scheduler(self, facts: SchedulerFacts) -> None:
        """Take what accounting says of this attempt."""
        self._forget()
        self._episode.note_scheduler(facts)

    def note_job(self, run: str | None, logs: Sequence[str] | None = None) -> None:
        """Take what tells the job's family: its user and run, and where its logs are."""
        self._forget()
        self._unmatched.run, self._unmatched.logs = run, logs

    def note_dumps(self, dumps: DumpEvidence) -> None:
        """Take what the dumps of this attempt show."""
        self._forget()
        self._episode.note_dumps(dumps)

    def note_lost_end(self, file: str) -> None:
        """Take that the last part of `file` could not be read."""
        self._forget()
        self._episode.note_lost_end(file)

    def verdict(self, settings: DiagnosisSettings | None = None, *, pace: bool = True) -> Verdict:
        """Diagnose everything fed so far; feeding may go on afterwards.

        Costs nothing while nothing new was fed. Without `pace` neither stragglers nor unrecognised
        lines are looked for, which is most of the cost.
        """
        return self._judged(settings, pace=pace)[0]

    def with_lines(self, verdict: Verdict) -> Verdict:
        """Return a verdict on what was fed so far with its unrecognised lines, if it needs any."""
        if verdict.unrecognised:
            return verdict
        said = self._said or (None, False, *self._judged(None, pace=False))
        return self._with_lines(verdict, said[3])

    def teach(self, history: TemplateHistory, settings: DiagnosisSettings | None = None) -> bool:
        """Take what this attempt printed into `history`, if it ended well; say whether it did."""
        verdict, episode = self._judged(settings, pace=True)
        is_healthy = verdict.kind is Kind.BENIGN and ended_well(episode)
        return is_healthy and self._unmatched.teach(history, episode)

    def shows_failure(self) -> bool:
        """Whether the verdict could be a crash or a hang: a line, the scheduler or a silence.

        Costs a tenth of a verdict, and spares it while a job is well; nothing while nothing new
        was fed.
        """
        if self._shows_failure is None:
            self._shows_failure = (
                self._episode.shows_failure or self.progress.observed(self._tails).is_silent()
            )
        return self._shows_failure

    def _judged(self, settings: DiagnosisSettings | None, *, pace: bool) -> tuple[Verdict, Episode]:
        if self._said is None or self._said[:2] != (settings, pace):
            progress = assess(self.progress.observed(self._tails), pace=pace)
            episode = self._episode.build(progress, self._tails.ends())
            verdict = diagnose(episode, settings)
            if pace:
                verdict = self._with_foremost(verdict, episode)
            self._said = settings, pace, verdict, episode
        return self._said[2:]

    def _with_foremost(self, verdict: Verdict, episode: Episode) -> Verdict:
        """Look at more lines than are shown for the one that explains the others."""
        many = self._with_lines(verdict, episode, MAX_COMPARED)
        verdict = with_foremost(episode, many)
        return replace(verdict, unrecognised=verdict.unrecognised[:MAX_SHOWN])

    def _with_lines(self, verdict: Verdict, episode: Episode, limit: int = MAX_SHOWN) -> Verdict:
        if is_weak(episode, verdict, self._catalogue.by_id.get(verdict.rule or "")):
            return replace(verdict, unrecognised=self._unmatched.of(episode, limit=limit))
        if has_open_end(verdict, episode):
            return replace(verdict, unrecognised=self._unmatched.of(episode, Shape.FAILURE))
        return verdict

    def _forget(self) -> None:
        """Forget what was said: something new is known."""
        self._said = self._shows_failure = None

    def _take(
        self, line: LogLine, patterns: tuple[int, ...], raw: bytes, parser: LineParser
    ) -> bool:
        """Take one candidate line; return whether a traceback begins with it."""
        located = self._located.get(patterns)
        if located is None:
            if len(self._located) >= MAX_SPLITS:
                self._located.clear()
            located = self._located[patterns] = self._plan.split(patterns)
        begins_traceback = False
        if located.signatures:
            hits = self._matcher.match(line, located.signatures)
            for hit in hits:
                if hit is not hits[0] and is_generic(hit):
                    break  # another rule knows this line better, and those after say even less
                self._episode.add_hit(hit)
                begins_traceback = begins_traceback or hit.signature.id == TRACEBACK_RULE
        if located.progress or located.user_progress:
            is_step = self.progress.take(line, located)
            if is_step and not (located.markers or located.user_progress):
                self._finder.see(raw, parser)
        if located.markers:
            self.progress.take_marker(line, located.markers)
        if located.places:
            self._episode.note_place(line)
        return begins_traceback

    def _take_raised(self, raised: Sequence[Raised], block: Block, parser: LineParser) -> None:
        """Take the exceptions that tracebacks ended with."""
        for start, frame in raised:
            end = block.data.find(b"\n", start)
            raw = block.data[start : min(end if end >= 0 else len(block.data), start + MAX_TEXT)]
            text = raw.decode("utf-8", "replace")
            line = parser.parse(text, block.line_at(start), block.byte_offset_at(start))
            if frame:
                self._episode.note_frame(line, frame)
            if self._raised is not None:
                self._episode.add_hit(Hit(self._raised, line, {}))
