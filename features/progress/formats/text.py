"""Text tool boxes and older one-line loggers: fairseq, OpenNMT, Marian, TensorFlow 1, Caffe.

Sources: fairseq/logging/progress_bar.py, onmt/utils/statistics.py, marian training/scheduler.h,
tensorflow basic_session_run_hooks.py, the CIFAR-10 tutorial, pytorch/examples word_language_model,
caffe/solver.cpp, darknet detector.c, lerobot scripts/train.py, CLIP4Clip.
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
    time_with_wait,
)

_FAIRSEQ = line_format(
    "fairseq",
    Grammar(
        rf"\| epoch (?P<epoch>{INTEGER}):\s{{1,9}}(?P<step>{INTEGER}) / (?P<total>{INTEGER}) ",
        (
            rf"wps=(?P<rate>{NUMBER})",
            rf" loss=(?P<loss>{NUMBER})",
            rf"gnorm=(?P<grad_norm>{NUMBER})",
            rf"loss_scale=(?P<loss_scale>{NUMBER})",
            rf" wall=(?P<elapsed_seconds>{NUMBER})",
        ),
        {"epoch_bar": True, "rate_unit": "words/s"},
    ),
    locate=(r"\| epoch \d+:\s+\d+ / \d+ ",),
    example="2021-03-12 10:29:31 | INFO | train_inner | epoch 001:    100 / 5000 loss=8.101,"
    " ppl=274.5, wps=40120, ups=2.1, wpb=19000, num_updates=100, lr=1e-05, gnorm=1.9, wall=52",
)

_FAIRSEQ_VALID = line_format(
    "fairseq_valid",
    Grammar(
        rf"\| valid(?:ation)? \| epoch (?P<epoch>{INTEGER}) \|",
        (
            rf"num_updates (?P<step>{INTEGER})",
            rf"\| loss (?P<loss>{NUMBER})",
        ),
        {"phase": "evaluation"},
    ),
    locate=(r"\| valid(ation)? \| epoch \d+ \|",),
    example="2021-05-02 08:10:11 | INFO | valid | epoch 004 | valid on 'valid' subset | loss 3.101"
    " | wer 24.5 | wps 640 | num_updates 12000",
)

_OPENNMT = line_format(
    "opennmt",
    Grammar(
        rf"\b(?:Step|Epoch\s{{1,4}}(?P<epoch>{INTEGER}),)\s{{1,9}}(?P<step>{INTEGER})/\s{{0,9}}"
        rf"(?P<total>{INTEGER});",
        (
            rf"; {{1,9}}(?P<rate>{NUMBER})(?:/\s{{0,5}}\d{{1,9}})? (?:src )?tok/s",
            rf"; {{1,8}}(?P<elapsed_seconds>{INTEGER}) sec\b",
            rf"; {{1,8}}(?P<elapsed>{CLOCK}) elapsed",
            rf"xent: (?P<loss>{NUMBER})",
        ),
        {"rate_unit": "tokens/s"},
    ),
    locate=(r"(Step|Epoch\s+\d+,)\s+\d+/\s*\d+;",),
    example="[2022-03-01 10:00:00,100 INFO] Step 100/100000; acc: 5.30; ppl: 8120.2; xent: 9.00;"
    " lr: 0.00001; sents: 6400; bsz: 4012/3990; 5120/5010 tok/s;     78 sec;",
)

_MARIAN = line_format(
    "marian",
    Grammar(
        rf"\bEp\. (?P<epoch>{INTEGER}) : Up\. (?P<step>{INTEGER}) : Sen\. ",
        (
            rf": Time (?P<interval_seconds>{NUMBER})s",
            rf": (?P<rate>{NUMBER}) words/s",
            rf": Cost (?P<loss>{NUMBER})",
        ),
        {"rate_unit": "words/s"},
    ),
    locate=(r"Ep\. \d+ : Up\. \d+ : ",),
    example="[2022-03-01 10:00:00] Ep. 1 : Up. 500 : Sen. 32,000 : Cost 8.91 * 100,120 : Time"
    " 50.23s : 30120.50 words/s",
)

_TF_TUTORIAL = line_format(
    "tf_examples",
    Grammar(
        rf"\bstep (?P<step>{INTEGER}), loss = (?P<loss>{NUMBER}) \((?P<rate>{NUMBER}) examples/sec;"
        rf" (?P<step_time_seconds>{NUMBER}) sec/batch\)",
        (),
        {"rate_unit": "examples/s"},
    ),
    locate=(r"examples/sec; [\d.]+ sec/batch",),
    example="2018-06-11 10:33:17.831797: step 1200, loss = 1.98 (1134.5 examples/sec; 0.113"
    " sec/batch)",
)

_TF_ESTIMATOR = line_format(
    "tf_estimator",
    Grammar(
        rf"loss = (?P<loss>{NUMBER}), (?:global_)?step = (?P<step>{INTEGER})"
        rf"(?: \((?P<interval_seconds>{NUMBER}) sec\))?",
    ),
    locate=(r"loss = \S+, (global_)?step = \d",),
    example="INFO:tensorflow:loss = 1.2101, step = 1200 (9.120 sec)",
)

_TF_RATE = line_format(
    "tf_estimator",
    Grammar(rf"global_step/sec: (?P<rate>{NUMBER})", (), {"rate_unit": "step/s"}),
    locate=(r"global_step/sec: ",),
    example="INFO:tensorflow:global_step/sec: 10.9463",
)

_TF_BENCHMARKS = line_format(
    "tf_benchmarks",
    Grammar(
        rf"(?<![\w.])(?P<step>{INTEGER})\s{{1,8}}images/sec: (?P<rate>{NUMBER}) \+/- ",
        (rf"\(jitter = {NUMBER}\)\s{{1,8}}(?P<loss>{NUMBER})",),
        {"rate_unit": "images/s"},
    ),
    locate=(r"\d\s+images/sec: ",),
    example="40\timages/sec: 2145.6 +/- 1.2 (jitter = 3.1)\t7.912",
)

_LANGUAGE_MODEL = line_format(
    "word_lm",
    Grammar(
        rf"\| epoch\s{{1,4}}(?P<epoch>{INTEGER}) (?:step\s{{1,9}}\d{{1,12}} )?\|\s{{1,9}}"
        rf"(?P<step>{INTEGER})(?:/\s{{0,9}}(?P<total>{INTEGER}))? batches \|",
        (
            rf"ms/batch\s{{1,4}}(?P<step_time_ms>{NUMBER})",
            rf" loss\s{{1,4}}(?P<loss>{NUMBER})",
        ),
        {"epoch_bar": True},
    ),
    locate=(r"\d batches \| ",),
    example="| epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch 35.50 | loss  7.60 |",
)

_CAFFE = line_format(
    "caffe",
    Grammar(
        rf"\bIteration (?P<step>{INTEGER}) \((?P<rate>{NUMBER}) iter/s",
        (rf" loss = (?P<loss>{NUMBER})",),
        {"rate_unit": "iter/s"},
    ),
    locate=(r"Iteration \d+ \([\d.e+-]+ iter/s",),
    example="I0910 10:00:00.120  1200 solver.cpp:218] Iteration 400 (2.10 iter/s, 9.5s/20 iters),"
    " loss = 1.812",
)

_DARKNET = line_format(
    "darknet",
    Grammar(
        rf"(?<![\w.,])(?P<step>{INTEGER}): (?P<loss>{NUMBER}), {NUMBER} avg(?: loss)?, "
        rf"{NUMBER} rate, (?P<step_time_seconds>{NUMBER}) seconds",
    ),
    locate=(r" avg( loss)?, \S+ rate, \S+ seconds",),
    example=" 1200: 1.120301, 1.201201 avg loss, 0.001000 rate, 5.512012 seconds, 76800 images",
)

_CLIP = line_format(
    "epoch_step_commas",
    Grammar(
        rf"\bEpoch: (?P<epoch>{INTEGER})/\d{{1,9}}, "
        rf"Step: (?P<step>{INTEGER})/(?P<total>{INTEGER}),",
        (
            rf"Time/step: (?P<step_time_seconds>{NUMBER})",
            rf" Loss: (?P<loss>{NUMBER})",
        ),
        {"epoch_bar": True},
    ),
    locate=(r"Epoch: \d+/\d+, Step: \d+/\d+,",),
    example="03/10/2023 09:05:10 - INFO - Epoch: 2/10, Step: 60/812, Lr: 0.0000001, Loss: 2.910000,"
    " Time/step: 1.728000",
)


_LEROBOT = line_format(
    "lerobot",
    Grammar(
        r"\bstep:(?P<step>\d{1,9}(?:\.\d{1,3})?[KMB]?) smpl:\S{1,12} .{0,200}?"
        rf"\bupdt_s:(?P<compute_seconds>{NUMBER}) data_s:(?P<data_seconds>{NUMBER})",
        (rf" loss:(?P<loss>{NUMBER})",),
        {},
        time_with_wait,
    ),
    locate=(r"updt_s:\S+ data_s:",),
    example="INFO 2025-03-02 11:40:02 ts/train.py:210 step:60 smpl:3K ep:12 epch:0.02 loss:0.912"
    " grdn:3.101 lr:2.4e-06 updt_s:0.411 data_s:0.020",
)

FORMATS: Final[tuple[ProgressFormat, ...]] = (
    _FAIRSEQ,
    _FAIRSEQ_VALID,
    _OPENNMT,
    _MARIAN,
    _TF_TUTORIAL,
    _TF_ESTIMATOR,
    _TF_RATE,
    _TF_BENCHMARKS,
    _LANGUAGE_MODEL,
    _CAFFE,
    _DARKNET,
    _CLIP,
    _LEROBOT,
)
