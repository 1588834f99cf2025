from __future__ import annotations

import math
import re

import hyperscan
import pytest
import re2

from relume.features.progress.formats import FORMATS, ProgressFormat
from relume.features.progress.formats.base import (
    READERS,
    Grammar,
    line_parser,
    to_float,
    to_int,
    to_seconds,
    to_worded_seconds,
)
from relume.features.progress.parse import (
    LOCATE,
    LOCATE_FORMATS,
    parse_located,
    parse_progress,
)
from relume.features.progress.point import ProgressPoint

PREFIXES = (
    "",
    "12: ",
    "[default3]:",
    "[rank0]:",
    "(pretraining, pid=4112) ",
    "node001: ",
    "2024-05-01 10:20:30,123 ",
    "[2024-05-01 10:20:30.123] ",
    "I0501 10:20:30.123456  4112 train.py:80] ",
)


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: fmt.id)
def test_a_format_reads_its_own_example(fmt: ProgressFormat) -> None:
    point = parse_progress(fmt.example)
    assert point is not None
    assert point.format == fmt.id
    assert any(re.search(pattern, fmt.example) for pattern in fmt.locate)


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: fmt.id)
def test_prefixes_left_on_a_line_change_nothing(fmt: ProgressFormat, prefix: str) -> None:
    assert parse_progress(prefix + fmt.example) == parse_progress(fmt.example)


def test_colours_are_taken_off() -> None:
    plain = "step: 40  loss:  4.10210  grad_norm:  0.9120  memory: 30.10GiB  tps: 6,120"
    coloured = plain.replace("step: 40", "\x1b[31mstep: 40").replace("tps", "\x1b[0m\x1b[34mtps")
    assert parse_progress(coloured) == parse_progress(plain)


@pytest.mark.parametrize("pattern", LOCATE)
def test_a_locator_runs_in_linear_time(pattern: str) -> None:
    assert not pattern.endswith(("*", "+")), "would report an end for every byte that follows"
    assert re2.compile(pattern).search("") is None
    hyperscan.Database().compile(
        expressions=[pattern.encode()], flags=[hyperscan.HS_FLAG_MULTILINE]
    )


def test_engines_locate_the_same_formats() -> None:
    database = hyperscan.Database()
    database.compile(
        expressions=[pattern.encode() for pattern in LOCATE],
        ids=list(range(len(LOCATE))),
        flags=[hyperscan.HS_FLAG_MULTILINE] * len(LOCATE),
    )
    for fmt in FORMATS:
        found: set[int] = set()
        database.scan(
            fmt.example.encode(),
            match_event_handler=lambda position, *_: found.add(position),  # noqa: B023
        )
        assert found == {i for i, p in enumerate(LOCATE) if re.search(p, fmt.example)}
        assert parse_located(fmt.example, found) == parse_progress(fmt.example)


def test_every_pattern_has_its_format() -> None:
    assert len(LOCATE) == len(LOCATE_FORMATS)
    assert all(pattern in fmt.locate for pattern, fmt in zip(LOCATE, LOCATE_FORMATS, strict=True))


