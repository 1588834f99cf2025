"""Older loggers whose lines have no counter word, and reports spread over two lines or a table.

Sources: fastai (basic_train.py, progress.py), Chainer (training/extensions/progress_bar.py), CLU
metric_writers (T5X, scenic, PaxML), Stable-Baselines3 (common/logger.py), faster-rcnn.pytorch
(trainval_net.py), MindSpore (train/callback), pytorch/examples dcgan, char-rnn, NVIDIA/tacotron2,
ignite.
"""

from __future__ import annotations

from typing import Final

from relume.features.progress.formats.base import (
    CLOCK,
    INTEGER,
    NUMBER,
    Grammar,
    ProgressFormat,
    line_format,
)

_FASTAI = line_format(
    "fastai",
    Grammar(
        rf"(?<![\w.,/-])(?P<step>\d{{1,6}})\s{{2,12}}(?P<loss>\d{{1,9}}\.\d{{6}}|nan)\s{{1,9}}"
        rf"(?:(?:\S{{1,20}})\s{{1,9}}){{1,9}}(?P<clock_seconds>{CLOCK})\s{{0,9}}$",
    ),
    # Columns are two spaces apart: only with them there is a literal to look for.
    locate=(r"\d {2,12}(\d{1,9}\.\d{6}|nan)\s",),
    example="3         0.412110    0.391220    0.121000    01:12",
)

_CHAINER = line_format(
    "chainer",
    Grammar(rf"\b(?P<step>{INTEGER}) iter, (?P<epoch>{INTEGER}) epoch / {INTEGER} epochs"),
    locate=(r"\d iter, \d+ epoch / \d+ epochs",),
    example="      3400 iter, 5 epoch / 20 epochs",
)

_CHAINER_RATE = line_format(
    "chainer",
    Grammar(
        rf"\b(?P<rate>{NUMBER}) iters/sec\. Estimated time",
        (),
        {"rate_unit": "iter/s"},
    ),
    locate=(r"\d iters/sec\. Estimated time",),
    example="     12.2 iters/sec. Estimated time to finish: 0:20:10.",
)

_METRIC_WRITER = line_format(
    "metric_writer",
    Grammar(
        rf"\w_writer\.py:\d{{1,6}}\] \[(?P<step>{INTEGER})\] \w",
        (
            rf"\bloss=(?P<loss>{NUMBER})",
            rf"steps_per_sec(?:ond)?=(?P<rate>{NUMBER})",
        ),
        {"rate_unit": "step/s"},
    ),
    locate=(r"_writer\.py:\d+\] \[\d+\] \w",),
    example="I0210 10:00:31.120101 140120 logging_writer.py:48] [1000] loss=2.92, "
    "steps_per_sec=3.21",
)

_T5X = line_format(
    "t5x",
    Grammar(rf"\bTraining: step (?P<step>{INTEGER})\s{{0,9}}$"),
    locate=(r"Training: step \d",),
    example="I0210 10:00:00.120101 140120 train.py:601] Training: step 1000",
)

_BASELINES = line_format(
    "stable_baselines",
    Grammar(rf"\|\s{{1,9}}total_timesteps\s{{1,30}}\|\s{{1,9}}(?P<step>{INTEGER})\s"),
    locate=(r"total_timesteps\s{1,30}\|\s{1,9}\d",),
    example="|    total_timesteps      | 24576       |",
)

_FASTER_RCNN = line_format(
    "faster_rcnn",
    Grammar(
        rf"\[session \d{{1,6}}\]\[epoch\s{{1,4}}(?P<epoch>{INTEGER})\]"
        rf"\[iter\s{{1,9}}(?P<step>{INTEGER})/\s{{0,9}}(?P<total>{INTEGER})\]",
        (rf"loss: (?P<loss>{NUMBER})",),
        {"epoch_bar": True},
    ),
    locate=(r"\[session \d+\]\[epoch\s{1,4}\d+\]\[iter",),
    example="[session 1][epoch  2][iter  400/10022] loss: 0.8121, lr: 1.00e-03",
)

