"""Collect the progress of one attempt, in bounded memory, line by line."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Final

import numpy as np

from relume.features.progress.clocked import Clocked
from relume.features.progress.markers import Marker, MarkerKind, Phase
from relume.features.progress.numerics import Numerics, Place, is_point_nan
from relume.features.progress.point import ProgressPoint
from relume.features.progress.samples import Sample
from relume.features.progress.series import Series

if TYPE_CHECKING:
    from relume.features.progress.run import Flags, Integers, Run

MAX_SERIES: Final = 64
"""Printers followed at once; the one silent for longest goes first."""
MAX_PRINTERS: Final = 16
"""Printers of one format followed; more ranks of the same job say the same."""
MIN_STEADY: Final = 32
"""Lines that are worth being taken together; after fewer, ever more get a look of their own."""
SIDE_PHASES: Final = frozenset({Phase.EVALUATION, Phase.CHECKPOINT})
COUNTED_PHASES: Final = frozenset({Phase.TRAIN, Phase.EVALUATION})
"""Phases whose points are the job's own work; bars of loading files are not."""

_Key = tuple[str, str, int | None, str, int | None]


@dataclass(slots=True)
class ProgressTracker(Clocked):
    """The progress of one attempt so far.

    Feed lines in the order of the log (file by file where there are several).

    Memory: at most `MAX_SERIES` printers with about a thousand samples each.
    """

    points: int = 0
    """Lines of training and evaluation progress, repeated ones included."""
    numerics: Numerics = field(default_factory=Numerics)
    last_progress: Place | None = None
    """The last line that brought a new step, of training or of evaluation."""
    open_phase: Phase | None = None
    """An evaluation or a checkpoint that began and did not end."""
    started: Place | None = None
    """The first line that says that training begins (a bar at zero counts as one)."""
    last_start: Place | None = None
    """The last training bar that stood at zero."""
    markers: dict[MarkerKind, Place] = field(default_factory=dict)
    """The last marker of each kind, evaluations and checkpoints left out."""
    measured: tuple[Series, Sample] | None = None
    """The stretch that the last point closed, and whose it is; null when it closed none."""
    _series: dict[_Key, Series] = field(default_factory=dict)
    _epochs: dict[_Key, Series] = field(default_factory=dict)
    _order: int = 0
    _step: int | None = None

    def __copy__(self) -> ProgressTracker:
        """Return another one with the same parts: a fifth of the time that any class takes."""
        copied = object.__new__(type(self))
        for name in _NAMES:
            setattr(copied, name, getattr(self, name))
        return copied

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
        self.measured = None if series is None or not is_new else series.measured(line)
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
            if counts:
                self.last_progress, self.open_phase = place, None
            self._note_progress_time(event_time)
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

    def _disturb(self, file: str) -> None:
        for key, series in self._series.items():
            if key[3] == file and series.phase == Phase.TRAIN:
                series.disturb()

    def _follow(self, point: ProgressPoint, file: str, rank: int | None) -> Series | None:
        """Return the series of the point's printer, null when there are too many printers."""
        key = _key(point, file, rank)
        series = self._series.pop(key, None)
        if series is None:
            if self._is_passed_over(key):
                return None
            if len(self._series) >= MAX_SERIES:
                del self._series[next(iter(self._series))]
            series = Series(point.format, point.phase, point.is_bar)
        self._series[key] = series
        return series

    def _is_passed_over(self, key: _Key) -> bool:
        """Whether enough other ranks say the same as a printer that isn't followed yet."""
        return key[-1] is not None and sum(k[:2] == key[:2] for k in self._series) >= MAX_PRINTERS

    def add_run(self, run: Run) -> Flags:
        """Take step lines in, as `add_point` does one by one; return which brought a new step."""
        advanced = np.zeros(len(run), np.bool_)
        at, alone = 0, 1
        while at < len(run):
            taken = self._add_steady(run[at:], advanced[at:]) if len(run) - at >= MIN_STEADY else 0
            at, alone = at + taken, 1 if taken >= MIN_STEADY else 2 * alone
            for line in range(at, min(at + alone, len(run))):
                advanced[line] = self._add_line(run, line)
            at += alone
        return advanced

    def _add_line(self, run: Run, at: int) -> bool:
        point, event_time = run.read(at)
        rank, line = run.wording(at).rank, int(run.lines[at])
        return self.add_point(point, line=line, file=run.file, rank=rank, event_time=event_time)

    def _add_steady(self, run: Run, advanced: Flags) -> int:
        """Take the lines before the first that needs a look of its own; return how many."""
        followed = {index: self._steady(run, index) for index in np.unique(run.which).tolist()}
        stops = np.zeros(len(run), np.bool_)
        if unsteady := [index for index, key in followed.items() if key is None]:
            stops |= np.isin(run.which, unsteady)
        stops |= _is_start_or_end(run)
        for index in followed:
            if run.wordings[index].point.skipped_total:
                at = np.flatnonzero(run.which == index)
                stops[at] |= self.numerics.skips(run.wordings[index].point, run.steps[at])
        lines: dict[_Key, Integers] = {}
        for key in {key for key in followed.values() if key in self._series}:
            owned = [index for index, other in followed.items() if other == key]
            is_all = len(owned) == len(followed)
            at = np.arange(len(run)) if is_all else np.flatnonzero(np.isin(run.which, owned))
            lines[key] = at
            order = self._series[key].compare(run.steps[at])
            advanced[at] = order > 0
            stops[at] |= order < 0
            jump = self._series[key].first_jump(run, at[order > 0])
            if jump is not None:
                stops[jump] = True
        size = int(stops.argmax()) if stops.any() else len(run)
        advanced[size:] = False
        if size:
            self._take_steady(run[:size], advanced[:size], lines)
        return size

    def _take_steady(self, run: Run, new: Flags, lines: dict[_Key, Integers]) -> None:
        before, last = self._order, dict[_Key, int]()
        self._order += len(run)
        self.points += len(run)
        for key, owned in lines.items():
            at = owned[owned < len(run)]
            if (ahead := at[new[at]]).size:
                self._series[key].advance_run(run, ahead)
                self._series[key].order = before + 1 + int(ahead[-1])
            if at.size:
                last[key] = int(at[-1])
        for key in sorted(last, key=last.__getitem__):  # the one that was seen last goes last
            self._series[key] = self._series.pop(key)
        for reached in _last_of_each(run.which, new):
            place = Place(int(run.lines[reached]), run.file, before + 1 + reached)
            self._step = int(run.steps[reached])
            wording = run.wording(reached)
            series = self._series[_key(wording.point, run.file, wording.rank)]
            self.numerics.update(wording.point, place, self._step, series.level)
            self.last_progress, self.open_phase = place, None
        self._note_times(run, new)

    def _steady(self, run: Run, index: int) -> _Key | None:
        """Return whose lines those of a wording are, null where each needs a look of its own."""
        wording = run.wordings[index]
        point, key = wording.point, _key(wording.point, run.file, wording.rank)
        is_plain = point.phase == Phase.TRAIN and not (point.skipped or is_point_nan(point))
        if not is_plain or point.step is None or self.numerics.collapsed.points:
            return None
        series = self._series.get(key)
        is_steady = self._is_passed_over(key) if series is None else series.is_steady(point)
        return key if is_steady else None


_NAMES: Final = tuple(one.name for one in fields(ProgressTracker))


def _key(point: ProgressPoint, file: str, rank: int | None) -> _Key:
    return point.format, point.phase, point.total if point.is_bar else None, file, rank


def _is_start_or_end(run: Run) -> Flags:
    """Whether a bar stands at zero or is full."""
    if not any(wording.point.is_bar for wording in run.wordings):
        return np.zeros(len(run), np.bool_)
    totals = [w.point.total if w.point.is_bar else None for w in run.wordings]
    ends = np.array([-1 if total is None else total for total in totals])[run.which]
    is_bar = np.array([wording.point.is_bar for wording in run.wordings])[run.which]
    flags: Flags = is_bar & ((run.steps == 0) | (run.steps == ends))
    return flags


def _last_of_each(which: Integers, flags: Flags) -> list[int]:
    """Return the last flagged position of each wording, in rising order."""
    at = np.flatnonzero(flags)[::-1]
    return sorted(at[np.unique(which[at], return_index=True)[1]].tolist())