LINES: tuple[tuple[str, dict[str, object]], ...] = (
    (
        (
            " iteration        3/    1000 | consumed samples:         3072 | elapsed time per iteration"
            " (ms): 12000.0 | learning rate: 0.000E+00 | global batch size:  1024 | loss scale:"
            " 1073741824.0 | number of skipped iterations:   1 | number of nan iterations:   0 |"
        ),
        {"step": 3, "step_time_seconds": 12.0, "skipped": 1, "loss": None, "loss_scale": 2.0**30},
    ),
    (
        (
            " [2025-01-02 03:04:05.678901] iteration       50/ 2000000 | consumed samples: 6400 | elapsed"
            " time per iteration (ms): 2010.5 | throughput per GPU (TFLOP/s/GPU): 410.2 | learning rate:"
            " 1.0E-05 | global batch size: 128 | lm loss: 8.1E+00 |"
        ),
        {"step": 50, "total": 2000000, "step_time_seconds": 2.0105, "loss": 8.1},
    ),
    (
        (
            " samples/sec: 20.5 | iteration      100/  320000 | elapsed time per iteration (ms): 3121.0 |"
            " learning rate: 6.0E-06 | approx flops per GPU: 60.1TFLOPS | lm_loss: 9.1E+00 |"
        ),
        {"step": 100, "rate": 20.5, "step_time_seconds": 3.121, "loss": 9.1},
    ),
    (
        (
            "3: [2025-01-02 03:04:05] iteration       50/     900 | elapsed time per iteration (ms):"
            " 2010.5 | throughput per GPU (TFLOP/s/GPU): 410.2 | lm loss: 8.1E+00 |"
        ),
        {"step": 50, "rate": 410.2, "rate_unit": "TFLOP/s", "step_time_seconds": 2.0105},
    ),
    (
        (
            "iteration:   400/90000   0% | elapsed time: 01:10:00 | per_token_loss: 4.1 | lr: 1.0E-06"
            " | grad_norm: 0.92 | fwd_bwd_time: 3100.5 | num_opt_steps: 400 |"
        ),
        {"format": "m4", "step": 400, "elapsed_seconds": 4200.0, "loss": 4.1, "grad_norm": 0.92},
    ),
    ("    optim/total grad norm=1.318", {"format": "olmo", "step": None, "grad_norm": 1.318}),
    (
        (
            "completed step: 80, seconds: 3.125, TFLOP/s/device: 201.7, Tokens/s/device: 5242.9,"
            " loss: 4.112"
        ),
        {"format": "maxtext", "rate": 5242.9, "rate_unit": "tokens/s", "loss": 4.112},
    ),
    (
        "completed step: 80, seconds: 3.125, TFLOP/s: 36.1, loss: 4.112",
        {"format": "maxtext", "rate": None, "rate_unit": "", "step_time_seconds": 3.125},
    ),
    (
        (
            "2024-02-03 04:05:06,789\tINFO train.py:317 in record_current_batch_training_metrics --"
            " tflops=170.9,step=31,loss=7.25,tgs (tokens/gpu/second)=3900.5,lr=3e-06,loss_scale=32768.0,"
            "grad_norm={'0_default': 2.75, '1_norm': 0.1},micro_num=4,inf_nan_skip_batches=3"
        ),
        {"step": 31, "loss": 7.25, "grad_norm": 2.75, "skipped_total": 3, "rate": 3900.5},
    ),
    ("tflops=170.9,step=32,loss=nan,grad_norm=1.5,inf_nan_skip_batches=0", {"grad_norm": 1.5}),
    (
        "2|31|Loss: 1.4021:   8%|\u2589         | 31/400 [01:10<13:53,  2.26s/it]",
        {"format": "tqdm", "step": 31, "total": 400, "loss": 1.4021, "phase": "train"},
    ),
    (
        (
            " iteration     7/ 90 | elapsed time per iteration (s): 71.5 | global batch size:  1536 |"
            " lm loss: 2.6E+00 | grad norm: nan | samples per second: 21.48 | TFLOPs: 131.0 |"
        ),
        {"step_time_seconds": 71.5, "rate": 21.48},
    ),
    (
        "[timer.py:181:stop] 0/400, SamplesPerSec=31.4",
        {"format": "deepspeed_timer", "step": 400, "rate": 31.4},
    ),
    (
        (
            "Training epoch 2, iteration 8/999 | lr: 7.0e-06 | global_step: 46 | reduced_train_loss:"
            " 11.02 | train_step_timing in s: 47.15"
        ),
        {"format": "nemo", "step": 8, "total": 999, "epoch": 2.0, "epoch_bar": True, "loss": 11.02},
    ),
    (
        "iter 4: loss 3.5026, time 4494.54ms, mfu -100.00%, lr 6.00e-04, total time 22.53s",
        {"format": "nanogpt", "step": 4, "step_time_seconds": 4.49454},
    ),
    (
        "iter 40 step 10: loss 2.5012, iter time: 361.30ms (optimizer.step)",
        {"format": "litgpt", "step": 40, "step_time_seconds": 0.3613, "loss": 2.5012},
    ),
    (
        "step:  1  loss: 8.1309  memory:  1.48GiB(1.55%)  wps: 4,317  mfu: 0.03%",
        {"format": "torchtitan", "step": 1, "rate": 4317.0},
    ),
    (
        "[step=1,200/739,328,epoch=0,eta=2 days]",
        {"format": "olmo", "step": 1200, "total": 739328, "epoch": 0.0},
    ),
    ("[step=3/???,epoch=1]", {"format": "olmo", "step": 3, "total": None}),
    (
        "completed step: 9, seconds: 1.341, TFLOP/s: 36.7, loss: 2.191",
        {"step": 9, "step_time_seconds": 1.341, "loss": 2.191},
    ),
    (
        "{'loss': '2.31', 'grad_norm': 'nan', 'learning_rate': '1e-05', 'epoch': '0.05'}",
        {"format": "hf_trainer", "loss": 2.31, "epoch": 0.05},
    ),
    (
        (
            "{'loss': 0.51, 'grad_norm': 1.1, 'epoch': 0.1, 'global_step/max_steps': '5/100',"
            " 'elapsed_time': '2m 30s', 'train_speed(iter/s)': 0.033}"
        ),
        {"step": 5, "total": 100, "elapsed_seconds": 150.0, "rate": 0.033, "rate_unit": "it/s"},
    ),
    ("{'eval_loss': 5.27}", {"format": "hf_evaluation", "phase": "evaluation", "loss": 5.27}),
    (
        (
            "2023-02-03 11:12:13,100 - mmdet - INFO - Epoch [2][60/1800]     lr: 2.0e-05, eta: 3 days,"
            " 1:10:20, time: 0.912, data_time: 0.310, memory: 9100, head0.loss: 11.5, loss: 42.5"
        ),
        {
            "step": 60,
            "total": 1800,
            "step_time_seconds": 0.912,
            "data_seconds": 0.31,
            "loss": 42.5,
        },
    ),
    (
        (
            "Epoch: [0]  [ 10/500]  eta: 0:04:05  lr: 0.0001  loss: 1.9 (2.1)  time: 0.5 (0.6)  data:"
            " 0.01 (0.05)  max mem: 4000"
        ),
        {"step": 10, "step_time_seconds": 0.5, "data_seconds": 0.01, "loss": 1.9},
    ),
    (
        "Epoch: [3][ 10/5005]\tTime  0.412 ( 1.213)\tData  0.301 ( 0.804)\tLoss 6.91e+00 (6.9e+00)",
        {"epoch": 3.0, "step": 10, "step_time_seconds": 0.412, "data_seconds": 0.301, "loss": 6.91},
    ),
    (
        "Train: [0/300][10/1251]\teta 0:10:00 lr 0.0001\t wd 0.05\ttime 0.3503 (0.41)\tloss 6.9 (6.9)",
        {"epoch": 0.0, "step": 10, "total": 1251, "step_time_seconds": 0.3503, "loss": 6.9},
    ),
    (
        (
            "Epoch: [1] [  40/1234] learning_rate: 0.001 loss: 1.9 eta: 1:00:00 batch_cost: 0.81"
            " data_cost: 0.30 ips: 2.46 images/s"
        ),
        {"step": 40, "step_time_seconds": 0.81, "data_seconds": 0.3, "rate": 2.46},
    ),
    (
        (
            "[05/24 10:00:00 d2.utils.events]:  eta: 1 day, 1:20:10  iter: 119  total_loss: 1.9  time:"
            " 0.31  last_time: 0.35  data_time: 0.009  last_data_time: 0.011  lr: 0.0012"
        ),
        {"format": "detectron", "step": 119, "step_time_seconds": 0.35, "data_seconds": 0.011},
    ),
    (
        "Epoch[1] Batch [40-60]\tSpeed: 201000.25 samples/sec\taccuracy=nan",
        {
            "format": "mxnet",
            "epoch": 1.0,
            "step": 60,
            "rate": 201000.25,
            "rate_unit": "samples/sec",
        },
    ),
    (
        "[Epoch 0][Batch 99], LR: 1.0E-03, Speed: 41.2 samples/sec, ObjLoss=9.1",
        {"format": "mxnet", "epoch": 0.0, "step": 99, "rate": 41.2},
    ),
    (
        (
            "DLL 2021-06-14 23:08:53.659718 - Training Epoch: 0 Training Iteration: 100  average_loss :"
            " 9.1  step_loss : 8.9  learning_rate : 0.001"
        ),
        {"format": "dllogger", "step": 100, "epoch": 0.0, "loss": 9.1},
    ),
    (
        "| epoch 001:    200 / 11265 loss=8.1, nll_loss=7.2, ppl=270, wps=1200, ups=0.3, wall=70",
        {"format": "fairseq", "step": 200, "total": 11265, "rate": 1200.0, "elapsed_seconds": 70.0},
    ),
    (
        (
            "Epoch  2,   300/ 9000; ; ppl: 410.2 ; lr: 0.0000120 ; updates:      75; 20100 src tok/s;"
            " 31000 tgt tok/s; 0:01:42 elapsed"
        ),
        {
            "format": "opennmt",
            "step": 300,
            "total": 9000,
            "rate": 20100.0,
            "elapsed_seconds": 102.0,
        },
    ),
    (
        "INFO:tensorflow:global_step/sec: 10.9",
        {"format": "tf_estimator", "step": None, "rate": 10.9},
    ),
    (
        "ep 7 train, step 3, ce 4.110, ctc_8 5.020, mem_usage:cuda:1 9.1GB, 0.840 sec/step",
        {"format": "returnn", "epoch": 7.0, "step": 3, "step_time_seconds": 0.84, "loss": 4.11},
    ),
    (
        (
            "INFO 2025-03-02 11:40:02 ts/train.py:210 step:2K smpl:9K ep:4 epch:0.03 loss:0.910"
            " grdn:2.110 lr:4.0e-06 updt_s:0.250 data_s:8.000"
        ),
        {"step": 2000, "step_time_seconds": 8.25, "data_seconds": 8.0},
    ),
    (
        (
            ' 3: :::MLLOG {"namespace": "", "time_ms": 1700000000845, "event_type": "POINT_IN_TIME",'
            ' "key": "throughput", "value": 2100.5, "metadata": {"file": "fit.py", "lineno": 9,'
            ' "epoch_num": 4}}'
        ),
        {"format": "mlperf", "step": 4, "rate": 2100.5, "elapsed_seconds": 1700000000.845},
    ),
    (
        (
            ':::MLLOG {"namespace": "", "time_ms": 1, "key": "eval_accuracy", "value": 0.71, "metadata":'
            ' {"epoch_num": 9}}'
        ),
        {"phase": "evaluation", "step": 9, "rate": None},
    ),
    (
        ':::MLLOG {"key": "train_loss", "value": 2.5, "metadata": {"samples_count": 400}}',
        {"phase": "train", "step": 400, "loss": 2.5, "elapsed_seconds": None},
    ),
    (
        ':::MLLOG {"time_ms": 9000, "key": "epoch_stop", "value": null, "metadata": {}}',
        {"phase": "train", "step": None, "rate": None, "elapsed_seconds": 9.0},
    ),
    (
        "[deepscale] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 4294967296, reducing to 1",
        {"format": "overflow", "step": None, "skipped": 1, "loss_scale": 4294967296.0},
    ),
)


