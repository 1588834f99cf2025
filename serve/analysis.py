"""One attempt under analysis: blocks go in as they are read, a verdict can be asked at any time."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from relume.events import LogLine
from relume.features.progress.assess import ProgressAssessment, assess
from relume.features.progress.markers import MarkerKind, Phase, marker_located
from relume.features.progress.parse import parse_located
from relume.features.progress.point import ProgressPoint
from relume.features.progress.present import entered_phase, last_shown_step
from relume.features.progress.run import Run
from relume.features.progress.tracker import ProgressTracker
from relume.ingest.blocks import Block
from relume.ingest.loglines import LineParser
from relume.models.collectives.evidence import DumpEvidence
from relume.models.diagnosis.builder import EpisodeBuilder
from relume.models.diagnosis.consequences import is_generic
from relume.models.diagnosis.diagnose import diagnose
from relume.models.diagnosis.episode import ADVANCES_TO_RECOVER, Episode, SchedulerFacts
from relume.models.diagnosis.foremost import MAX_COMPARED, is_weak, with_foremost
from relume.models.diagnosis.own import ended_well
from relume.models.diagnosis.settings import DiagnosisSettings
from relume.models.diagnosis.unexplained import has_open_end
from relume.models.signatures.hit import Hit
from relume.models.straggler.reading import step_time
from relume.models.straggler.steps import Printer, StepTime
from relume.models.templates.history import TemplateHistory
from relume.models.templates.shapes import Shape
from relume.models.templates.unrecognised import MAX_SHOWN
from relume.serve.kept import KeptLines, Span
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
    and the ends of the logs. `new_steps` counts the lines that showed a new step; `first_step` and
    `last_step` are null without a number. `framework` is the format of the first of them.
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
        self._tracker = ProgressTracker()
        self._tails = Tails()
        self._tracebacks = RaisedFinder()
        self._kept = KeptLines()
        self._located: dict[tuple[int, ...], Located] = {}
        self._unmatched = Unmatched(self._kept, self._tails, scanner, history)
        self._said: tuple[DiagnosisSettings | None, bool, Verdict, Episode] | None = None
        self._shows_failure: bool | None = None
        self._steps: list[tuple[Printer, StepTime]] | None = None
        self.new_steps = 0
        self.framework: str | None = None
        self.first_step: int | None = None
        self.last_step: int | None = None

    def feed(self, block: Block, parser: LineParser) -> None:
        """Scan one block of whole lines."""
        self._forget()
        self._episode.note_file(block.file, parser.stream)
        self._episode.note_form(parser.stream)
        data, parse = block.data, parser.parse
        self._tracebacks.begin(block, parser)
        found, read = self._finder.find(block, parser), -1
        steps: list[Span] = []
        for start, end, patterns in sorted(self._rules.scan(data) + found.candidates):
            if start != read:  # else both scans found this line
                if self._tracebacks.is_open:
                    self._take_raised(self._tracebacks.until(start), block, parser)
                raw = data[start : min(end, start + MAX_TEXT)]
                text = raw.decode("utf-8", "replace")
                line = parse(text, block.line_at(start), block.byte_offset_at(start))
                read = start
            if patterns[-1] >= self._plan.steps_from:
                steps += self._take_run(found.before(start), parser)
            before = self.new_steps
            if self._take(line, patterns, raw, parser):
                self._tracebacks.follow(end + 1, line)
            if self.new_steps > before:
                steps.append((start, end))
        steps += self._take_run(found.before(len(data)), parser)
        self._take_raised(self._tracebacks.finish(), block, parser)
        self._tails.add(block, parser)
        self._kept.add(block, steps)

    @property
    def entered_phase(self) -> Phase | None:
        """The phase with legal silences that the job is in by its own words, null for none."""
        return entered_phase(self._tracker)

    @property
    def shown_step(self) -> int | None:
        """The number of the newest step, as printed; null where none is."""
        return last_shown_step(self._tracker)

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
            self._shows_failure = self._episode.shows_failure or self._observed().is_silent()
        return self._shows_failure

    def _judged(self, settings: DiagnosisSettings | None, *, pace: bool) -> tuple[Verdict, Episode]:
        if self._said is None or self._said[:2] != (settings, pace):
            episode = self._episode.build(self._assess(pace=pace), self._tails.ends())
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

    def _assess(self, *, pace: bool) -> ProgressAssessment:
        return assess(self._observed(), pace=pace)

    def _observed(self) -> ProgressTracker:
        """Return the progress with the clocks that came after it: they show a silent job."""
        tracker = copy.copy(self._tracker)  # asking must not change what is said later
        last = tracker.last_progress
        for file, tail in self._tails.of_job():
            line = self._episode.last_advance(file)
            if line is None and last is not None:
                continue  # a log without steps beside one that has them: it says nothing of steps
            since = -1 if line is None else line
            for time in tail.clocks_after(since) or ():
                tracker.add_clocked_line(time, since)
            work = tail.work_time(since) if tracker.is_silent() else None
            if work is not None:
                tracker.note_work(work)
        return tracker

    def step_times(self) -> list[tuple[Printer, StepTime]]:
        """Return the step times of what was fed since the last call; they are kept from the first.

        Ask after each block: they are not bounded otherwise.
        """
        steps, self._steps = self._steps or [], []
        return steps

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
            is_step = self._take_progress(line, located)
            if is_step and not (located.markers or located.user_progress):
                self._finder.see(raw, parser)
        if located.markers:
            self._take_marker(line, located.markers)
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

    def _take_run(self, run: Run | None, parser: LineParser) -> list[Span]:
        """Take step lines of known forms, as one by one; return where the last new steps are."""
        if run is None:
            return []
        if self._steps is not None:  # each step's own time is asked for
            points = ((at, run.read(at)[0]) for at in range(len(run)))
            taken = ((at, self._take_point(p, self._line_of(run, at, parser))) for at, p in points)
            return [run.span(at) for at, is_new in taken if is_new]
        new = np.flatnonzero(self._tracker.add_run(run))
        timed = new[run.timed[new]]
        if new.size:
            self.framework = self.framework or run.wording(int(new[0])).point.format
            self.new_steps += len(new)
            self._note_reached(int(run.steps[new[0]]), int(run.steps[new].max()))
        if timed.size:
            first = timed[run.times[timed].argmin()]
            self._episode.note_time(int(run.times[timed].max()))
            self._episode.note_clock(parser.look(run.text(first).decode("utf-8", "replace"), 0, 0))
        for at in sorted({*new[-ADVANCES_TO_RECOVER:], *timed[-ADVANCES_TO_RECOVER:]}):
            self._episode.note_advance(self._line_of(run, at, parser))
        if run.timed.any():  # later clocks without a year go by the last one that has it
            self._line_of(run, np.flatnonzero(run.timed)[-1], parser)
        return [run.span(at) for at in new[-ADVANCES_TO_RECOVER:].tolist()]

    def _line_of(self, run: Run, at: int, parser: LineParser) -> LogLine:
        """Parse one line of a run, in the order of the log."""
        return parser.parse(run.text(at).decode("utf-8", "replace"), int(run.lines[at]), 0)

    def _take_progress(self, line: LogLine, located: Located) -> bool:
        """Take a line that may be a step; return whether it is one."""
        forms = (self._plan.user_formats[i] for i in located.user_progress)
        read = (point for form in forms if (point := form.parse(line.text)) is not None)
        point = next(read, None) or parse_located(line.message, located.progress)
        if point is None:
            return False
        self._take_point(point, line)
        return True

    def _take_point(self, point: ProgressPoint, line: LogLine) -> bool:
        """Take a step line; return whether it brought a new step."""
        advanced = self._tracker.add_point(
            point,
            line=line.line,
            file=line.file,
            rank=line.rank if line.rank is not None else line.task,
            event_time=line.event_time,
        )
        if advanced:
            self._episode.note_advance(line)
            self.framework = self.framework or point.format
            self.new_steps += 1
            if point.step is not None:
                self._note_reached(point.step, point.step)
            self._note_pace(line)
        return advanced

    def _note_pace(self, line: LogLine) -> None:
        measured = self._tracker.measured
        if self._steps is None or measured is None:
            return
        step = step_time(*measured, line.event_time)
        if step is not None:
            rank = line.rank if line.rank is not None else line.task
            self._steps.append((Printer(measured[0].format, line.file, rank), step))

    def _note_reached(self, first: int, last: int) -> None:
        self.first_step = first if self.first_step is None else self.first_step
        self.last_step = last if self.last_step is None else max(self.last_step, last)

    def _take_marker(self, line: LogLine, patterns: Sequence[int]) -> None:
        marker = marker_located(line.message, patterns)
        if marker is None:
            return
        self._tracker.add_marker(marker, line=line.line, file=line.file, event_time=line.event_time)
        if marker.kind is MarkerKind.CLEAN_END:
            self._episode.note_clean_end(line)
        elif marker.kind is MarkerKind.RESTART:
            self._episode.note_restart(line)
