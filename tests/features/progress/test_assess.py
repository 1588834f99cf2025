from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

import pytest

from relume.features.progress.assess import ProgressAssessment, ProgressState
from relume.features.progress.markers import Phase
from relume.features.progress.numerics import Trouble

Feed = Callable[[Iterable[str]], ProgressAssessment]
START = datetime.fromisoformat("2024-05-01T10:00:00")


def at(minutes: float) -> str:
    return (START + timedelta(minutes=minutes)).strftime("%Y-%m-%d %H:%M:%S")


def nanogpt(milliseconds: Sequence[float], first: int = 1000) -> list[str]:
    return [f"iter {first + i}: loss 3.1, time {ms:.2f}ms" for i, ms in enumerate(milliseconds)]


def megatron(seconds: Sequence[float], batch: Sequence[int], first: int = 5000) -> list[str]:
    return [
        f" iteration {first + i:8d}/  90000 | elapsed time per iteration (ms): {s * 1000:.1f} |"
        f" global batch size: {b:5d} | lm loss: 2.1E+00 |"
        for i, (s, b) in enumerate(zip(seconds, batch, strict=True))
    ]


def bars(seconds: Sequence[float], total: int = 1000) -> list[str]:
    lines, elapsed = [], 0.0
    for number, step in enumerate(seconds, start=1):
        elapsed += step
        clock = f"{int(elapsed) // 60:02d}:{int(elapsed) % 60:02d}"
        lines.append(f"  1%|▏ | {number}/{total} [{clock}<9:59:59, {step:.2f}s/it]")
    return lines


def test_nothing_at_all(feed: Feed) -> None:
    verdict = feed(["Loading modules", "done"])
    assert (verdict.state, verdict.points) == (ProgressState.NONE, 0)
    assert verdict.seconds_without_progress is None


@pytest.mark.parametrize(
    "lines",
    [
        ["***** Running training *****", "  Num Epochs = 4", "  0%|     | 0/1200 [00:00<?, ?it/s]"],
        ["  0%|     | 0/1200 [00:00<?, ?it/s]"],
        ["Starting with JobEnvironment(job_id=7, hostname=node001)"],
        [*nanogpt([400.0] * 5), "Requeued job 7 (3 remaining timeouts)"],
        [*nanogpt([400.0] * 5), "will restart worker group", "Loading checkpoint shards: 50%"],
    ],
)
def test_a_start_without_a_step(feed: Feed, lines: list[str]) -> None:
    assert feed(lines).state is ProgressState.FRESH_START


def test_a_steady_run_advances(feed: Feed) -> None:
    verdict = feed(nanogpt([402.0, 403.1, 401.5, 402.8, 401.5, 407.3]))
    assert verdict.state is ProgressState.ADVANCING
    assert (verdict.points, verdict.first_step, verdict.last_step) == (6, 1000, 1005)
    assert (verdict.last_line, verdict.last_file) == (5, "log")
    assert verdict.step_seconds == pytest.approx(0.4024, rel=0.01)
    assert (verdict.slow_line, verdict.slow_file, verdict.slow_ratio) == (None, None, None)


def test_one_line_is_an_advance(feed: Feed) -> None:
    verdict = feed([" 12%|█▏ | 310/52000 [3:10:20<530:00:10, 36.90s/it, loss=2.7, v_num=]"])
    assert (verdict.state, verdict.last_step) == (ProgressState.ADVANCING, 310)


def test_evaluation_lines_alone_are_an_advance(feed: Feed) -> None:
    lines = [f"| valid | epoch 002 | loss 2.5 | wer 20.0 | num_updates {n}000" for n in (27, 30)]
    assert feed(lines).state is ProgressState.ADVANCING
    assert feed(["Retrying in 1s [Retry 1/5].", "{'eval_loss': 5.27}"]).state is (
        ProgressState.ADVANCING
    )


