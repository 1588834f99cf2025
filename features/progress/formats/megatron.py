"""Megatron-LM, Megatron-DeepSpeed, GPT-NeoX and the like: ``iteration N/ M | name: value | …``.

The time per iteration is the mean since the printer's line before (``--log-interval``).
Sources: megatron/training/training.py (older: megatron/training.py), GPT-NeoX megatron/logging.py,
the m4 (IDEFICS) trainer.
"""

from __future__ import annotations

from typing import Any, Final

from relume.features.progress.formats.base import (
    CLOCK,
    INTEGER,
    NUMBER,
    Grammar,
    ProgressFormat,
    line_format,
)


def _rate_of_batch(values: dict[str, Any]) -> None:
    """Derive samples per second: a batch that ramps up takes longer and is not slower."""
    batch, seconds = values.pop("_batch_size", None), values.get("step_time_seconds")
    tflops = values.pop("_tflops", None)
    if "rate" in values:
        return
    if batch and seconds:
        values["rate"] = batch / seconds
    elif tflops:
        values["rate"], values["rate_unit"] = tflops, "TFLOP/s"


_MEGATRON = line_format(
    "megatron",
    Grammar(
        rf"\biteration\s+(?P<step>{INTEGER})\s*/\s*(?P<total>{INTEGER})\s*\|",
        (
            rf"per iteration \(ms\):\s*(?P<step_time_ms>{NUMBER})",
            rf"per iteration \(s\):\s*(?P<step_time_seconds>{NUMBER})",
            rf"samples(?: per second|/sec):\s*(?P<rate>{NUMBER})",
            rf"TFLOPs?(?:/s/GPU\))?:\s*(?P<tflops>{NUMBER})",
            rf"global batch size:\s*(?P<batch_size>{INTEGER})",
            rf"number of nan iterations:\s*(?P<nan_count>{INTEGER})",
            rf"\| (?:lm[ _-])?loss(?: value)?:\s*(?P<loss>{NUMBER})",
            rf"loss scale:\s*(?P<loss_scale>{NUMBER})",
            rf"grad norm:\s*(?P<grad_norm>{NUMBER})",
            rf"number of skipped iterations:\s*(?P<skipped>{INTEGER})",
        ),
        {"rate_unit": "samples/s"},
        _rate_of_batch,
    ),
    locate=(r"iteration\s+\d+\s*/\s*\d+\s*\|",),
    example=" iteration      120/   50000 | consumed samples:        61440 | elapsed time per"
    " iteration (ms): 5120.4 | learning rate: 1.000E-04 | global batch size:   512 | lm loss:"
    " 3.214500E+00 | loss scale: 65536.0 | grad norm: 0.812 | number of skipped iterations:   0 |"
    " number of nan iterations:   0 |",
)

_M4 = line_format(
    "m4",
    Grammar(
        rf"\biteration:\s*(?P<step>{INTEGER})/(?P<total>{INTEGER})\s+\d+%\s*\|",
        (
            rf"elapsed time:\s*(?P<elapsed>{CLOCK})",
            rf"per_token_loss:\s*(?P<loss>{NUMBER})",
            rf"loss_scale:\s*(?P<loss_scale>{NUMBER})",
            rf"grad_norm:\s*(?P<grad_norm>{NUMBER})",
        ),
    ),
    locate=(r"iteration:\s*\d+/\d+\s+\d+%",),
    example="iteration:   800/200000   0% | elapsed time: 02:10:05 | per_token_loss: 3.4100 |"
    " lr: 9.000E-06 | num_opt_steps: 800 |",
)

_VALIDATION = line_format(
    "megatron_validation",
    Grammar(
        rf"\b(?:valid(?:ation)?|test) loss at iteration (?P<step>{INTEGER})\b",
        (rf"loss value:\s*(?P<loss>{NUMBER})",),
        {"phase": "evaluation"},
    ),
    locate=(r"loss at iteration \d",),
    example=" validation loss at iteration 1000 | lm loss value: 2.510000E+00 |"
    " lm loss PPL: 1.230000E+01 |",
)

FORMATS: Final[tuple[ProgressFormat, ...]] = (_MEGATRON, _M4, _VALIDATION)
