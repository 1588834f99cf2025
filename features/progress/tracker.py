"""Collect the progress of one attempt, in bounded memory, line by line."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from relume.features.progress.markers import Marker, MarkerKind, Phase
from relume.features.progress.numerics import Numerics, Place
from relume.features.progress.point import ProgressPoint
from relume.features.progress.series import Series

MAX_SERIES: Final = 64
"""Printers followed at once; the one silent for longest goes first."""
MAX_PRINTERS: Final = 16
"""Printers of one format followed; more ranks of the same job say the same."""
GAPS: Final = 256
"""Gaps between progress lines kept, for the usual gap."""
MAX_FILES: Final = 256
"""Files whose clocks are compared."""
SKEW: Final = 600_000_000
"""Microseconds by which a clock may fall back within a file: ranks are not in step."""
STOPPED_SECONDS: Final = 1800.0
"""Silence of the progress lines, other lines going on, before a job counts as standing still."""
LONGEST_SILENCE_SECONDS: Final = 30 * 86400.0
"""A longer one is no silence: the lines come from two runs, or a clock was never set."""
SIDE_PHASES: Final = frozenset({Phase.EVALUATION, Phase.CHECKPOINT})
COUNTED_PHASES: Final = frozenset({Phase.TRAIN, Phase.EVALUATION})
"""Phases whose points are the job's own work; bars of loading files are not."""

_Key = tuple[str, str, int | None, str, int | None]


