"""Say how an attempt advances: well, slower, irregularly, waiting for input, not any more."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import TYPE_CHECKING, Final

from relume.features.progress.clocked import STOPPED_SECONDS
from relume.features.progress.markers import MarkerKind, Phase
from relume.features.progress.measures import (
    Paces,
    paces_of,
    rates_beside,
    seconds_of,
    skip_warm_up,
    step_seconds,
)
from relume.features.progress.numerics import Place, Trouble
from relume.features.progress.pace import GATES, Finding, Gate, find_drift, find_shift
from relume.features.progress.waits import find_irregular, find_waiting

if TYPE_CHECKING:
    from relume.features.progress.numerics import Place
    from relume.features.progress.series import Series
    from relume.features.progress.tracker import ProgressTracker

STOPPED_GAPS: Final = 20.0
"""The same in usual gaps between progress lines."""
STOPPED_IN_PHASE_SECONDS: Final = 3600.0
"""The same while an evaluation or a checkpoint is open."""
IRREGULAR_SAMPLES: Final = {"printed": 6, "bar": 12}
"""Samples needed, by measure; time stamps and rates hold too much else to call a run irregular."""
MIN_GAPS: Final = 2
"""Gaps between clocked progress lines that make one usual."""
TELLING_SAMPLES: Final = 3
"""Samples below which a line format tells less than a bar."""
OPENING_TIMES: Final = 3.0
"""How many times a bar's mean so far every later stretch must take to be slow by that alone."""
DECIDING_SAMPLES: Final = 6
"""Samples with which the best printer's judgement is final, whatever lesser ones show."""


class ProgressState(StrEnum):
    """How the attempt advances."""

    NONE = "none"
    """No progress line and no sign of a start."""
    FRESH_START = "fresh_start"
    """Started or restarted, no step since."""
    ADVANCING = "advancing"
    FINISHED = "finished"
    """Came to its end by its own words, or to the last step."""
    STOPPED = "stopped"
    """Other lines go on, steps don't."""
    BUSY = "busy"
    """Steps don't go on, but other work does: a long evaluation, a checkpoint, an upload."""
    SLOWING = "slowing"
    IRREGULAR = "irregular"
    DATA_BOUND = "data_bound"

    @property
    def is_slow(self) -> bool:
        """Whether this is one of the straggler's states."""
        return self in {self.SLOWING, self.IRREGULAR, self.DATA_BOUND}


@dataclass(frozen=True, slots=True)
class ProgressAssessment:
    """How an attempt advanced. Lines are 0-based within their file; null means unknown.

    Attributes
    ----------
    state, reason
        The verdict, and the words for it.
    points
        Progress lines of training and evaluation seen.
    first_step, last_step
        As printed by the printer judged.
    last_line, last_file
        The last line that brought something new.
    step_seconds
        Median time of one step after warm-up; null when only rates are printed.
    slow_line, slow_file, slow_ratio
        First line of the slow stretch, where a person would point, and how much slower it is.
    nan_points
        Lines with a loss that is not finite (or, where no loss is printed, a gradient norm that
        is NaN).
    trouble, trouble_line, trouble_file, trouble_step, trouble_points
        What is wrong with the model's numbers at the end and lasts, where it began, the step
        printed there, and the bad lines since; null where training got over it.
    skipped_steps
        Steps given up for overflow.
    loss_scale
        The last one printed.
    restarts
        Times the step number fell back: lost work, not a fault.
    open_phase
        An evaluation or checkpoint that began and did not end.
    seconds_without_progress
        From the last new step to the last clock of any line; null without clocks, and where the
        clocks of a file disagree or lie more than a month apart.
    usual_gap_seconds
        Between progress lines; null where nothing tells.
    """

    state: ProgressState
    reason: str
    points: int = 0
    first_step: int | None = None
    last_step: int | None = None
    last_line: int | None = None
    last_file: str | None = None
    step_seconds: float | None = None
    slow_line: int | None = None
    slow_file: str | None = None
    slow_ratio: float | None = None
    nan_points: int = 0
    trouble: Trouble | None = None
    trouble_line: int | None = None
    trouble_file: str | None = None
    trouble_step: int | None = None
    trouble_points: int = 0
    skipped_steps: int = 0
    loss_scale: float | None = None
    restarts: int = 0
    open_phase: Phase | None = None
    seconds_without_progress: float | None = None
    usual_gap_seconds: float | None = None