@pytest.mark.parametrize(
    "end",
    [
        "{'train_runtime': 273.0, 'epoch': 1.0}",
        "[after training is done] datetime: 2024-05-01 10:30:00",
    ],
)
def test_a_clean_end(feed: Feed, end: str) -> None:
    verdict = feed([*nanogpt([562.0] * 4), end])
    assert verdict.state is ProgressState.FINISHED


def test_an_end_of_an_earlier_run_is_none(feed: Feed) -> None:
    lines = [*nanogpt([562.0] * 4), "training finished", *nanogpt([562.0] * 4, first=2000)]
    assert feed(lines).state is ProgressState.ADVANCING
    again = [*nanogpt([562.0] * 4), "training finished", "Resuming training from step 1003"]
    assert feed(again).state is ProgressState.FRESH_START


def test_the_last_step_of_all_is_an_end(feed: Feed) -> None:
    assert feed(bars([12.0] * 8, total=8)).state is ProgressState.FINISHED
    next_bar = [*bars([12.0] * 8, total=8), "  0%|   | 0/8 [00:00<?, ?it/s]"]
    assert feed(next_bar).state is ProgressState.ADVANCING
    epoch = [f"Epoch 0: {line}" for line in bars([12.0] * 8, total=8)]
    assert feed(epoch).state is ProgressState.ADVANCING


@pytest.mark.parametrize(
    ("lines", "slow_line"),
    [
        (nanogpt([560.0, 561.0, 562.0, 561.0, 840.0, 838.0]), 4),
        (megatron([92.1, 92.2, 92.9, 97.3, 97.5], [2048] * 5), 3),
        (
            [
                f"Epoch[0] Batch [{50 * i + 49}]\tSpeed: {speed} samples/sec\taccuracy=0.1"
                for i, speed in enumerate((640.2, 641.0, 639.8, 638.1, 310.4, 95.2))
            ],
            4,
        ),
        (bars([12.0] * 12 + [26.0] * 5), 12),
        (
            [f"{at(2 * i)} INFO step={10 * i}, skipped=0, lr=[0.1]" for i in range(1, 10)]
            + [
                f"{at(18 + 9 * i)} INFO step={90 + 10 * i}, skipped=0, lr=[0.1]"
                for i in range(1, 5)
            ],
            9,
        ),
    ],
    ids=["printed", "small", "rate", "bar", "clock"],
)
def test_slowing(feed: Feed, lines: list[str], slow_line: int) -> None:
    verdict = feed(lines)
    assert verdict.state is ProgressState.SLOWING
    assert verdict.state.is_slow
    assert (verdict.slow_line, verdict.slow_file) == (slow_line, "log")
    assert verdict.slow_ratio is not None
    assert f"{verdict.slow_ratio:.2f} times" in verdict.reason


@pytest.mark.parametrize(
    "lines",
    [
        nanogpt([60000.0, 900.0, 562.0, 563.0, 562.0], first=0),
        nanogpt([562.0] * 12 + [561.0, 590.0]),
        nanogpt([900.0 - 30 * i for i in range(12)]),
        megatron([10.0] * 6 + [20.0] * 6, [512] * 6 + [1024] * 6),
        [
            f"completed step: {i}, seconds: {s}, TFLOP/s/device: 1.0, loss: 1.0"
            for i, s in enumerate((38.1, 0.2, 4.7, 4.4, 4.6, 4.5, 4.4))
        ],
        [
            f"Step {i} | loss:1.7 lr:2e-05 tokens_per_second_per_gpu:{rate}"
            for i, rate in enumerate((61.0, 390.0, 640.0, 470.0, 400.0, 600.0, 430.0, 370.0))
        ],
        [
            f"mmengine - INFO - Epoch(train)  [1][{i}/800]  eta: 1:00:00  time: {t}  data_time: {d}"
            for i, t, d in ((1, 24.1, 22.9), (2, 13.2, 12.1), (3, 9.6, 8.5))
        ],
    ],
    ids=["warm-up", "one", "faster", "ramp-up", "dispatch", "lengths", "running-mean"],
)
def test_what_looks_slow_and_is_not(feed: Feed, lines: list[str]) -> None:
    verdict = feed(lines)
    assert verdict.state is ProgressState.ADVANCING
    assert verdict.slow_line is None


