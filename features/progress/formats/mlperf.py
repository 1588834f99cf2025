"""MLPerf result logging: JSON behind ``:::MLLOG``, printed by one rank or by every one.

Read field by field rather than as JSON, since lines of several ranks can run into each other and
be cut. Source: mlcommons/logging, mlperf_logging/mllog/constants.py.
"""

from __future__ import annotations

import re
from typing import Any, Final

from relume.features.progress.formats.base import (
    NUMBER,
    ProgressFormat,
    to_float,
    to_int,
    words,
)
from relume.features.progress.point import ProgressPoint

_KEY: Final = re.compile(r':::MLLOG \{.{0,200}?"key": "(\w{1,60})"')
_TIME: Final = re.compile(r'"time_ms": (\d{1,16})')
_VALUE: Final = re.compile(rf'"value": (?:\{{"(\w{{1,40}})": )?({NUMBER})')
_STEP: Final = re.compile(
    r'"(?:step|samples_count|step_num|iteration|epoch_num|first_epoch_num)": (\d{1,15})\b'
)
_TRAIN_KEYS: Final = words(
    "block_start block_stop epoch_start epoch_stop tracked_stats throughput train_loss"
)
_EVALUATION_KEYS: Final = words("eval_start eval_stop eval_accuracy eval_error eval_loss")


def _read_value(key: str, message: str, values: dict[str, Any]) -> None:
    found = _VALUE.search(message)
    if found is None:
        return
    number = to_float(found.group(2))
    if key == "train_loss":
        values["loss"] = number
    elif key == "throughput" or (key == "tracked_stats" and found.group(1) in _RATES):
        values["rate"], values["rate_unit"] = number, found.group(1) or key


_RATES: Final = words("throughput imgs_sec samples_per_sec images_per_second")


def _parse(message: str) -> ProgressPoint | None:
    found = _KEY.search(message)
    if found is None:
        return None
    key = found.group(1)
    if key not in _TRAIN_KEYS and key not in _EVALUATION_KEYS:
        return None
    values: dict[str, Any] = {"phase": "train" if key in _TRAIN_KEYS else "evaluation"}
    step = _STEP.search(message, found.end())
    if step is not None:
        values["step"] = to_int(step.group(1))
    clock = _TIME.search(message, found.start())
    if clock is not None:
        values["elapsed_seconds"] = int(clock.group(1)) / 1000.0
    _read_value(key, message, values)
    return ProgressPoint("mlperf", **values)


FORMATS: Final[tuple[ProgressFormat, ...]] = (
    ProgressFormat(
        "mlperf",
        (r":::MLLOG \{",),
        _parse,
        '0: :::MLLOG {"namespace": "", "time_ms": 1700000000120, "event_type": "POINT_IN_TIME",'
        ' "key": "tracked_stats", "value": {"throughput": 2100.5}, "metadata": {"file": "train.py",'
        ' "lineno": 90, "step": 12}}',
    ),
)
