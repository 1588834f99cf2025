from __future__ import annotations

import itertools

import pytest

from relume.features.progress.point import ProgressPoint
from relume.features.progress.samples import (
    HEAD_SAMPLES,
    MIDDLE_SAMPLES,
    TAIL_SAMPLES,
    Sample,
    Thinned,
)
from relume.features.progress.series import Series


def advance(series: Series, *steps: int, **fields: float) -> list[bool]:
    return [
        series.advance(
            ProgressPoint("x", step=step, **fields),  # type: ignore[arg-type]
            line=number,
            file="log",
            event_time=None,
        )
        for number, step in enumerate(steps)
    ]


def bar(series: Series, *states: tuple[int, float]) -> list[bool]:
    return [
        series.advance(
            ProgressPoint("tqdm", step=step, total=100, elapsed_seconds=elapsed, is_bar=True),
            line=number,
            file="log",
            event_time=None,
        )
        for number, (step, elapsed) in enumerate(states)
    ]


def test_a_repeated_step_brings_nothing() -> None:
    assert advance(Series("x", "train", is_bar=False), 1, 1, 2, 2, 1, 3) == [
        True, False, True, False, False, True,
    ]  # fmt: skip


def test_late_ranks_are_no_restart() -> None:
    series = Series("x", "train", is_bar=False)
    advance(series, 10, 9, 8, 11, 10, 9, 12, 11, 11, 10, 13)
    assert (series.restarts, series.segment, series.last_step) == (0, 0, 13)
    assert [sample.step for sample in series.kept.samples()] == [10, 11, 12, 13]


def test_steps_that_fall_back_and_grow_are_a_restart() -> None:
    series = Series("x", "train", is_bar=False)
    assert advance(series, 100, 101, 90, 91, 92, 93) == [True, True, False, False, True, True]
    assert (series.restarts, series.segment, series.last_step) == (1, 1, 93)
    assert series.first_step == 100


def test_an_announced_restart_needs_no_second_step() -> None:
    series = Series("x", "train", is_bar=False)
    advance(series, 100, 101)
    series.announce_restart()
    assert advance(series, 90, 91) == [True, True]
    assert (series.restarts, series.segment) == (1, 1)
    assert [sample.steps for sample in series.kept.samples()] == [0, 1, 0, 1]


def test_a_restart_announced_before_the_first_step_is_the_start() -> None:
    series = Series("x", "train", is_bar=False)
    series.announce_restart()
    advance(series, 100, 101)
    assert (series.restarts, series.segment) == (0, 0)


def test_epochs_count_before_steps() -> None:
    series = Series("x", "train", is_bar=False)
    for number, (epoch, step) in enumerate([(0, 8), (0, 9), (1, 1), (0, 10), (1, 2)]):
        series.advance(
            ProgressPoint("x", step=step, epoch=epoch, epoch_bar=True),
            line=number,
            file="log",
            event_time=None,
        )
    samples = series.kept.samples()
    assert [sample.line for sample in samples] == [0, 1, 2, 4]
    assert [sample.disturbed for sample in samples] == [False, False, True, False]
    assert (series.segment, series.restarts, series.epoch_bar) == (0, 0, True)


def test_a_bar_is_measured_over_ten_seconds_at_least() -> None:
    series = Series("tqdm", "train", is_bar=True)
    bar(series, (1, 3.0), (2, 6.0), (3, 9.0), (4, 12.0), (5, 15.0), (7, 26.0))
    samples = series.kept.samples()
    assert [sample.step for sample in samples] == [1, 5, 7]
    assert [sample.elapsed_delta for sample in samples] == [None, 3.0, 5.5]


def test_bars_of_several_processes_do_not_go_back() -> None:
    series = Series("tqdm", "train", is_bar=True)
    bar(
        series,
        (50, 145),
        (48, 146),
        (50, 148),
        (49, 148),
        (51, 149),
        (50, 150),
        (49, 152),
        (52, 152),
    )
    assert (series.segment, series.restarts, series.last_step) == (0, 0, 52)