@dataclass(slots=True)
class ProgressTracker:
    """The progress of one attempt so far.

    Feed lines in the order of the log (file by file where there are several). Times are UTC
    microseconds; null where a line has no clock. `add_clocked_line` is for lines of the job's own
    output and its wrapper's only: a kernel log goes on whatever the job does.

    Memory: at most `MAX_SERIES` printers with about a thousand samples each.
    """

    points: int = 0
    """Lines of training and evaluation progress, repeated ones included."""
    numerics: Numerics = field(default_factory=Numerics)
    last_progress: Place | None = None
    """The last line that brought a new step, of training or of evaluation."""
    progress_time: int | None = None
    """When anything last advanced; the first clock after it where the line itself has none."""
    last_clock: int | None = None
    """The latest clock of any line."""
    open_phase: Phase | None = None
    """An evaluation or a checkpoint that began and did not end."""
    started: Place | None = None
    """The first line that says that training begins (a bar at zero counts as one)."""
    last_start: Place | None = None
    """The last training bar that stood at zero."""
    markers: dict[MarkerKind, Place] = field(default_factory=dict)
    """The last marker of each kind, evaluations and checkpoints left out."""
    clocks_disagree: bool = False
    """Clocks of one file fell back by `SKEW`: two time zones, so that silences mean nothing."""
    work_time: int | None = None
    """When other work than steps was last seen since: counters of an evaluation, of an upload."""
    gaps: deque[int] = field(default_factory=lambda: deque(maxlen=GAPS))
    """Microseconds between progress lines with clocks."""
    _series: dict[_Key, Series] = field(default_factory=dict)
    _epochs: dict[_Key, Series] = field(default_factory=dict)
    _clocks: dict[str, int] = field(default_factory=dict)
    _order: int = 0
    _step: int | None = None
    _awaits_clock: bool = False

    def series(self) -> list[Series]:
        """Return the printers followed, the one that advanced last at the end."""
        return list(self._series.values())

    def add_point(
        self,
        point: ProgressPoint,
        *,
        line: int,
        file: str,
        rank: int | None = None,
        event_time: int | None = None,
    ) -> bool:
        """Take one progress line in; return whether it brought a new step of the job's own work."""
        self._order += 1
        place = Place(line, file, self._order)
        if point.phase in SIDE_PHASES:
            self._disturb(file)
        if point.is_bar and point.step == point.total and point.phase == Phase.TRAIN:
            self._note_epoch(point, line, file)
        series = self._follow(point, file, rank)
        is_new = series is not None and series.advance(
            point, line=line, file=file, event_time=event_time
        )
        if point.is_bar and point.step == 0:
            self._note_start(place, point.phase)
            is_new = counts = False
        else:
            is_new = is_new or bool(point.step is None and point.skipped)
            counts = point.phase in COUNTED_PHASES
        self.points += counts
        if is_new:
            if point.phase == Phase.TRAIN:
                self._note_numbers(point, place, series)
            self._note_progress(place if counts else None, event_time)
            if series is not None:
                series.order = self._order
        if event_time is not None:
            self._note_clock(event_time)
            self._compare_clock(event_time, file)
        return is_new and counts

    def _note_numbers(self, point: ProgressPoint, place: Place, series: Series | None) -> None:
        """Note the model's numbers; those of an evaluation are no matter of training.

        A line without a step is of the step that another printer, such as a bar, showed last.
        """
        if point.step is not None:
            self._step = point.step
        level = None if series is None else series.level
        if series is not None and level is not None:
            level.take(point.loss, place, self._step, series.segment)
        self.numerics.update(point, place, self._step, level)

    def epochs(self) -> list[Series]:
        """Return, for each bar that was filled again and again, its epochs as steps."""
        return list(self._epochs.values())

    def _note_epoch(self, point: ProgressPoint, line: int, file: str) -> None:
        """Note that a bar is full: where each epoch draws one, that is a step of its own."""
        taken = point.elapsed_seconds
        if point.step_time_seconds is not None:
            taken = point.step_time_seconds * (point.step or 0)
        if not taken:
            return
        key = (point.format, point.phase, point.total, file, None)
        if key not in self._epochs and len(self._epochs) >= MAX_PRINTERS:
            return
        series = self._epochs.setdefault(key, Series("epochs", Phase.TRAIN, is_bar=True))
        last = series.kept.last()
        if last is not None and last.printed_seconds == taken:
            return  # redrawn
        step = 1 if last is None else last.step + 1
        epoch = ProgressPoint("epochs", step=step, step_time_seconds=taken, is_bar=True)
        series.advance(epoch, line=line, file=file, event_time=None)

    def _note_start(self, place: Place, phase: str) -> None:
        """Note a bar that stands at zero: nothing was done yet."""
        self.started = self.started or place
        if phase == Phase.TRAIN:
            self.last_start = place

    def add_marker(
        self, marker: Marker, *, line: int, file: str, event_time: int | None = None
    ) -> None:
        """Take one marker line in."""
        self._order += 1
        kind, phase = marker.kind, marker.phase
        if event_time is not None:
            self._note_clock(event_time)
            self._compare_clock(event_time, file)
        if phase in SIDE_PHASES:
            self._disturb(file)
            self.open_phase = phase if kind is MarkerKind.PHASE_BEGIN else None
            return
        if kind is MarkerKind.RESTART:
            for key, series in self._series.items():
                if key[3] == file:
                    series.announce_restart()
        place = Place(line, file, self._order)
        if kind is MarkerKind.PHASE_BEGIN:
            self.started = self.started or place
        self.markers[kind] = place

    def add_clocked_line(self, event_time: int, line: int) -> None:  # noqa: ARG002
        """Note that the job's output went on at this time. `line` is for callers' symmetry."""
        self._note_clock(event_time)

    def note_work(self, event_time: int) -> None:
        """Note that something else than steps advanced at this time."""
        self.work_time = max(event_time, self.work_time or event_time)

    def silence_seconds(self) -> float | None:
        """Seconds from the last new step to the last clock of any line.

        Null without clocks, and where they disagree or lie more than a month apart.
        """
        if self.last_clock is None or self.progress_time is None or self.clocks_disagree:
            return None
        silence = max(0.0, (self.last_clock - self.progress_time) / 1e6)
        return silence if silence <= LONGEST_SILENCE_SECONDS else None

    def is_silent(self) -> bool:
        """Whether the steps have been missing for so long that the job may be standing still."""
        return (self.silence_seconds() or 0.0) >= STOPPED_SECONDS

    def _note_clock(self, event_time: int) -> None:
        if self._awaits_clock:
            self.progress_time, self._awaits_clock = event_time, False
        if self.last_clock is None or event_time > self.last_clock:
            self.last_clock = event_time

    def _compare_clock(self, event_time: int, file: str) -> None:
        latest = self._clocks.pop(file, event_time)
        self.clocks_disagree |= event_time < latest - SKEW
        if len(self._clocks) >= MAX_FILES:
            del self._clocks[next(iter(self._clocks))]
        self._clocks[file] = max(latest, event_time)

    def _note_progress(self, place: Place | None, event_time: int | None) -> None:
        if place is not None:
            self.last_progress, self.open_phase = place, None
        if event_time is None:
            self._awaits_clock = True
            return
        if self.progress_time is not None and not self._awaits_clock:
            self.gaps.append(max(0, event_time - self.progress_time))
        self._awaits_clock = False
        self.progress_time = event_time

    def _disturb(self, file: str) -> None:
        for key, series in self._series.items():
            if key[3] == file and series.phase == Phase.TRAIN:
                series.disturb()

    def _follow(self, point: ProgressPoint, file: str, rank: int | None) -> Series | None:
        """Return the series of the point's printer, null when there are too many printers."""
        key = (point.format, point.phase, point.total if point.is_bar else None, file, rank)
        series = self._series.pop(key, None)
        if series is None:
            printers = sum(known[:2] == key[:2] for known in self._series)
            if printers >= MAX_PRINTERS and rank is not None:
                return None
            if len(self._series) >= MAX_SERIES:
                del self._series[next(iter(self._series))]
            series = Series(point.format, point.phase, point.is_bar)
        self._series[key] = series
        return series
