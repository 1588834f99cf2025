"""Speech tool boxes and NVIDIA's examples: DLLogger, wav2letter and flashlight, RETURNN, ESPnet.

Sources: NVIDIA/dllogger, flashlight recipes (Train.cpp), rwth-i6/returnn torch/engine.py,
espnet2/train/reporter.py, NVIDIA/tacotron2 and waveglow (train.py).
"""

from __future__ import annotations

from typing import Final

from relume.features.progress.formats.base import (
    INTEGER,
    NUMBER,
    Grammar,
    ProgressFormat,
    line_format,
    time_with_wait,
)

_DLLOGGER = line_format(
    "dllogger",
    Grammar(
        rf"\bDLL \d{{4}}-\S{{5}} \S{{8,20}} - (?:\(?(?:Training )?[Ee]poch:?\s{{1,9}}"
        rf"(?P<epoch>{INTEGER}) \|? ?)?(?:Training )?"
        rf"[Ii]ter(?:ation)?:?\s{{1,9}}(?P<step>{INTEGER})(?:/(?P<total>{INTEGER}))?\s",
        (
            rf"took\s{{1,4}}(?P<interval_seconds>{NUMBER}) s\b",
            rf"\.total_ips : (?P<rate>{NUMBER}) (?P<rate_unit>[a-z]{{1,12}}/s)\b",
            rf"\.data_time : (?P<data_seconds>{NUMBER}) s\b",
            rf"\.compute_time : (?P<compute_seconds>{NUMBER}) s\b",
            rf"\|\s{{1,4}}(?P<rate>{NUMBER}) (?P<rate_unit>[a-z]{{1,12}}/s)\b",
            rf"loss ?:?\s{{1,4}}(?P<loss>{NUMBER})",
        ),
        {"epoch_bar": True},
        time_with_wait,
    ),
    locate=(r"\bDLL \d{4}-\S{5} \S+ - .{0,40}[Ii]ter",),
    example="DLL 2022-06-14 10:00:53.659718 - epoch    1 | iter   12/48 | loss 40.97 | 5730.98"
    " frames/s | took 24.54 s | lrate 1.00e-03",
)

_DLLOGGER_EPOCH = line_format(
    "dllogger_epoch",
    Grammar(
        rf"\bDLL \d{{4}}-\S{{5}} \S{{8,20}} - epoch\s{{1,9}}(?P<step>{INTEGER}) \|"
        r"\s{1,4}avg train ",
        (
            rf"avg train (?P<rate_unit>[a-z]{{1,12}}/s)\s{{1,9}}(?P<rate>{NUMBER})",
            rf"took\s{{1,4}}(?P<interval_seconds>{NUMBER}) s\b",
        ),
    ),
    locate=(r"\bDLL \d{4}-\S{5} \S+ - epoch\s+\d+ \|\s+avg train ",),
    example="DLL 2022-06-14 10:20:53.659718 - epoch    1 | avg train utts/s 812.02 | took 340.2 s",
)

_FLASHLIGHT = line_format(
    "flashlight",
    Grammar(
        rf"\bepoch:\s{{1,12}}(?P<epoch>{INTEGER}) \| nupdates:\s{{1,16}}(?P<step>{INTEGER}) \|",
        (
            rf"bch\(ms\): (?P<step_time_ms>{NUMBER})",
            rf"smp\(ms\): (?P<data_ms>{NUMBER})",
            rf"loss:\s{{1,12}}(?P<loss>{NUMBER})",
            rf"thrpt\(sec/sec\): (?P<rate>{NUMBER})",
        ),
        {"rate_unit": "sec/sec"},
    ),
    locate=(r"nupdates:\s+\d+ \|",),
    example="I0302 09:10:11.120034  2210 Train.cpp:345] epoch:        2 | nupdates:        4000 |"
    " lr: 0.050 | runtime: 00:18:02 | bch(ms): 540.10 | smp(ms): 0.61 | loss:   20.1100 |"
    " thrpt(sec/sec): 70.20",
)

_RETURNN = line_format(
    "returnn",
    Grammar(
        rf"\bep (?P<epoch>{INTEGER}) train, step (?P<step>{INTEGER})\b",
        (
            rf", (?P<step_time_seconds>{NUMBER}) sec/step",
            rf", (?:ce|loss|ctc) (?P<loss>{NUMBER})",
        ),
        {"epoch_bar": True},
    ),
    locate=(r"\bep \d+ train, step \d",),
    example="ep 3 train, step 40, ce 4.102, fer 0.801, mem_usage:cuda:0 6.5GB, 0.912 sec/step",
)

_ESPNET = line_format(
    "espnet",
    Grammar(
        rf"\b(?P<epoch>{INTEGER})epoch:train:\d{{1,12}}-(?P<step>{INTEGER})batch: ",
        (
            # Its iter_time is the wait for the batch, train_time the whole step.
            rf"train_time=(?P<step_time_seconds>{NUMBER})",
            rf"iter_time=(?P<data_seconds>{NUMBER})",
            rf" loss=(?P<loss>{NUMBER})",
        ),
        {"epoch_bar": True},
    ),
    locate=(r"epoch:train:\d+-\d+batch: ",),
    example="[node001] 2024-02-22 10:29:16,541 (trainer:672) INFO: 1epoch:train:51-100batch:"
    " iter_time=0.006, forward_time=0.210, loss=98.1, optim0_lr0=1.0e-04, train_time=0.812",
)

_TRAIN_ITER = line_format(
    "nvidia_train_iter",
    Grammar(
        rf"\bTrain iter\s{{1,12}}(?P<step>{INTEGER}) loss (?P<loss>{NUMBER})",
        (
            rf"Grad Norm (?P<grad_norm>{NUMBER})",
            rf" (?P<step_time_seconds>{NUMBER})s/it",
        ),
    ),
    locate=(r"Train iter\s+\d+ loss ",),
    example="Train iter       40 loss 9.316841 Grad Norm 1.800460 3.12s/it",
)

_TRAINING_ITER = line_format(
    "niftynet",
    Grammar(
        rf"\bTraining iter (?P<step>{INTEGER}), .{{0,200}}?\((?P<step_time_seconds>{NUMBER})s\)",
        (rf" loss=(?P<loss>{NUMBER})",),
    ),
    locate=(r"Training iter \d+, ",),
    example="INFO:niftynet:2019-02-04 10:22:25,146: Training iter 151, loss=0.3117 (2.145937s)",
)

FORMATS: Final[tuple[ProgressFormat, ...]] = (
    _DLLOGGER,
    _DLLOGGER_EPOCH,
    _FLASHLIGHT,
    _RETURNN,
    _ESPNET,
    _TRAIN_ITER,
    _TRAINING_ITER,
)
