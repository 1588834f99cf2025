"""DeepSpeed's engine, timer and pipeline lines, and overflow lines of DeepSpeed and Apex.

Sources: deepspeed/runtime/engine.py and utils/timer.py, runtime/pipe/engine.py,
runtime/fp16/loss_scaler.py; apex/amp/scaler.py.
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

_ENGINE = line_format(
    "deepspeed",
    Grammar(
        rf"\bstep=(?P<step>{INTEGER}), skipped=(?P<skipped_total>{INTEGER}), lr=",
    ),
    locate=(r"step=\d+, skipped=\d+, lr=",),
    example="[2024-03-01 10:00:00,120] [INFO] [logging.py:96:log_dist] [Rank 0] step=200,"
    " skipped=1, lr=[0.0001], mom=[(0.9, 0.95)]",
)

_TIMER = line_format(
    "deepspeed_timer",
    Grammar(
        rf"(?:\b\d+/|global_step=)(?P<step>{INTEGER}), (?:RunningAvg)?SamplesPerSec=",
        # The running average hides what happens now, so it is taken only when nothing else is there
        (
            rf"CurrSamplesPerSec=(?P<rate>{NUMBER})",
            rf"SamplesPerSec=(?P<rate>{NUMBER})",
        ),
        {"rate_unit": "samples/s"},
    ),
    locate=(r"SamplesPerSec=",),
    example="[2024-03-01 10:00:00,121] [INFO] [timer.py:260:stop] epoch=0/micro_step=200/"
    "global_step=200, RunningAvgSamplesPerSec=41.2, CurrSamplesPerSec=40.9, MemAllocated=9.1GB",
)

_PIPELINE = line_format(
    "deepspeed_pipeline",
    Grammar(
        rf"\bsteps: (?P<step>{INTEGER}) loss: (?P<loss>{NUMBER})"
        rf" iter time \(s\): (?P<step_time_seconds>{NUMBER})",
        (rf"samples/sec: (?P<rate>{NUMBER})",),
        {"rate_unit": "samples/s"},
    ),
    locate=(r"steps: \d+ loss: \S+ iter time \(s\): ",),
    example="steps: 40 loss: 2.9135 iter time (s): 0.412 samples/sec: 620.600",
)

_OVERFLOW = line_format(
    "overflow",
    Grammar(
        rf"OVERFLOW!.{{0,40}}?Skipping step\.(?: Attempted loss scale: (?P<loss_scale>{NUMBER}))?",
        (),
        {"skipped": 1},
    ),
    locate=(r"OVERFLOW!",),
    example="[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to"
    " 32768",
)

_APEX_OVERFLOW = line_format(
    "apex_overflow",
    Grammar(
        r"Gradient overflow\.\s+Skipping step"
        rf"(?:, loss scaler \d{{1,4}} reducing loss scale to (?P<loss_scale>{NUMBER}))?",
        (),
        {"skipped": 1},
    ),
    locate=(r"Gradient overflow\.\s+Skipping step",),
    example="Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 16384.0",
)

FORMATS: Final[tuple[ProgressFormat, ...]] = (
    _ENGINE,
    _TIMER,
    _PIPELINE,
    _OVERFLOW,
    _APEX_OVERFLOW,
)