@pytest.mark.parametrize(("line", "expected"), LINES, ids=range(len(LINES)))
def test_wordings_of_several_versions(line: str, expected: dict[str, object]) -> None:
    point = parse_progress(line)
    assert point is not None
    read = {name: getattr(point, name) for name in expected}
    assert read == {
        name: pytest.approx(value) if isinstance(value, float) else value
        for name, value in expected.items()
    }


def test_numbers_that_are_none_are_kept_as_such() -> None:
    nan = parse_progress("iter 7: loss nan, time 410.00ms")
    lightning = parse_progress(
        "Epoch 0: :   3%|▎   | 90/3000 [0:40:10<21:30:00, v_num=0, reduced_train_loss=nan.0]"
    )
    megatron = parse_progress(
        " iteration 7/ 90 | elapsed time per iteration (ms): 10.0 | grad norm: nan |"
        " number of nan iterations:   1 |"
    )
    assert nan is not None
    assert nan.loss is not None
    assert math.isnan(nan.loss)
    assert lightning is not None
    assert lightning.loss is not None
    assert math.isnan(lightning.loss)
    assert megatron is not None
    assert megatron.loss is not None
    assert math.isnan(megatron.loss)


def test_undecodable_bytes_are_no_obstacle() -> None:
    point = parse_progress("\udcff iter 210: loss 3.9, time 412.10ms")
    assert point is not None
    assert point.step == 210