def assess(tracker: ProgressTracker, *, pace: bool = True) -> ProgressAssessment:
    """Judge the progress collected so far. Cost: a few milliseconds at most.

    Without `pace` whether steps became slower isn't looked at, which costs a tenth: what advances
    is ADVANCING then.

    Examples
    --------
    >>> from relume.features.progress import ProgressTracker, parse_progress
    >>> tracker = ProgressTracker()
    >>> for line, ms in enumerate((412, 413, 411, 412, 830, 842)):
    ...     point = parse_progress(f"iter {100 + line}: loss 3.1, time {ms}.00ms")
    ...     is_new = tracker.add_point(point, line=line, file="log")
    >>> verdict = assess(tracker)
    >>> verdict.state, verdict.slow_line
    (<ProgressState.SLOWING: 'slowing'>, 4)
    """
    judged = _judged_series(tracker)
    state, reason, finding = _judge(tracker, judged, pace=pace)
    best = judged[0] if judged else None
    numerics, last = tracker.numerics, tracker.last_progress
    trouble, stretch = numerics.trouble() or (None, None)
    began = stretch.first if stretch else None
    return ProgressAssessment(
        state=state,
        reason=reason,
        points=tracker.points,
        first_step=best.first_step if best else None,
        last_step=best.last_step if best else None,
        last_line=last.line if last else None,
        last_file=last.file if last else None,
        step_seconds=step_seconds(best) if best else None,
        slow_line=finding.at.line if finding else None,
        slow_file=finding.at.file if finding else None,
        slow_ratio=finding.ratio if finding else None,
        nan_points=numerics.nan_points,
        trouble=trouble,
        trouble_line=began.line if began else None,
        trouble_file=began.file if began else None,
        trouble_step=stretch.step if stretch else None,
        trouble_points=stretch.points if stretch else 0,
        skipped_steps=max(numerics.skipped_steps, numerics.skipped_total),
        loss_scale=numerics.loss_scale,
        restarts=max((series.restarts for series in judged), default=0),
        open_phase=tracker.open_phase,
        seconds_without_progress=tracker.silence_seconds(),
        usual_gap_seconds=_usual_gap(tracker, judged) or None,
    )


_Judgement = tuple[ProgressState, str, Finding | None]


def _judge(tracker: ProgressTracker, judged: list[Series], *, pace: bool) -> _Judgement:
    restart = tracker.markers.get(MarkerKind.RESTART)
    last = tracker.last_progress
    if last is None:
        if restart is None and tracker.started is None:
            return ProgressState.NONE, "no progress line was seen", None
        return ProgressState.FRESH_START, "it started, and no step was seen since", None
    end = (_look_at_epochs(tracker) if pace else None) or _look_at_end(tracker, judged)
    if end is not None:
        return end
    if restart is not None and restart.order > last.order:
        return ProgressState.FRESH_START, "it started again, and no step was seen since", None
    stop = _look_for_stop(tracker, judged)
    if stop is not None or not pace:
        return stop or (ProgressState.ADVANCING, "steps go on", None)
    return _judge_pace(judged)


def _look_at_end(tracker: ProgressTracker, judged: list[Series]) -> _Judgement | None:
    end = _find_end(tracker, judged)
    return None if end is None else (ProgressState.FINISHED, end, None)


def _find_end(tracker: ProgressTracker, judged: list[Series]) -> str | None:
    last, end = tracker.last_progress, tracker.markers.get(MarkerKind.CLEAN_END)
    restart = tracker.markers.get(MarkerKind.RESTART)
    if end is not None and end.order > max(_order(last), _order(restart)):
        return "the job says that it came to its end"
    newest = max(judged, key=lambda series: series.order, default=None)
    if newest is None or not newest.is_whole or _order(tracker.last_start) > _order(last):
        return None
    return f"step {newest.last_step} of {newest.total} is done"


def _order(place: Place | None) -> int:
    return 0 if place is None else place.order


def _look_for_stop(tracker: ProgressTracker, judged: list[Series]) -> _Judgement | None:
    silence = tracker.silence_seconds()
    if silence is None or tracker.last_clock is None:
        return None
    least = STOPPED_SECONDS if tracker.open_phase is None else STOPPED_IN_PHASE_SECONDS
    least = max(least, STOPPED_GAPS * _usual_gap(tracker, judged))
    if silence < least:
        return None
    minutes = f"no step for {silence / 60.0:.0f} minutes"
    if tracker.work_time is not None and (tracker.last_clock - tracker.work_time) / 1e6 < least:
        return ProgressState.BUSY, f"{minutes}, but other work goes on in the log", None
    where = f" after an open {tracker.open_phase}" if tracker.open_phase else ""
    return ProgressState.STOPPED, f"{minutes}{where} while other lines go on", None


def _usual_gap(tracker: ProgressTracker, judged: list[Series]) -> float:
    """Return the usual seconds between progress lines; a step's time where lines have no clock."""
    if len(tracker.gaps) >= MIN_GAPS:
        return median(tracker.gaps) / 1e6
    for series in judged:
        spans = [
            sample.steps * seconds
            for sample in series.kept.samples()
            if sample.steps and (seconds := seconds_of(sample, is_bar=series.is_bar)) is not None
        ]
        if spans:
            return median(spans)
    return (step_seconds(judged[0]) if judged else None) or 0.0


