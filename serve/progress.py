"""What the lines of one attempt say of its progress: steps, the pace, markers."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from relume.events import LogLine
from relume.features.progress.markers import MarkerKind, Phase, marker_located
from relume.features.progress.parse import parse_located
from relume.features.progress.point import ProgressPoint
from relume.features.progress.present import entered_phase, last_shown_step
from relume.features.progress.run import Run
from relume.features.progress.tracker import ProgressTracker
from relume.ingest.loglines import LineParser
from relume.models.diagnosis.builder import EpisodeBuilder
from relume.models.diagnosis.episode import ADVANCES_TO_RECOVER, number_of
from relume.models.straggler.reading import step_time
from relume.models.straggler.steps import Printer, StepTime
from relume.serve.kept import Span
from relume.serve.scanplan import Located, ScanPlan
from relume.serve.tails import Tails


class Progress:
    """Tells tracker and episode of step lines and markers. Bounded state.

    `new_steps` counts the lines that showed a new step; `first_step` and `last_step` are null
    without a number. `framework` is the format of the first of them.
    """

    def __init__(self, plan: ScanPlan, episode: EpisodeBuilder) -> None:
        self._plan, self._episode = plan, episode
        self._tracker = ProgressTracker()
        self._times: list[tuple[Printer, StepTime]] | None = None
        self.new_steps = 0
        self.framework: str | None = None
        self.first_step: int | None = None
        self.last_step: int | None = None

    @property
    def entered_phase(self) -> Phase | None:
        """The phase with legal silences that the job is in by its own words, null for none."""
        return entered_phase(self._tracker)

    @property
    def shown_step(self) -> int | None:
        """The number of the newest step, as printed; null where none is."""
        return last_shown_step(self._tracker)

    @property
    def keeps_times(self) -> bool:
        """Whether somebody asks for each step's own time: then lines are taken one by one."""
        return self._times is not None

    def step_times(self) -> list[tuple[Printer, StepTime]]:
        """Return the step times of what was taken since the last call; they are kept from then on.

        Ask after each block: they are not bounded otherwise.
        """
        times, self._times = self._times or [], []
        return times

    def take(self, line: LogLine, located: Located) -> bool:
        """Take a line that may be a step; return whether it is one."""
        forms = (self._plan.user_formats[i] for i in located.user_progress)
        read = (point for form in forms if (point := form.parse(line.text)) is not None)
        point = next(read, None) or parse_located(line.message, located.progress)
        if point is None:
            return False
        self._take_point(point, line)
        return True

    def take_run(self, run: Run | None, parser: LineParser) -> list[Span]:
        """Take step lines of known forms, as one by one; return where the last new steps are."""
        if run is None:
            return []
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
            self._episode.note_advance(_line_of(run, at, parser))
        if run.timed.any():  # later clocks without a year go by the last one that has it
            _line_of(run, np.flatnonzero(run.timed)[-1], parser)
        return [run.span(at) for at in new[-ADVANCES_TO_RECOVER:].tolist()]

    def take_marker(self, line: LogLine, patterns: Sequence[int]) -> None:
        """Take a line that may begin a phase, or end or restart the job."""
        marker = marker_located(line.message, patterns)
        if marker is None:
            return
        self._tracker.add_marker(marker, line=line.line, file=line.file, event_time=line.event_time)
        if marker.kind is MarkerKind.CLEAN_END:
            self._episode.note_clean_end(line)
        elif marker.kind is MarkerKind.RESTART:
            self._episode.note_restart(line)

    def observed(self, tails: Tails) -> ProgressTracker:
        """Return the progress with the clocks that came after it: they show a silent job."""
        tracker = copy.copy(self._tracker)  # asking must not change what is said later
        last = tracker.last_progress
        for file, tail in tails.of_job():
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

    def _take_point(self, point: ProgressPoint, line: LogLine) -> None:
        advanced = self._tracker.add_point(
            point,
            line=line.line,
            file=line.file,
            rank=number_of(line),
            event_time=line.event_time,
        )
        if advanced:
            self._episode.note_advance(line)
            self.framework = self.framework or point.format
            self.new_steps += 1
            if point.step is not None:
                self._note_reached(point.step, point.step)
            self._note_pace(line)

    def _note_pace(self, line: LogLine) -> None:
        measured = self._tracker.measured
        if self._times is None or measured is None:
            return
        step = step_time(*measured, line.event_time)
        if step is not None:
            printer = Printer(measured[0].format, line.file, number_of(line))
            self._times.append((printer, step))

    def _note_reached(self, first: int, last: int) -> None:
        self.first_step = first if self.first_step is None else self.first_step
        self.last_step = last if self.last_step is None else max(self.last_step, last)


def _line_of(run: Run, at: int, parser: LineParser) -> LogLine:
    """Parse one line of a run, in the order of the log."""
    return parser.parse(run.text(at).decode("utf-8", "replace"), int(run.lines[at]), 0)
