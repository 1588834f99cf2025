"""Trainers of language models that print one line per step.

NeMo 2, nanoGPT, LitGPT, torchtitan, torchtune, OLMo, MaxText, InternEvo, plain FSDP examples,
Composer, verl. Sources: the projects' own loggers of the same names.
"""

from __future__ import annotations

from typing import Final

from relume.features.progress.formats.base import (
    INTEGER,
    NUMBER,
    Grammar,
    ProgressFormat,
    line_format,
)

_NEMO = line_format(
    "nemo",
    Grammar(
        rf"Training epoch (?P<epoch>{INTEGER}), iteration (?P<step>{INTEGER})/(?P<total>{INTEGER})",
        (
            rf"train_step_timing in s: (?P<step_time_seconds>{NUMBER})",
            rf"loss: (?P<loss>{NUMBER})",
            rf"grad_norm: (?P<grad_norm>{NUMBER})",
        ),
        {"epoch_bar": True},
    ),
    locate=(r"Training epoch \d+, iteration \d+/\d",),
    example="Training epoch 0, iteration 30/499 | lr: 1e-05 | global_batch_size: 256 | global_step:"
    " 30 | reduced_train_loss: 9.81 | train_step_timing in s: 12.4 | consumed_samples: 7936",
)

_NANOGPT = line_format(
    "nanogpt",
    Grammar(
        rf"\biter (?P<step>{INTEGER}): loss (?P<loss>{NUMBER}),"
        rf" time (?P<step_time_ms>{NUMBER}) ?ms",
    ),
    locate=(r"iter \d+: loss ",),
    example="iter 210: loss 3.9121, time 412.10ms, mfu 31.20%",
)

_NANOGPT_EVALUATION = line_format(
    "nanogpt_evaluation",
    Grammar(
        rf"\bstep (?P<step>{INTEGER}): train loss {NUMBER}, val loss (?P<loss>{NUMBER})",
        (),
        {"phase": "evaluation"},
    ),
    locate=(r"step \d+: train loss ",),
    example="step 250: train loss 2.4312, val loss 2.4902",
)

_LITGPT = line_format(
    "litgpt",
    Grammar(
        rf"\biter (?P<step>{INTEGER})\b.{{0,120}}?iter time: (?P<step_time_ms>{NUMBER}) ?ms",
        (rf"loss(?: train)?:? (?P<loss>{NUMBER})",),
    ),
    locate=(r"iter time: [\d.]+ ?ms",),
    example="Epoch 1 | iter 64 step 16 | loss train: 1.902, val: n/a | iter time: 355.10 ms (step)",
)

_TORCHTITAN = line_format(
    "torchtitan",
    Grammar(
        rf"\bstep:\s*(?P<step>{INTEGER})\s{{1,4}}loss:\s*(?P<loss>{NUMBER})\s",
        (
            rf"ps:(?<=\s[tw]ps:)\s*(?P<rate>{NUMBER})",
            rf"grad_norm:\s*(?P<grad_norm>{NUMBER})",
        ),
        {"rate_unit": "tokens/s"},
    ),
    locate=(r"step:\s*\d+\s+loss:\s*\S+\s+(grad_norm|memory|lr|[tw]ps):",),
    example="[rank0]:[titan] 2025-02-03 09:10:11,120 - root - INFO - step: 40  loss:  4.10210"
    "  grad_norm:  0.9120  memory: 30.10GiB(38.01%)  tps: 6,120  tflops: 88.10  mfu: 28.20%",
)

_TORCHTUNE = line_format(
    "torchtune",
    Grammar(
        rf"\bStep (?P<step>{INTEGER}) \| ?.{{0,60}}?\bloss:(?P<loss>{NUMBER})",
        (
            rf"tokens_per_second_per_gpu:(?P<rate>{NUMBER})",
            rf"grad_norm:(?P<grad_norm>{NUMBER})",
        ),
        {"rate_unit": "tokens/s"},
    ),
    locate=(r"\bStep \d+ \| .{0,60}loss:",),
    example="Step 12 | loss:1.7021 lr:0.00002 tokens_per_second_per_gpu:612.5",
)

_OLMO = line_format(
    "olmo",
    Grammar(
        r"\[step=(?P<step>\d{1,15}(?:,\d{3})*)/(?:(?P<total>\d{1,15}(?:,\d{3})*)|\?{1,4})"
        rf"(?:,epoch=(?P<epoch>{INTEGER}))?",
    ),
    locate=(r"\[step=[\d,]+/[\d?]",),
    example="2024-09-01 08:00:00.120 node001:0 olmo.train:908 INFO [step=20/90000,epoch=0]",
)

