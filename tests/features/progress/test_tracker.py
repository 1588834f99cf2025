from __future__ import annotations

import math

from relume.features.progress.clocked import MAX_FILES
from relume.features.progress.markers import Marker, MarkerKind, Phase
from relume.features.progress.point import ProgressPoint
from relume.features.progress.tracker import MAX_PRINTERS, MAX_SERIES, ProgressTracker

MINUTE = 60_000_000
EVALUATES = Marker(MarkerKind.PHASE_BEGIN, Phase.EVALUATION)
EVALUATED = Marker(MarkerKind.PHASE_END, Phase.EVALUATION)


def step(number: int, **fields: object) -> ProgressPoint:
    return ProgressPoint("x", step=number, **fields)  # type: ignore[arg-type]


def test_points_say_whether_they_brought_something_new() -> None:
    tracker = ProgressTracker()
    assert tracker.add_point(step(1), line=0, file="log")
    assert not tracker.add_point(step(1), line=1, file="log")
    assert tracker.add_point(step(2), line=2, file="log")
    assert tracker.points == 3
    assert tracker.last_progress is not None
    assert (tracker.last_progress.line, tracker.last_progress.file) == (2, "log")


def test_bars_of_loading_are_no_progress_of_the_job() -> None:
    tracker = ProgressTracker()
    shards = ProgressPoint("tqdm", step=1, total=4, is_bar=True, phase="launch")
    assert not tracker.add_point(shards, line=0, file="log", event_time=MINUTE)
    assert (tracker.points, tracker.last_progress) == (0, None)
    assert tracker.progress_time == MINUTE


def test_a_bar_at_zero_is_a_start_only() -> None:
    tracker = ProgressTracker()
    start = ProgressPoint("tqdm", step=0, total=9, is_bar=True, elapsed_seconds=0.0)
    assert not tracker.add_point(start, line=3, file="log")
    assert (tracker.points, tracker.last_progress) == (0, None)
    assert tracker.started is not None
    assert tracker.started.line == 3


def test_progress_without_a_clock_takes_the_next_one() -> None:
    tracker = ProgressTracker()
    tracker.add_clocked_line(MINUTE, 0)
    tracker.add_point(step(1), line=1, file="log")
    tracker.add_clocked_line(7 * MINUTE, 2)
    tracker.add_clocked_line(9 * MINUTE, 3)
    assert (tracker.progress_time, tracker.last_clock) == (7 * MINUTE, 9 * MINUTE)


def test_clocks_that_fall_back_do_not_move_the_end() -> None:
    tracker = ProgressTracker()
    tracker.add_clocked_line(9 * MINUTE, 0)
    tracker.add_clocked_line(MINUTE, 1)
    assert tracker.last_clock == 9 * MINUTE


def test_gaps_between_progress_lines() -> None:
    tracker = ProgressTracker()
    for number in range(4):
        tracker.add_point(step(number + 1), line=number, file="log", event_time=number * MINUTE)
    tracker.add_point(step(5), line=5, file="log")
    tracker.add_point(step(6), line=6, file="log", event_time=60 * MINUTE)
    assert list(tracker.gaps) == [MINUTE] * 3


def test_an_evaluation_disturbs_the_steps_of_its_file() -> None:
    tracker = ProgressTracker()
    for file in ("a", "b"):
        tracker.add_point(step(1), line=0, file=file)
    tracker.add_marker(EVALUATES, line=1, file="a")
    assert tracker.open_phase is Phase.EVALUATION
    for file in ("a", "b"):
        tracker.add_point(step(2), line=2, file=file)
    assert tracker.open_phase is None
    marked = {s.last_file: [k.disturbed for k in s.kept.samples()] for s in tracker.series()}
    assert marked == {"a": [False, True], "b": [False, False]}


def test_a_phase_ends() -> None:
    tracker = ProgressTracker()
    tracker.add_marker(EVALUATES, line=1, file="a", event_time=MINUTE)
    tracker.add_marker(EVALUATED, line=2, file="a", event_time=2 * MINUTE)
    assert tracker.open_phase is None
    assert tracker.last_clock == 2 * MINUTE