def _judged_series(tracker: ProgressTracker) -> list[Series]:
    """Return the best training printer of each format, the most telling format first.

    A printed time tells more than a bar; of bars, the one that ran longest is the training's.
    """
    best: dict[str, Series] = {}
    for series in tracker.series():
        if series.phase == Phase.TRAIN and series.order > 0:
            known = best.get(series.format)
            if known is None or _weight(series) > _weight(known):
                best[series.format] = series
    return sorted(best.values(), key=_weight, reverse=True)


def _weight(series: Series) -> tuple[bool, bool, float]:
    samples = series.kept.samples()
    printed = sum(
        sample.printed_seconds is not None or sample.rate is not None for sample in samples
    )
    if series.is_bar:
        spent = sum((sample.elapsed_delta or 0.0) * sample.steps for sample in samples)
        return False, False, spent
    return len(samples) >= TELLING_SAMPLES, printed * 2 > len(samples), float(len(samples))


def _judge_pace(judged: list[Series]) -> _Judgement:
    for series in judged:
        paces = paces_of(series)
        if paces is None:
            continue
        steady, rates = skip_warm_up(paces), rates_beside(series)
        verdict = _look_at_opening(series, paces)
        if verdict is not None:
            return verdict
        for look in (_look_for_waiting, _look_for_shift, _look_for_irregular, _look_for_drift):
            verdict = look(paces, steady, rates)
            if verdict is not None:
                return verdict
        if len(steady.values) >= DECIDING_SAMPLES:
            break
    return ProgressState.ADVANCING, "steps go on at a usual pace", None


def _look_at_epochs(tracker: ProgressTracker) -> _Judgement | None:
    """Judge the epochs that bars were drawn for; of several bars the one with the most time."""
    found = [paces for series in tracker.epochs() if (paces := paces_of(series)) is not None]
    if not found or MarkerKind.CLEAN_END in tracker.markers:
        return None
    paces = max(found, key=lambda paces: sum(paces.values))
    for gate in GATES["bar"]:
        finding = find_shift(paces, gate)
        if finding is not None:
            return ProgressState.SLOWING, _slower(finding), finding
    return None


def _look_for_waiting(_: Paces, steady: Paces, __: Paces | None) -> _Judgement | None:
    finding = find_waiting(steady)
    if finding is None:
        return None
    return ProgressState.DATA_BOUND, "most of each step is spent waiting for input", finding


def _look_for_shift(_: Paces, steady: Paces, second: Paces | None) -> _Judgement | None:
    for gate in GATES[steady.measure]:
        finding = find_shift(steady, gate)
        if finding is not None and (second is None or _agrees(second, finding, gate)):
            return ProgressState.SLOWING, _slower(finding), finding
    return None


def _look_at_opening(series: Series, paces: Paces) -> _Judgement | None:
    """Compare a bar with its own mean up to the first line seen, where every step since is slow."""
    opening, values = series.opening, paces.values
    if opening is None or len(values) < TELLING_SAMPLES or series.segment:
        return None
    if min(values) < OPENING_TIMES * opening:
        return None
    finding = Finding(paces.samples[0], median(values) / opening)
    return ProgressState.SLOWING, _slower(finding), finding


def _look_for_irregular(paces: Paces, steady: Paces, _: Paces | None) -> _Judgement | None:
    least = IRREGULAR_SAMPLES.get(steady.measure)
    if least is None or len(steady.values) < least:
        return None
    finding = find_irregular(steady, paces)
    if finding is None:
        return None
    words = f"steps take {finding.ratio:.1f} times the usual time again and again"
    return ProgressState.IRREGULAR, words, finding


def _look_for_drift(_: Paces, steady: Paces, second: Paces | None) -> _Judgement | None:
    if steady.measure not in {"printed", "rate", "epoch"} or second is not None:
        return None
    finding = find_drift(steady)
    return None if finding is None else (ProgressState.SLOWING, _slower(finding), finding)


def _slower(finding: Finding) -> str:
    return f"steps take {finding.ratio:.2f} times as long since step {finding.at.step}"


def _agrees(second: Paces, finding: Finding, gate: Gate) -> bool:
    """Whether the printed rate fell where the printed time rose: a larger batch is not slower."""
    before = [
        value
        for value, sample in zip(second.values, second.samples, strict=True)
        if sample.line < finding.at.line
    ]
    after = second.values[len(before) :]
    if not before or not after:
        return True
    return median(after) >= (1.0 + (gate.ratio - 1.0) / 2.0) * median(before)