_FASTER_RCNN_TIME = line_format(
    "faster_rcnn",
    Grammar(rf"fg/bg=\(\d{{1,9}}/\d{{1,9}}\), time cost: (?P<interval_seconds>{NUMBER})"),
    locate=(r"fg/bg=\(\d+/\d+\), time cost: ",),
    example="\t\t\tfg/bg=(41/471), time cost: 41.210112",
)

_MINDSPORE = line_format(
    "mindspore",
    Grammar(
        rf"\bepoch: (?P<epoch>{INTEGER}),? step: (?P<step>{INTEGER}),? "
        rf"loss is (?P<loss>{NUMBER})",
        (),
        {"epoch_bar": True},
    ),
    locate=(r"step: \d+,? loss is ",),
    example="epoch: 2 step: 1875, loss is 0.1101",
)

_MINDSPORE_TIME = line_format(
    "mindspore",
    Grammar(rf"per step time: (?P<step_time_ms>{NUMBER}) ?ms"),
    locate=(r"per step time: \d",),
    example="epoch time: 11001.2 ms, per step time: 5.867 ms",
)

_TWO_BRACKETS = line_format(
    "two_brackets",
    Grammar(
        rf"\[(?P<epoch>{INTEGER})/{INTEGER}\]\s?\[\s{{0,9}}(?P<step>{INTEGER})/"
        rf"(?P<total>{INTEGER})\]:?\s.{{0,20}}?[Ll]oss",
        (
            rf"[Ll]oss(?:_\w{{1,9}})?[:=]? ?(?P<loss>{NUMBER})",
            rf"\b[Tt]ime:? (?P<step_time_seconds>{NUMBER})",
        ),
        {"epoch_bar": True},
    ),
    locate=(r"\d/\d+\]\s?\[\s{0,9}\d+/\d+\]:?\s",),
    example="[0/25][100/1583] Loss_D: 0.6121 Loss_G: 5.1210",
)

_CHAR_RNN = line_format(
    "char_rnn",
    Grammar(
        rf"(?<![\w.])(?P<step>{INTEGER})/(?P<total>{INTEGER}) \(epoch (?P<epoch>{NUMBER})\), ",
        (
            rf"train_loss = (?P<loss>{NUMBER})",
            rf"time/batch = (?P<step_time_seconds>{NUMBER})",
        ),
    ),
    locate=(r"/\d+ \(epoch [\d.]+\), ",),
    example="1201/22300 (epoch 2.693), train_loss = 1.7812, time/batch = 0.2110s",
)

_TACOTRON = line_format(
    "tacotron",
    Grammar(
        rf"\bTrain loss (?P<step>{INTEGER}) (?P<loss>{NUMBER}) Grad Norm (?P<grad_norm>{NUMBER})",
        (rf" (?P<step_time_seconds>{NUMBER})s/it",),
    ),
    locate=(r"Train loss \d+ \S+ Grad Norm ",),
    example="Train loss 1200 0.412101 Grad Norm 0.312101 2.41s/it",
)

_IGNITE = line_format(
    "ignite",
    Grammar(
        rf"\bEpoch\[(?P<step>{INTEGER})\] Complete\. Time taken: (?P<clock_seconds>{CLOCK})",
    ),
    locate=(r"Epoch\[\d+\] Complete\. Time taken: ",),
    example="2021-04-10 10:21:31,301 run INFO: Epoch[1] Complete. Time taken: 00:00:31",
)

FORMATS: Final[tuple[ProgressFormat, ...]] = (
    _FASTAI,
    _CHAINER,
    _CHAINER_RATE,
    _METRIC_WRITER,
    _T5X,
    _BASELINES,
    _FASTER_RCNN,
    _FASTER_RCNN_TIME,
    _MINDSPORE,
    _MINDSPORE_TIME,
    _TWO_BRACKETS,
    _CHAR_RNN,
    _TACOTRON,
    _IGNITE,
)