_OLMO_METRIC = line_format(
    "olmo",
    Grammar(
        r"(?:throughput/device/(?:tokens_per_second|TPS)\b|train/(?:CrossEntropyLoss|CE loss)="
        r"|optim/total[_ ]grad[_ ]norm=)",
        (
            rf"throughput/device/(?:tokens_per_second|TPS)=(?P<rate>{NUMBER})",
            rf"train/(?:CrossEntropyLoss|CE loss)=(?P<loss>{NUMBER})",
            rf"grad[_ ]norm=(?P<grad_norm>{NUMBER})",
        ),
        {"rate_unit": "tokens/s"},
    ),
    locate=(
        r"throughput/device/(tokens_per_second|TPS)=",
        r"train/(CrossEntropyLoss|CE loss)=",
        r"optim/total[_ ]grad[_ ]norm=",
    ),
    example="    throughput/device/tokens_per_second=12,480",
)

_MAXTEXT = line_format(
    "maxtext",
    Grammar(
        rf"completed step: (?P<step>{INTEGER}), seconds: (?P<step_time_seconds>{NUMBER})",
        (
            rf", loss: (?P<loss>{NUMBER})",
            rf"Tokens/s/device: (?P<rate>{NUMBER})",
        ),
        {"rate_unit": "tokens/s"},
    ),
    locate=(r"completed step: \d+, seconds: ",),
    example="completed step: 40, seconds: 5.402, TFLOP/s/device: 140.1, Tokens/s/device: 9098.1,"
    " total_weights: 196608, loss: 9.379",
)

_INTERNEVO = line_format(
    "internevo",
    Grammar(
        rf"\btflops=[\d.]{{1,24}},\s?step=(?P<step>{INTEGER})\b",
        (
            rf"loss=(?<=[, ]loss=)(?P<loss>{NUMBER})",
            rf"tgs \(tokens/gpu/second\)=(?P<rate>{NUMBER})",
            rf"loss_scale=(?P<loss_scale>{NUMBER})",
            # One norm, or one of each group of parameters: the first is the model's.
            rf"grad_norm=(?:\{{'[^']{{1,60}}': )?(?P<grad_norm>{NUMBER})",
            rf"inf_nan_skip_batches=(?P<skipped_total>{INTEGER})",
        ),
        {"rate_unit": "tokens/s"},
    ),
    locate=(r"tflops=[\d.]+,\s?step=\d",),
    example="2024-01-07 12:00:01,210 INFO train.py:323 in record_current_batch_training_metrics --"
    " tflops=180.2,step=12,loss=9.61,tgs (tokens/gpu/second)=4102.2,lr=4e-07,loss_scale=65536.0",
)

_FSDP = line_format(
    "fsdp_example",
    Grammar(
        rf"\bBatch (?P<step>{INTEGER}) Loss: (?P<loss>{NUMBER}), Speed: (?P<rate>{NUMBER})"
        r" (?P<rate_unit>[a-z]{1,10}/s(?:ec)?)",
    ),
    locate=(r"Batch \d+ Loss: \S+ Speed: ",),
    example="0: 2025-04-04 19:58:28 I [train.py:103] Batch 12 Loss: 9.64674, Speed: 17.06"
    " samples/sec, lr: 0.000013",
)

_COMPOSER = line_format(
    "composer",
    Grammar(rf"\[batch=(?P<step>{INTEGER})/(?P<total>{INTEGER})\]"),
    locate=(r"\[batch=\d+/\d+\]",),
    example="2024-05-01 12:00:00,110: rank0[812][MainThread]: INFO: [batch=40/4800]:",
)

_COMPOSER_METRIC = line_format(
    "composer",
    Grammar(
        r"Train (?:throughput/(?:samples|tokens|batches)_per_sec|loss/train/total): ",
        (
            rf"throughput/(?:samples|tokens|batches)_per_sec: (?P<rate>{NUMBER})",
            rf"loss/train/total: (?P<loss>{NUMBER})",
        ),
    ),
    locate=(r"Train throughput/\w+_per_sec: ", r"Train loss/train/total: "),
    example="     Train throughput/samples_per_sec: 118.4102",
)

_VERL = line_format(
    "verl",
    Grammar(
        rf"\bstep:(?P<step>{INTEGER}) - [a-z_]{{1,30}}/",
        (
            rf"timing_s/step:(?P<step_time_seconds>{NUMBER})",
            rf"perf/throughput:(?P<rate>{NUMBER})",
            rf"actor/grad_norm:(?P<grad_norm>{NUMBER})",
            rf"actor/pg_loss:(?P<loss>{NUMBER})",
        ),
        {"rate_unit": "tokens/s"},
    ),
    locate=(r"step:\d+ - [a-z_]+/",),
    example="step:7 - global_seqlen/mean:90210.0 - actor/pg_loss:0.012 - actor/grad_norm:0.2 -"
    " timing_s/step:141.2 - perf/throughput:510.2",
)

FORMATS: Final[tuple[ProgressFormat, ...]] = (
    _NEMO,
    _NANOGPT,
    _NANOGPT_EVALUATION,
    _LITGPT,
    _TORCHTITAN,
    _TORCHTUNE,
    _OLMO,
    _OLMO_METRIC,
    _MAXTEXT,
    _INTERNEVO,
    _FSDP,
    _COMPOSER,
    _COMPOSER_METRIC,
    _VERL,
)