def test_an_evaluation_inside_a_step_is_not_slow(feed: Feed) -> None:
    lines = []
    for first in (1000, 1004, 1008, 1012):
        lines += ["step 1000: train loss 2.4, val loss 2.5", *nanogpt([2400.0], first)]
        lines += nanogpt([560.0, 561.0, 562.0], first + 1)
    tail = ["step 1016: train loss 2.4, val loss 2.5", *nanogpt([2400.0], 1016)]
    assert feed([*lines, *tail]).state is ProgressState.ADVANCING


def test_another_batch_size_hides_no_slow_node(feed: Feed) -> None:
    lines = megatron([10.0] * 6 + [14.0] * 6, [512] * 12)
    assert feed(lines).state is ProgressState.SLOWING


def test_a_restart_begins_a_new_baseline(feed: Feed) -> None:
    before, after = nanogpt([560.0] * 8), nanogpt([840.0] * 8, first=1002)
    verdict = feed([*before, *after])
    assert verdict.state is ProgressState.ADVANCING
    assert verdict.restarts == 1
    marked = feed([*before, "loading checkpoint from /scratch/run", *after])
    assert marked.state is ProgressState.ADVANCING


def test_a_drift(feed: Feed) -> None:
    assert feed(nanogpt([500.0 + 5 * i for i in range(18)])).state is ProgressState.ADVANCING
    assert feed(nanogpt([500.0 + 40 * i for i in range(18)])).state is ProgressState.SLOWING


def test_irregular(feed: Feed) -> None:
    seconds = (900.0, 51.0, 40.2, 3.1, 38.8, 3.4, 41.5, 3.0, 39.9, 3.2)
    lines = [
        f"INFO - Epoch: 1/12, Step: {i}/640, Lr: 0.0, Loss: 3.2, Time/step: {s}"
        for i, s in enumerate(seconds, start=1)
    ]
    verdict = feed(lines)
    assert (verdict.state, verdict.slow_line) == (ProgressState.IRREGULAR, 0)


def test_data_bound(feed: Feed) -> None:
    lines = [
        f"Epoch: [0][{100 * i}/5005]\tTime 3.102 (3.2)\tData 2.801 (2.9)\tLoss 6.9 (6.9)"
        for i in range(1, 5)
    ]
    verdict = feed(lines)
    assert (verdict.state, verdict.slow_line) == (ProgressState.DATA_BOUND, 0)


def test_steps_stop_while_a_wrapper_goes_on(feed: Feed) -> None:
    beats = [f"[{at(60 * hour)}] PULSE: run7 is running for 2-03:10:20" for hour in range(4)]
    verdict = feed([*megatron([105.0] * 3, [2048] * 3), *beats])
    assert verdict.state is ProgressState.STOPPED
    assert verdict.seconds_without_progress == 3 * 3600
    assert "180 minutes" in verdict.reason
    assert feed([*megatron([105.0] * 3, [2048] * 3), beats[0]]).state is ProgressState.ADVANCING


def test_clocks_of_two_time_zones_tell_no_silence(feed: Feed) -> None:
    lines = []
    for i in range(1, 6):
        lines += [
            f"{at(i)} iter {i}: loss 3.1, time 60000.00ms",
            f"[{at(300 + i)}] PULSE: run7 is running for 2-03:10:20",
        ]
    verdict = feed(lines)
    assert verdict.state is ProgressState.ADVANCING
    assert verdict.seconds_without_progress is None


