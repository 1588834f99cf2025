"""Vision tool boxes: OpenMMLab, detectron2, torchvision, DETR, timm, Swin, Paddle, MXNet, Gluon.

Where a value is followed by another in parentheses, the first is the latest and the second a mean
of the epoch. `time` of OpenMMLab is a running mean: its first values fall slowly. Sources:
mmengine/logging, mmcv/runner/hooks/logger, detectron2/utils/events.py, torchvision
references/detection/utils.py, pytorch/examples imagenet, PaddleDetection, mxnet/callback.py.
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

_TIMES: Final = (
    # A literal comes first wherever it can: the regex engine then looks for nothing else.
    rf"ime(?<=[ \t,|][tT]ime):?\s{{1,4}}(?P<step_time_seconds>{NUMBER})",
    rf"batch_cost:?\s{{1,4}}(?P<step_time_seconds>{NUMBER})",
    rf"ata(?<=[ \t,|][dD]ata)(?:_?time|_cost)?:?\s{{1,4}}(?P<data_seconds>{NUMBER})",
    rf"reader_cost:?\s{{1,4}}(?P<data_seconds>{NUMBER})",
    rf"total_loss:?\s{{1,4}}(?P<loss>{NUMBER})",
    rf"oss(?<=[ \t,|][lL]oss):?\s{{1,4}}(?P<loss>{NUMBER})",
    rf"grad_norm:?\s{{1,4}}(?P<grad_norm>{NUMBER})",
)

_BRACKETS = line_format(
    "epoch_brackets",
    Grammar(
        rf"\b(?:Epoch|Train(?:ing)?)(?:\(train\))?:?\s{{0,2}}\[(?P<epoch>{INTEGER})(?:/\d{{1,9}})?\]"
        rf"\s{{0,2}}\[\s{{0,9}}(?P<step>{INTEGER})\s?/\s?(?P<total>{INTEGER})\]",
        (*_TIMES, rf"ips: (?P<rate>{NUMBER}) (?P<rate_unit>\w{{1,12}}/s(?:ec)?)"),
        {"epoch_bar": True},
    ),
    locate=(r"(Epoch|Train(ing)?)(\(train\))?:?\s{0,2}\[\d+(/\d+)?\]\s{0,2}\[\s*\d+\s?/\s?\d+\]",),
    example="2024-01-10 10:00:00 - mmengine - INFO - Epoch(train)  [2][  40/1200]  lr: 1.0e-03"
    "  eta: 3:02:10  time: 0.4102  data_time: 0.0105  memory: 8120  loss: 1.9021",
)

_ITER_BRACKETS = line_format(
    "iter_brackets",
    Grammar(
        rf"\bIter(?:\(train\))?\s{{0,2}}\[\s{{0,9}}(?P<step>{INTEGER})/(?P<total>{INTEGER})\]",
        _TIMES,
    ),
    locate=(r"\bIter(\(train\))?\s{0,2}\[\s*\d+/\d+\]",),
    example="2024-01-10 10:00:00,120 - mmseg - INFO - Iter [400/80000] lr: 9.9e-03, eta: 8:10:00,"
    " time: 0.402, data_time: 0.010, memory: 8120, loss: 1.2010",
)

_HELD_OUT = line_format(
    "epoch_brackets_validation",
    Grammar(
        r"\b(?:(?:Epoch|Iter)\((?:val|test)\)|Test|Val(?:idation)?):?\s{0,2}(?:\[\d{1,9}\])?"
        rf"\s{{0,2}}\[\s{{0,9}}(?P<step>{INTEGER})/(?P<total>{INTEGER})\]",
        _TIMES,
        {"phase": "evaluation"},
    ),
    locate=(
        r"((Epoch|Iter)\((val|test)\)|Test|Val(idation)?):?\s{0,2}(\[\d+\])?\s{0,2}\[\s*\d+/\d",
    ),
    example="Test:  [ 10/79]  eta: 0:00:20  loss: 0.91 (0.95)  time: 0.2901  data: 0.1402",
)

_DETECTRON = line_format(
    "detectron",
    Grammar(
        rf"\beta: .{{1,40}}?\biter: (?P<step>{INTEGER})\s{{1,4}}\w",
        (
            rf"last_time: (?P<step_time_seconds>{NUMBER})",
            rf"last_data_time: (?P<data_seconds>{NUMBER})",
            *_TIMES,
        ),
    ),
    locate=(r"eta: .{1,40}\biter: \d",),
    example="[01/10 10:00:00 d2.utils.events]:  eta: 1:20:10  iter: 119  total_loss: 1.90"
    "  loss_cls: 0.81  time: 0.3101  data_time: 0.0091  lr: 0.0012  max_mem: 4100M",
)

_TIMM = line_format(
    "timm",
    Grammar(
        rf"\bTrain: (?P<epoch>{INTEGER}) \[\s{{0,9}}(?P<step>{INTEGER})/(?P<total>{INTEGER})[ \]]",
        (
            rf"Time: (?P<step_time_seconds>{NUMBER})s, *(?P<rate>{NUMBER})/s",
            rf"Data: (?P<data_seconds>{NUMBER})",
            rf"Loss: (?P<loss>{NUMBER})",
        ),
        {"epoch_bar": True, "rate_unit": "samples/s"},
    ),
    locate=(r"Train: \d+ \[\s*\d+/\d",),
    example="Train: 0 [ 100/1251 (  8%)]  Loss: 6.81 (6.90)  Time: 0.402s,  636.81/s  (0.471s,"
    "  543.52/s)  LR: 1.000e-05  Data: 0.011 (0.041)",
)

_MXNET = line_format(
    "mxnet",
    Grammar(
        rf"\bEpoch ?\[?(?P<epoch>{INTEGER})\] ?\[?Batch ?\[?(?:\d{{1,15}}-)?(?P<step>{INTEGER})\],?"
        rf".{{0,60}}?\bSpeed: (?P<rate>{NUMBER}) (?P<rate_unit>[a-z]{{1,12}}/s(?:ec)?)",
        (rf"\b(?:loss|cross-entropy|perplexity)=(?P<loss>{NUMBER})",),
        {"epoch_bar": True},
    ),
    locate=(r"\[?Batch ?\[?[\d-]+\].{0,60}Speed: ",),
    example="2019-03-01 10:00:00,100 Node[0] Epoch[1] Batch [150]\tSpeed: 640.12 samples/sec"
    "\taccuracy=0.310000",
)

_PADDLE = line_format(
    "paddle",
    Grammar(
        rf"\b(?:global step|step:?) (?P<step>{INTEGER})(?: ?/ ?(?P<total>{INTEGER}))?,"
        r".{0,200}?batch_cost: ",
        (
            rf"epoch: (?P<epoch>{NUMBER})",
            rf"batch_cost: (?P<step_time_seconds>{NUMBER})",
            rf"reader_cost: (?P<data_seconds>{NUMBER})",
            rf" loss: (?P<loss>{NUMBER})",
            rf"ips: (?P<rate>{NUMBER}) (?P<rate_unit>\w{{1,12}}/s(?:ec)?)",
        ),
    ),
    locate=(r"batch_cost: ",),
    example="[2024-01-10 10:00:00,100] [INFO] - global step 40, epoch: 1, batch: 39, loss: 9.1,"
    " avg_reader_cost: 0.004 sec, avg_batch_cost: 0.310 sec, ips: 103.2 sequences/sec",
)

FORMATS: Final[tuple[ProgressFormat, ...]] = (
    _BRACKETS,
    _ITER_BRACKETS,
    _HELD_OUT,
    _DETECTRON,
    _TIMM,
    _MXNET,
    _PADDLE,
)