def test_evaluation_points_disturb_too() -> None:
    tracker = ProgressTracker()
    tracker.add_point(step(1), line=0, file="log")
    tracker.add_point(step(1, phase="evaluation"), line=1, file="log")
    tracker.add_point(step(2), line=2, file="log")
    train = next(series for series in tracker.series() if series.phase == "train")
    assert [sample.disturbed for sample in train.kept.samples()] == [False, True]


def test_restarts_are_announced_to_the_printers_of_the_file() -> None:
    tracker = ProgressTracker()
    for file in ("a", "b"):
        tracker.add_point(step(100), line=0, file=file)
    tracker.add_marker(Marker(MarkerKind.RESTART, Phase.LAUNCH), line=1, file="a")
    assert tracker.add_point(step(90), line=2, file="a")
    assert not tracker.add_point(step(90), line=2, file="b")


def test_numerics() -> None:
    tracker = ProgressTracker()
    tracker.add_point(step(1, loss=2.0, loss_scale=8.0), line=0, file="log")
    tracker.add_point(step(2, loss=math.nan, skipped=1), line=1, file="log")
    tracker.add_point(step(2, loss=math.nan, skipped=1), line=2, file="log")
    tracker.add_point(step(3, grad_norm=math.nan, skipped_total=7), line=3, file="log")
    numerics = tracker.numerics
    assert (numerics.nan_points, numerics.skipped_steps, numerics.skipped_total) == (2, 1, 7)
    assert numerics.not_finite.first is not None
    assert (numerics.not_finite.first.line, numerics.loss_scale) == (1, 8.0)
    tracker.add_point(step(4, loss=2.0), line=4, file="log")
    assert numerics.not_finite.points == 0


def test_an_overflowing_gradient_beside_a_loss_is_ordinary() -> None:
    tracker = ProgressTracker()
    tracker.add_point(step(1, loss=2.0, grad_norm=math.nan), line=0, file="log")
    tracker.add_point(step(2, grad_norm=math.inf), line=1, file="log")
    assert (tracker.numerics.nan_points, tracker.numerics.not_finite.points) == (0, 0)


def test_two_time_zones_in_one_file_are_noticed() -> None:
    tracker = ProgressTracker()
    beat = Marker(MarkerKind.HEARTBEAT, Phase.TRAIN)
    tracker.add_point(step(1), line=0, file="a", event_time=100 * MINUTE)
    tracker.add_marker(beat, line=1, file="a", event_time=400 * MINUTE)
    tracker.add_point(step(1), line=0, file="b", event_time=100 * MINUTE)
    assert not tracker.clocks_disagree
    tracker.add_point(step(2), line=2, file="a", event_time=101 * MINUTE)
    assert tracker.clocks_disagree


def test_clocks_of_many_files_are_bounded() -> None:
    tracker = ProgressTracker()
    beat = Marker(MarkerKind.HEARTBEAT, Phase.TRAIN)
    for number in range(2 * MAX_FILES):
        tracker.add_marker(beat, line=0, file=f"rank{number}", event_time=MINUTE)
    assert len(tracker._clocks) == MAX_FILES  # noqa: SLF001


def test_overflow_lines_without_a_step_count() -> None:
    tracker = ProgressTracker()
    overflow = ProgressPoint("overflow", skipped=1, loss_scale=4.0)
    assert tracker.add_point(overflow, line=0, file="log")
    assert tracker.add_point(overflow, line=1, file="log")
    assert tracker.numerics.skipped_steps == 2


def test_ranks_beyond_the_bound_are_not_followed() -> None:
    tracker = ProgressTracker()
    news = [tracker.add_point(step(1), line=rank, file="log", rank=rank) for rank in range(1000)]
    assert sum(news) == len(tracker.series()) == MAX_PRINTERS
    assert tracker.points == 1000


def test_the_printer_silent_for_longest_goes_first() -> None:
    tracker = ProgressTracker()
    for number in range(MAX_SERIES + 9):
        tracker.add_point(ProgressPoint(f"format{number}", step=1), line=number, file="log")
        tracker.add_point(ProgressPoint("main", step=number + 1), line=number, file="log")
    formats = [series.format for series in tracker.series()]
    assert len(formats) == MAX_SERIES
    assert formats[-1] == "main"
    assert "format0" not in formats