def test_a_silence_of_years_is_another_run(feed: Feed) -> None:
    steps = [f"{at(i)} iter {i}: loss 3.1, time 60000.00ms" for i in range(1, 6)]
    verdict = feed([*steps, f"{at(60 * 24 * 900)} something else"])
    assert verdict.state is ProgressState.ADVANCING
    assert verdict.seconds_without_progress is None


def test_an_open_evaluation_may_take_longer(feed: Feed) -> None:
    steps = [f"{at(i)} iter {i}: loss 3.1, time 60000.00ms" for i in range(1, 6)]
    opened = [f"{at(5)} ** Starting validation **", f"{at(50)} still there"]
    assert feed([*steps, *opened]).state is ProgressState.ADVANCING
    assert feed([*steps, *opened]).open_phase is Phase.EVALUATION
    assert feed([*steps, opened[1]]).state is ProgressState.STOPPED
    later = feed([*steps, *opened, f"{at(90)} still there"])
    assert later.state is ProgressState.STOPPED
    assert "evaluation" in later.reason


def test_rare_progress_lines_stop_late(feed: Feed) -> None:
    steps = [f"{at(23 * i)} epoch: 1 | nupdates: {i}000 | bch(ms): 620.0" for i in range(1, 5)]
    assert feed([*steps, f"{at(92 + 60)} memory report"]).state is ProgressState.ADVANCING
    assert feed([*steps, f"{at(92 + 500)} memory report"]).state is ProgressState.STOPPED


def test_numbers_of_the_model(feed: Feed) -> None:
    lines = ["iter 1: loss 3.1, time 9.00ms"]
    lines += [f"iter {n}: loss nan, time 9.00ms" for n in (2, 3, 4)]
    verdict = feed([*lines, "OVERFLOW! Skipping step. Attempted loss scale: 512.0"])
    assert (verdict.nan_points, verdict.trouble_points) == (3, 3)
    assert (verdict.trouble_line, verdict.trouble_file, verdict.trouble_step) == (1, "log", 2)
    assert verdict.trouble is Trouble.NOT_FINITE
    assert (verdict.skipped_steps, verdict.loss_scale) == (1, 512.0)
    assert verdict.state is ProgressState.ADVANCING


def test_a_clock_of_the_job_is_not_a_step_time(feed: Feed) -> None:
    lines = [f"step {100 * i} loss 2.0 time {61.0 * i:.1f}" for i in range(1, 12)]
    verdict = feed(lines)
    assert verdict.state is ProgressState.ADVANCING
    assert verdict.step_seconds == pytest.approx(0.61)


@pytest.mark.parametrize(
    "times",
    [
        [61.0, 61.2, 60.9, 61.1, 61.0, 61.3],  # of a step
        [1.0, 2.0, 3.0],  # too few to tell
        [1.0, 2.0, 30.0, 31.0, 99.0, 99.5],  # grows by leaps
    ],
)
def test_a_step_time_is_not_a_clock_of_the_job(feed: Feed, times: list[float]) -> None:
    lines = [f"step {1000 + i} loss 2.0 time {time}" for i, time in enumerate(times)]
    assert feed(lines).step_seconds == pytest.approx(sorted(times)[len(times) // 2], rel=0.6)


def test_per_epoch_bars_that_take_longer(feed: Feed) -> None:
    lines = [
        f"Epoch {epoch}: 100%|██████████| 500/500 [{minutes:02d}:00<00:00,  1.00it/s]"
        for epoch, minutes in enumerate([8] * 10 + [17, 18, 18, 19])
    ]
    verdict = feed(lines)
    assert (verdict.state, verdict.slow_line) == (ProgressState.SLOWING, 10)


def test_the_best_printer_decides(feed: Feed) -> None:
    lines: list[str] = []
    for step, bar in zip(nanogpt([560.0] * 12), bars([12.0] * 6 + [60.0] * 6), strict=True):
        lines += [step, bar]
    assert feed(lines).state is ProgressState.ADVANCING