def test_mlperf_lines_that_are_no_progress() -> None:
    assert parse_progress(':::MLLOG {"time_ms": 1, "key": "seed", "value": 7}') is None
    assert parse_progress(':::MLLOG {"time_ms": 1') is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("12", 12), ("1,024", 1024), ("2K", 2000), ("31.5k", 31500), ("", None), ("x", None)],
)
def test_counts(text: str, value: int | None) -> None:
    assert to_int(text) == value


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "9" * 5000])
def test_counts_never_raise(text: str) -> None:
    assert to_int(text) is None


def test_clocks() -> None:
    assert to_seconds("02:05") == 125
    assert to_seconds("171:22:21") == 171 * 3600 + 22 * 60 + 21
    assert to_seconds("2 days, 0:00:01") == 2 * 86400 + 1
    assert to_seconds("a:b") is None
    assert to_worded_seconds("1h 2m 3s") == 3723
    assert to_worded_seconds("soon") is None
    assert to_float("1,234.5") == 1234.5
    assert to_float("one") is None


def test_a_grammar_with_an_unknown_group_is_refused() -> None:
    with pytest.raises(KeyError, match="stepp"):
        line_parser("typo", Grammar(r"(?P<stepp>\d+)"))


def test_readers_fill_fields_of_a_point() -> None:
    fields = {target for target, _ in READERS.values() if not target.startswith("_")}
    assert fields <= set(ProgressPoint.__slots__)
