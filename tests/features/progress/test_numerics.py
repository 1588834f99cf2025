"""What goes wrong with a model's numbers, and lasts; what training survives is nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import pytest

from relume.features.progress.assess import ProgressAssessment
from relume.features.progress.numerics import JUMPED_POINTS, LASTING_POINTS, Trouble
from relume.features.progress.point import ProgressPoint
from relume.features.progress.tracker import ProgressTracker

Feed = Callable[[Iterable[str]], ProgressAssessment]


def track(points: Iterable[ProgressPoint]) -> ProgressTracker:
    tracker = ProgressTracker()
    for line, point in enumerate(points):
        tracker.add_point(point, line=line, file="log")
    return tracker


def losses(*values: float, start: int = 1) -> list[ProgressPoint]:
    return [ProgressPoint("plain", step=start + n, loss=loss) for n, loss in enumerate(values)]


def found(points: Iterable[ProgressPoint]) -> tuple[Trouble, int, int | None] | None:
    """Return what is wrong, the line where it began, and the step printed there."""
    trouble = track(points).numerics.trouble()
    if trouble is None:
        return None
    assert trouble[1].first is not None
    return trouble[0], trouble[1].first.line, trouble[1].step


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_loss_that_stays_no_number_is_told_from_its_first_bad_step(bad: float) -> None:
    assert found(losses(2.0, 2.0, bad, bad)) is None
    assert found(losses(2.0, 2.0, bad, bad, bad)) == (Trouble.NOT_FINITE, 2, 3)


def test_training_that_goes_on_with_numbers_has_survived() -> None:
    bad = [math.nan] * LASTING_POINTS
    assert found(losses(2.0, *bad, 2.1)) is None
    again = losses(2.0, *bad, 2.1, 2.0, *bad)
    assert found(again) == (Trouble.NOT_FINITE, len(bad) + 3, len(bad) + 4)


def test_an_evaluation_without_numbers_is_none_of_training() -> None:
    evaluations = [
        ProgressPoint("eval", step=n, loss=math.nan, phase="evaluation") for n in range(1, 20)
    ]
    assert found(evaluations) is None


def test_a_gradient_norm_counts_where_no_loss_is_printed() -> None:
    points = [ProgressPoint("plain", step=n, grad_norm=math.nan) for n in range(1, 5)]
    assert found(points) == (Trouble.NOT_FINITE, 0, 1)
    beside = [ProgressPoint("plain", step=n, loss=2.0, grad_norm=math.nan) for n in range(1, 5)]
    assert found(beside) is None
    overflows = [ProgressPoint("plain", step=n, grad_norm=math.inf) for n in range(1, 5)]
    assert found(overflows) is None


def test_the_step_of_a_line_without_one_is_the_bars() -> None:
    points = [
        one
        for step in range(5, 9)
        for one in (
            ProgressPoint("bar", step=step, total=99, is_bar=True),
            ProgressPoint("dict", loss=math.nan, epoch=step / 10),
        )
    ]
    assert found(points) == (Trouble.NOT_FINITE, 1, 5)


def overflow(scale: float) -> ProgressPoint:
    return ProgressPoint("overflow", skipped=1, loss_scale=scale)


def test_overflows_at_the_lowest_loss_scale_are_a_collapse() -> None:
    falling = [overflow(2.0**n) for n in range(16, 0, -1)]
    assert found(falling) is None  # the search for a scale
    assert found([*falling, *[overflow(1.0)] * 3]) == (Trouble.SCALE_COLLAPSED, 16, None)


def test_a_scaler_that_finds_its_scale_is_well() -> None:
    collapsed = [overflow(1.0)] * 3
    assert found([*collapsed, ProgressPoint("plain", step=9, loss=2.0, loss_scale=2.0)]) is None
    assert found([*collapsed, ProgressPoint("plain", step=9, loss=2.0, skipped=0)]) is None
    assert found([*collapsed, *losses(*[2.0] * 8)]) is None
    rare = [one for n in range(9) for one in (overflow(1.0), *losses(*[2.0] * 9, start=9 * n + 1))]
    assert found(rare) is None


def test_half_of_the_steps_skipped_is_no_training() -> None:
    def at(step: int, skipped: int) -> ProgressPoint:
        return ProgressPoint("deepspeed", step=step, skipped_total=skipped)

    assert found([at(40, 30), at(100, 60)]) is None
    assert found([at(100, 60), at(200, 150), at(300, 250)]) == (Trouble.STEPS_SKIPPED, 1, 200)
    assert found([at(200, 150), at(400, 150)]) is None


CALM = [2.0, 2.2, 1.9, 2.1] * 40


def test_a_loss_that_jumps_and_stays_there_has_lost_the_model() -> None:
    up = [7.0, 6.8] * (JUMPED_POINTS // 2)
    assert found(losses(*CALM, *up)) == (Trouble.LOSS_JUMPED, 160, 161)


@pytest.mark.parametrize(
    "later",
    [
        [7.0] * (JUMPED_POINTS - 1),  # not for long
        [7.0] * 30 + [2.0] + [7.0] * 30,  # it comes back
        [3.9] * 200,  # harder data
        [2.0 + n / 50 for n in range(200)],  # it climbs
    ],
)
def test_a_spike_that_recovers_and_a_slow_rise_are_none(later: list[float]) -> None:
    assert found(losses(*CALM, *later)) is None


def test_a_new_beginning_has_its_own_level() -> None:
    """A second run in the same log starts where its loss is high again."""
    low = losses(*[0.5] * 200, start=5000)
    assert found([*low, *losses(*[9.0] * 100)]) is None


def test_losses_below_zero_have_no_level() -> None:
    assert found(losses(*[-2.0] * 200, *[4.0] * 100)) is None


def test_frameworks_print_it_in_their_own_words(feed: Feed) -> None:
    megatron = [
        f" iteration {n:8}/  9000 | elapsed time per iteration (ms): 900.0 | lm loss: "
        f"{'NAN' if n > 3 else '2.1E+00'} | loss scale: 1.0 | grad norm: 0.8 | number of skipped "
        "iterations:   0 | number of nan iterations:   0 |"
        for n in range(1, 8)
    ]
    nemo = [
        f"Training epoch 0, iteration {n}/999 | lr: 1e-06 | global_batch_size: 8 | global_step: {n}"
        f" | reduced_train_loss: {'nan' if n > 3 else 9.1} | train_step_timing in s: 1.2"
        for n in range(1, 8)
    ]
    hf = [
        f"{{'loss': {'nan' if n > 3 else 1.5}, 'grad_norm': 0.4, 'learning_rate': 1e-05, "
        f"'epoch': {n / 100}}}"
        for n in range(1, 8)
    ]
    for lines in (megatron, nemo, hf):
        verdict = feed(lines)
        assert (verdict.trouble, verdict.trouble_line) == (Trouble.NOT_FINITE, 3)
        assert (verdict.trouble_points, verdict.nan_points) == (4, 4)
    assert feed(megatron).trouble_step == 4


def test_memory_does_not_grow_with_the_log() -> None:
    numerics = track(losses(*CALM, *[math.nan] * 5000)).numerics
    assert numerics.not_finite.points == 5000
    assert numerics.trouble() is not None