def test_a_bar_whose_clock_fell_starts_anew() -> None:
    series = Series("tqdm", "train", is_bar=True)
    bar(series, (90, 900.0), (100, 1000.0), (1, 10.0), (2, 20.0))
    assert (series.segment, series.restarts, series.last_step) == (1, 0, 2)


def test_a_finished_epoch_shows_its_own_pace() -> None:
    series = Series("tqdm", "train", is_bar=True)
    for epoch, elapsed in ((0, 200.0), (1, 210.0), (2, 600.0)):
        series.advance(
            ProgressPoint(
                "tqdm",
                step=100,
                total=100,
                epoch=epoch,
                elapsed_seconds=elapsed,
                is_bar=True,
                epoch_bar=True,
            ),
            line=epoch,
            file="log",
            event_time=None,
        )
    assert [s.elapsed_delta for s in series.kept.samples()] == [None, 2.1, 6.0]
    assert not any(s.disturbed for s in series.kept.samples())


def test_intervals_and_clocks_are_per_step() -> None:
    series = Series("x", "train", is_bar=False)
    for number, step in enumerate((100, 200, 300)):
        series.advance(
            ProgressPoint("x", step=step, interval_seconds=50.0, elapsed_seconds=60.0 * number),
            line=number,
            file="log",
            event_time=number * 80_000_000,
        )
    last = series.kept.samples()[-1]
    assert (last.steps, last.printed_seconds, last.elapsed_delta, last.clock_delta) == (
        100,
        0.5,
        0.6,
        0.8,
    )


def test_a_metric_line_belongs_to_the_step_before() -> None:
    series = Series("olmo", "train", is_bar=False)
    advance(series, 7)
    point = ProgressPoint("olmo", rate=1200.0)
    assert not series.advance(point, line=2, file="log", event_time=None)
    assert series.kept.samples()[0].rate == 1200.0
    other = ProgressPoint("olmo", rate=1.0, loss=2.0)
    assert series.advance(other, line=3, file="log", event_time=None)
    assert series.kept.samples()[0].rate == 1200.0


def test_dicts_with_an_epoch_only_advance_by_it() -> None:
    series = Series("hf_trainer", "train", is_bar=False)
    said = [
        series.advance(
            ProgressPoint("hf_trainer", epoch=epoch, loss=1.0), line=0, file="log", event_time=None
        )
        for epoch in (0.01, 0.01, 0.02, 0.01)
    ]
    assert said == [True, True, True, False]
    series.announce_restart()
    point = ProgressPoint("hf_trainer", epoch=0.01)
    assert series.advance(point, line=0, file="log", event_time=None)


def test_a_disturbed_stretch_is_marked_once() -> None:
    series = Series("x", "train", is_bar=False)
    advance(series, 1)
    series.disturb()
    advance(series, 2, 3)
    assert [sample.disturbed for sample in series.kept.samples()] == [False, True, False]


@pytest.mark.parametrize("count", [0, 1, HEAD_SAMPLES, HEAD_SAMPLES + TAIL_SAMPLES, 20_000])
def test_the_first_and_the_last_samples_are_kept(count: int) -> None:
    kept = Thinned()
    for step in range(count):
        kept.append(Sample(step))
    steps = [sample.step for sample in kept.samples()]
    assert steps == sorted(set(steps))
    assert steps[:HEAD_SAMPLES] == list(range(min(count, HEAD_SAMPLES)))
    assert steps[-TAIL_SAMPLES:] == list(range(count))[-TAIL_SAMPLES:]
    assert len(kept) == len(steps) <= HEAD_SAMPLES + MIDDLE_SAMPLES + TAIL_SAMPLES
    last = kept.last()
    assert (last.step if last else None) == (count - 1 if count else None)


def test_what_lies_between_is_thinned_evenly() -> None:
    kept = Thinned()
    for step in range(20_000):
        kept.append(Sample(step))
    middle = [s.step for s in kept.samples()[HEAD_SAMPLES:-TAIL_SAMPLES]]
    gaps = [after - before for before, after in itertools.pairwise(middle)]
    assert max(gaps) <= 2 * min(gaps)
    assert len(middle) >= MIDDLE_SAMPLES // 2
