from __future__ import annotations

import pytest

from relume.features.progress.formats.bars import label_phase
from relume.features.progress.parse import parse_progress

BARS: tuple[tuple[str, dict[str, object]], ...] = (
    (
        " 25%|██▌       | 3/9 [04:10<08:20, 83.40s/it]",
        {"step": 3, "total": 9, "elapsed_seconds": 250.0, "rate": 1 / 83.4, "rate_unit": "it/s"},
    ),
    (" 80%|████████  | 8000/10000 [1:20:00<20:00, 1.67it/s]", {"step": 8000, "rate": 1.67}),
    ("  0%|          | 0/1200 [00:00<?, ?it/s]", {"step": 0, "rate": None, "phase": "train"}),
    ("  5%|▌   | 40/800 [1 day, 2:00:30<19:00:00, 2340.00s/it]", {"elapsed_seconds": 93630.0}),
    ("1234it [00:10, 120.31it/s]", {"step": 1234, "total": None, "rate": 120.31}),
    (
        " 10%|█ | 1.2k/12.0k [00:10<01:30, 120batch/s]",
        {"step": 1200, "total": 12000, "rate": 120.0},
    ),
    (
        "Epoch 3:   3%|▎         | 200/9000 [1:40:00<73:20:00,  1.90it/s, loss=3.11, v_num=]",
        {"epoch": 3.0, "epoch_bar": True, "step": 200, "loss": 3.11},
    ),
    (
        (
            "Epoch 0: :   0%|          | 500/90000 [0:20:10<60:00:00, v_num=, reduced_train_loss=3.4,"
            " global_step=2e+3, train_step_timing in s=2.500]"
        ),
        {"step": 500, "rate": None, "loss": 3.4, "step_time_seconds": 2.5},
    ),
    (
        "| epoch 004:   0%| | 70/9000 [03:10<6:44:00,  2.71s/it, loss=0.000, ppl=1.00, wps=0,",
        {"epoch": 4.0, "step": 70, "total": 9000},
    ),
    (
        " 40%|████ | 4/10 [08:00<12:00, 120s/it]slurmstepd: error: *** JOB 7 CANCELLED ***",
        {"step": 4, "rate": 1 / 120},
    ),
    ("  8/8 [00:04<00:00,  2.00it/s]{'train_runtime': 4.1}", {"step": 8, "total": 8}),
    ("Map:  50%|█████ | 500/1000 [00:01<00:01, 480.11 examples/s]", {"phase": "launch"}),
    ("Generating train split: 1200 examples [00:02, 600.11 examples/s]", {"phase": "launch"}),
    ("Validation DataLoader 0:  50%|███ | 8/16 [00:04<00:04, 2.00it/s]", {"phase": "evaluation"}),
    (
        " 50% (45 of 90) |#########          | Elapsed Time: 0:00:21 ETA:   0:00:21",
        {"format": "progressbar", "step": 45, "total": 90, "elapsed_seconds": 21.0},
    ),
    (
        "1875/1875 [==============================] - 5s 3ms/step - loss: 0.2101 - accuracy: 0.93",
        {"format": "keras", "step": 1875, "step_time_seconds": 0.003, "loss": 0.2101},
    ),
    (
        "120/1875 ━━━━━━━━━━━━━━━━━━━━ 1:10 40ms/step - accuracy: 0.41 - loss: 2.1034",
        {"format": "keras", "step": 120, "step_time_seconds": 0.04},
    ),
    (
        "Epoch 2/9  ━━━━━━━━━━ 12/100 0:01:05 • 0:00:40 2.30it/s v_num: 0 train_loss: 1.202",
        {"format": "rich_bar", "epoch": 2.0, "elapsed_seconds": 65.0, "rate": 2.3},
    ),
    (
        (
            "ctdet/run |##   | train: [12][4000/14000]|Tot: 1:02:10 |ETA: 5:33:20 |loss 2.1000"
            " |Data 2.104s(0.310s) |Net 0.902s"
        ),
        {"format": "centernet", "step": 4000, "step_time_seconds": 2.0, "data_seconds": 2.104},
    ),
)


@pytest.mark.parametrize(("line", "expected"), BARS, ids=range(len(BARS)))
def test_bars(line: str, expected: dict[str, object]) -> None:
    point = parse_progress(line)
    assert point is not None
    assert point.is_bar
    read = {name: getattr(point, name) for name in expected}
    assert read == {
        name: pytest.approx(value) if isinstance(value, float) else value
        for name, value in expected.items()
    }


def test_words_before_a_bar_without_a_label() -> None:
    point = parse_progress("12it [00:10, 1.20it/s]")
    assert point is not None
    assert (point.phase, point.epoch, point.rate) == ("train", None, 1.2)
    done = parse_progress("train: [3][1000/1000]|Tot: 0:10:00 |ETA: 0:00:00 |loss 1.9")
    assert done is not None
    assert done.step_time_seconds is None


@pytest.mark.parametrize(
    ("label", "phase"),
    [
        ("Epoch 3", "train"),
        ("Train", "train"),
        ("Steps", "train"),
        ("Sanity Checking DataLoader 0", "evaluation"),
        ("Evaluating", "evaluation"),
        ("Loading checkpoint shards", "launch"),
        ("Tokenizing", "launch"),
        ("Generating train split", "launch"),
        ("Saving model", "checkpoint"),
    ],
)
def test_a_label_says_what_is_counted(label: str, phase: str) -> None:
    assert label_phase(label) == phase


@pytest.mark.parametrize(
    "line",
    [
        "[10:20:30] reading 3/4 of the files",
        "Channel 00/08 [0] via P2P",
        "job 12 [00:10, ok]",
        "x [00:10<00:20]",
    ],
)
def test_what_only_looks_like_a_bar(line: str) -> None:
    assert parse_progress(line) is None
