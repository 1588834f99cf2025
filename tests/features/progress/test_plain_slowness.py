"""Slow runs that only a whole epoch, a bar's own mean or the parts of a step can show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pytest

from relume.features.progress.assess import ProgressAssessment, ProgressState
from relume.features.progress.parse import parse_progress

DLLOGGER = (
    "DLL 2021-05-01 10:00:00.120112 - Epoch: 0 Iteration: 100  train.loss : 6.9"
    "  train.total_ips : 601.2 images/s train.data_time : 0.3 s train.compute_time : 0.1 s"
)
Feed = Callable[[Iterable[str]], ProgressAssessment]


def epochs(seconds: Sequence[float]) -> list[str]:
    return [f"Epoch {i} took {s:.1f}s, loss 2.0" for i, s in enumerate(seconds, start=1)]


def full_bars(seconds: Sequence[int]) -> list[str]:
    return [
        f"  {i}/90  4.2G  0.91: 100%|██████| 900/900 [{s // 60:02d}:{s % 60:02d}<00:00,  1.00it/s]"
        for i, s in enumerate(seconds, start=1)
    ]


def late_bar(seconds: Sequence[int], *, step: int = 3000, elapsed: int = 6000) -> list[str]:
    lines = []
    for number, second in enumerate(seconds):
        elapsed += second
        clock = f"{elapsed // 3600}:{elapsed // 60 % 60:02d}:{elapsed % 60:02d}"
        lines.append(f" 30%|███   | {step + number}/9000 [{clock}<9:59:59, {second:.2f}s/it]")
    return lines


@pytest.mark.parametrize(
    ("lines", "first_slow"),
    [
        (epochs([120, 121, 120, 300, 310, 305]), 3),
        (epochs([60.0, 72.0, 85.0, 99.0, 118.0, 140.0, 166.0]), 4),
        (full_bars([190, 186, 187, 720, 780, 760]), 3),
        (late_bar([2, 2, 2, 46, 51, 51, 48]), 3),
        ([f"iter {i}00, loss 4.1, {i * 0.3:.2f} s/iter" for i in range(1, 8)], 4),
    ],
    ids=["epochs", "growing epochs", "full bars", "late bar", "growing steps"],
)
def test_plain_slowdowns(feed: Feed, lines: list[str], first_slow: int) -> None:
    verdict = feed(lines)
    assert (verdict.state, verdict.slow_line) == (ProgressState.SLOWING, first_slow)


@pytest.mark.parametrize(
    "lines",
    [
        epochs([300, 120, 121, 120, 122, 121]),
        epochs([120, 121, 120, 150, 152, 151]),
        full_bars([190, 186, 187, 226, 236, 230]),
        full_bars([187] * 8),
        late_bar([1, 12, 13, 12, 12], step=5000, elapsed=310),
        [f"Epoch {i} | loss 2.1 | time {60 + 60 * i}.2s" for i in range(1, 7)],
        [f"step {i}00 loss 3.1 time {9.4 if i % 4 == 0 else 0.4}s" for i in range(1, 13)],
    ],
    ids=["first epoch", "few layers more", "longer bars", "ranks", "resumed", "clock", "evals"],
)
def test_what_is_no_slowdown(feed: Feed, lines: list[str]) -> None:
    assert not feed(lines).state.is_slow


def test_stalls_of_short_steps_count_line_by_line(feed: Feed) -> None:
    lines = [f"step {i} loss 3.1 time {9.4 if i % 3 == 0 else 0.4}s" for i in range(100, 113)]
    assert feed(lines).state is ProgressState.IRREGULAR


@pytest.mark.parametrize(
    ("line", "step_seconds", "wait"),
    [
        ("step 9 | loss 4.1 | data 2.0s | fwd 0.2s | bwd 0.4s", 2.6, 2.0),
        ("step 9 | loss 4.1 | data 2.0s | fwd 0.2s | bwd 0.4s | total 2.9s", 2.9, 2.0),
        (
            "Train Epoch: 0 [ 512/9000 (4%)]  Data (t): 3.1 Batch (t): 3.8, 144/s Loss: 8.1",
            3.8,
            3.1,
        ),
        ("step 40 BT 1.021 (1.312) DT 0.511 (0.201) loss 9.12", 1.021, 0.511),
        (DLLOGGER, 0.4, 0.3),
    ],
)
def test_the_parts_of_a_step(line: str, step_seconds: float, wait: float) -> None:
    point = parse_progress(line)
    assert point is not None
    assert point.step_time_seconds == pytest.approx(step_seconds)
    assert point.data_seconds == pytest.approx(wait)


def test_a_second_line_completes_the_step_before(feed: Feed) -> None:
    lines = []
    for step, seconds in enumerate([41.0, 41.2, 41.1, 41.0, 98.0, 99.0, 98.5], start=4):
        lines.append(f"[session 1][epoch  2][iter  {step}00/9000] loss: 0.81, lr: 1.00e-03")
        lines.append(f"\t\t\tfg/bg=(41/471), time cost: {seconds}")
    verdict = feed(lines)
    assert (verdict.state, verdict.slow_line) == (ProgressState.SLOWING, 8)
