"""The last resort: a counter word with a number, and a metric, on a line that is no setting.

The line is cut into numbers, each with the word before it and the unit after it; tables of words
say what they mean. What a plain ``time`` stands for (one step, the steps since the line before, the
whole job) can't be told from one line; the judgement over many points decides that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from relume.features.progress.formats.base import (
    CLOCK,
    NUMBER,
    ProgressFormat,
    to_float,
    to_int,
    to_seconds,
    words,
)
from relume.features.progress.point import ProgressPoint

_TOKEN: Final = re.compile(
    r"(?<![\w./\\$-])(?:(?P<name>[A-Za-z][\w/%-]*+(?: ?\([A-Za-z/]{1,8}\))?)"
    r"[\"']?\s{0,3}(?:[:=#]|->)?\s{0,12}[\[(\"']{0,2}\s{0,9})?+"
    rf"(?P<value>{CLOCK}|{NUMBER})"
    r"(?P<more>\s?(?:/|of)\s?(?P<total>\d{1,15})(?![\d.]))?"
    # A word followed by = or : is the name of the next number, not the unit of this one.
    r"(?=[\])\"']?\s?(?P<unit>[A-Za-z]{1,12}+(?:/[A-Za-z]{1,10}+)?+)(?![\w/]|\s?[=:])|)"
    r"(?P<tail>[\w-]|\.\d|>)?"
)
_MAX_TOKENS: Final = 64
"""Numbers read of one line; longer lines are tables, not progress."""
_LEADING_STEP: Final = re.compile(r"(?:^|[\]\s])(\d{5,10})> \w")

_COUNTERS: Final[dict[str, int]] = {
    "global_step": 0,
    "globalstep": 0,
    "train_step": 1,
    "training_step": 1,
    "optimizer_step": 1,
    "step": 2,
    "iter": 3,
    "iters": 3,
    "iteration": 3,
    "itr": 3,
    "num_updates": 4,
    "nupdates": 4,
    "updates": 4,
    "update": 4,
    "up": 4,
    "tick": 5,
    "minibatch": 6,
    "mini-batch": 6,
    "batch": 6,
    "batch_idx": 6,
}
"""Counter words; the lowest number wins where a line has several."""
_EPOCHS: Final = frozenset({"epoch", "ep"})
_METRICS: Final = words(
    "loss losses acc accuracy ppl perplexity score reward mse mae iou psnr bleu wer cer ter auc f1"
    " elbo nll bpc bpb cost norm lr lrate speed throughput eta map top err xent kl dice fid return"
    " result entropy rmse time mfu tflops dt wps tps tgs ips fps precision recall"
)
"""Last part of a name, digits dropped, that makes a line a report rather than a setting."""
_ROLES: Final[dict[str, str]] = {
    name: role
    for role, names in {
        "step_time_seconds": "time step_time iter_time iteration_time batch_time time/step time/it"
        " time/iter time/batch time_per_step time_per_iter time_per_iteration time_per_batch"
        " sec/step timer s/it s/itr s/iter sec/it sec/iter sec/batch sec/tick step_avg batch_cost"
        " avg_batch_cost iter_cost dt train_step_timing step_timing ms/batch ms/step ms/it ms/iter",
        "interval_seconds": "took duration",
        "elapsed_seconds": "elapsed elapsed_time time_elapsed total_time wall wall_time walltime"
        " runtime train_time",
        "data_seconds": "data data_time data_s data_cost data_load data_load_time data_loading"
        " data_wait dataload dataloading dataloader dataloader_time load_time loading_time"
        " reader_cost avg_reader_cost reader_time fetch_time input_time input_wait"
        " batch_load_time data_t",
        "_work_seconds": "fwd bwd forward backward compute fwd_time bwd_time forward_time"
        " backward_time compute_time",
        "_total_seconds": "total",
        "rate": "wps tps tgs ips fps throughput speed",
    }.items()
    for name in names.split()
}
"""What the number behind a name is; other names ending in ``/s`` or ``_per_second`` are rates."""
_METERS: Final[dict[str, str]] = {
    "data (t)": "data_seconds",
    "batch (t)": "step_time_seconds",
    "bt": "step_time_seconds",
}
"""Names of running meters that mean something else, or nothing, as plain words."""
_CLOCK_NAMES: Final = frozenset({"time", "timer", "cost"})
"""Names of a step's time that some give to the clock of the job."""
_PARTS: Final = frozenset({"_work_seconds", "_total_seconds"})
"""Roles of numbers that are times only where their unit says so."""
_RATE_NAME: Final = re.compile(r"(?:/|_per_)s(?:ec(?:ond)?)?(?:_per_gpu|/gpu)?$")
_NO_RATES: Final = words("b kb mb gb kib mib gib bit mbit gbit flop flops tflop tflops")
_LONG_UNITS: Final = words("m min mins minutes h hr hrs hours d days")
_SECONDS: Final[dict[str, float]] = {
    "s": 1.0,
    "sec": 1.0,
    "secs": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "ms": 1e-3,
    "msec": 1e-3,
}
_STEP_UNITS: Final = words("it itr iter iters iteration step batch update")
_CALL: Final = re.compile(r"[a-z]\([a-z_]{1,30}=")
_SPLIT_UNIT: Final = re.compile(r"(?i)speed:? [\d.]{1,12}\(")
"""A speed whose unit stands behind a parenthesis: whether it is a time or a rate can't be told."""
_SETTINGS: Final = (
    "....",
    "namespace(",
    "argument",
    "config",
    "hparam",
    "args",
    'file "',
    "traceback",
    "error:",
    "exception",
    ".ckpt",
    ".pt",
    ".safetensors",
    "nccl",
    "saving",
    "saved",
    "checkpoint",
    "resum",
    "warn",
    "max_steps",
    "slurm",
    "srun:",
    "deprecat",
    "export ",
    " --",
    "train_batch_size",
    "train_runtime",
    "scheduler(",
)
"""Words of settings, file names, tracebacks and other software: such a line is never progress."""
_EVALUATION: Final = re.compile(r"\b(?:valid|val|eval|test|dev)(?:idation|idate|uation|ing)?\b")


@dataclass(slots=True)
class _Reading:
    """What the numbers of one line came to."""

    values: dict[str, Any] = field(default_factory=dict)
    counter: int = 99
    has_epoch: bool = False
    work_seconds: float = 0.0
    """Sum of the parts of a step that are no wait for input."""
    total_seconds: float | None = None
    has_metric: bool = False
    is_per_step: bool = False
    """The step's time is named or measured as one step's, so it can't be a clock."""
    bare_seconds: float | None = None

    def put(self, name: str, value: Any) -> None:  # noqa: ANN401 - any field of a point
        if value is not None:
            self.values.setdefault(name, value)

    def put_part(self, role: str, seconds: float | None) -> None:
        """Take in a part of a step's time, or what its parts come to."""
        if role == "_total_seconds":
            self.total_seconds = self.total_seconds or seconds
        else:
            self.work_seconds += seconds or 0.0

    def sum_parts(self) -> None:
        """Put the step's time together where only its parts are printed."""
        wait = self.values.get("data_seconds")
        if wait is not None and self.work_seconds:
            self.put("step_time_seconds", self.total_seconds or wait + self.work_seconds)


def _read_counter(reading: _Reading, rank: int, found: re.Match[str]) -> bool:
    step = to_int(found["value"])
    text = found["value"].rstrip(".")  # "Step: 110... loss: 2.1"
    if rank >= reading.counter or step is None or found["tail"] or "." in text:
        return False
    reading.counter = rank
    reading.values["step"] = step
    reading.values["total"] = None if found["total"] is None else to_int(found["total"])
    return True


def _read_epoch(reading: _Reading, found: re.Match[str]) -> None:
    if found["tail"] or reading.has_epoch or (epoch := to_float(found["value"])) is None:
        return
    reading.has_epoch = True
    reading.values["epoch"] = epoch
    if reading.counter > len(_COUNTERS) and epoch.is_integer():
        reading.values["step"] = int(epoch)
        reading.values["total"] = None if found["total"] is None else to_int(found["total"])


def _scaled(found: re.Match[str], name: str) -> float | None:
    """Return the value in seconds: its unit says how, or its name."""
    value = to_float(found["value"])
    unit = (found["unit"] or "").lower().partition("/")[0]
    if value is None or unit in _LONG_UNITS:
        return None
    named_ms = "(ms)" in name or name.startswith("ms/")
    return value * _SECONDS.get(unit, 1e-3 if named_ms else 1.0)


def _role(plain: str, before: str, unit: str) -> str | None:
    """Return what the number behind `plain` is; some words need the word before or the unit."""
    role = _ROLES.get(plain)
    if role == "rate" and unit.partition("/")[0] in _SECONDS:
        return "step_time_seconds"  # "speed: 0.31s / iter" says how slow it is
    if plain == "time" and before.endswith("data "):
        return "data_seconds"
    if role in _PARTS and unit not in _SECONDS:
        return None
    return "step_time_seconds" if plain == "cost" and before.endswith("time ") else role


def _read_named(reading: _Reading, name: str, found: re.Match[str], before: str) -> None:
    """Read a number by the word in front of it."""
    plain = name.partition("(")[0].rstrip()
    role = _METERS.get(name) or _role(plain, before, (found["unit"] or "").lower())
    if plain == "dt" and "step_time_seconds" in reading.values:
        role = "data_seconds"  # "BT 1.02 DT 0.01"; alone it is a step's time
    if role == "rate" or (role is None and _RATE_NAME.search(plain)):
        unit = found["unit"] or ""
        reading.put("rate", to_float(found["value"]))
        reading.put("rate_unit", unit if "/" in unit else plain)
        reading.has_metric = True
    elif role in _PARTS:
        reading.put_part(role, _scaled(found, name))
    elif role is not None:
        reading.is_per_step |= role == "step_time_seconds" and plain not in _CLOCK_NAMES
        reading.put(role, _scaled(found, name))
        reading.has_metric |= role == "step_time_seconds"
    elif plain.endswith("loss") and "val" not in plain:
        reading.put("loss", to_float(found["value"]))
    elif plain.endswith("norm"):
        reading.put("grad_norm", to_float(found["value"]))


def _read_unit(reading: _Reading, message: str, found: re.Match[str], unit: str) -> None:
    """Read a number by the unit behind it."""
    first, _, second = unit.partition("/")
    if second in _STEP_UNITS and first in _SECONDS:
        reading.values["step_time_seconds"] = _scaled(found, "")
        reading.is_per_step = True
    elif second in _SECONDS and first not in _NO_RATES:
        reading.put("rate", to_float(found["value"]))
        reading.put("rate_unit", unit)
    elif unit in _SECONDS and found["name"] is None:
        # A duration set apart from the text around it; "sleeping 30 seconds" is none.
        if not message[: found.start()].rstrip().endswith(("(", "|", ",", ";", "[")):
            return
        if reading.bare_seconds is None:
            reading.bare_seconds = _scaled(found, "")
    else:
        return
    reading.has_metric = True


def _is_metric(name: str) -> bool:
    last = name.partition("(")[0].rstrip().rpartition("/")[2].rpartition("_")[2]
    return last.rstrip("0123456789@-") in _METRICS or name.endswith(("learning_rate", "/step"))


def _read_token(reading: _Reading, message: str, found: re.Match[str]) -> None:
    name = (found["name"] or "").lower()
    unit = (found["unit"] or "").lower()
    if name in _COUNTERS:
        _read_counter(reading, _COUNTERS[name], found)
    elif name in _EPOCHS:
        _read_epoch(reading, found)
    elif ":" in found["value"]:
        if unit == "elapsed" or _ROLES.get(name) == "elapsed_seconds":
            reading.put("elapsed_seconds", to_seconds(found["value"]))
        reading.has_metric |= name != "" and _is_metric(name)
    elif not name and found["total"] and reading.has_epoch and reading.counter > len(_COUNTERS):
        reading.values["epoch_bar"] = _read_counter(reading, len(_COUNTERS), found)
    else:
        if name:
            start = found.start()
            reading.has_metric |= _is_metric(name)
            _read_named(reading, name, found, message[max(0, start - 6) : start].lower())
        if unit:
            _read_unit(reading, message, found, unit)


def _is_setting(lowered: str) -> bool:
    for word in _SETTINGS:  # a generator would take as long as all the rest
        if word in lowered:
            return True
    return _CALL.search(lowered) is not None


def _parse(message: str) -> ProgressPoint | None:
    lowered = message.lower()
    if _is_setting(lowered):
        return None
    message = _SPLIT_UNIT.sub("", message)
    reading = _Reading()
    for found in islice(_TOKEN.finditer(message), _MAX_TOKENS):
        _read_token(reading, message, found)
    leading = None if "step" in reading.values else _LEADING_STEP.search(message)
    if leading is not None:
        reading.values["step"] = to_int(leading.group(1))
    if not reading.has_metric or "step" not in reading.values:
        return None
    reading.sum_parts()
    reading.put("step_time_seconds", reading.bare_seconds)
    if reading.has_epoch and reading.counter < len(_COUNTERS):
        reading.values["epoch_bar"] = float(reading.values["epoch"]).is_integer()
    if "train" not in lowered and _EVALUATION.search(lowered):
        reading.values["phase"] = "evaluation"
    counts_epochs = reading.has_epoch and reading.counter > len(_COUNTERS)
    if counts_epochs and "interval_seconds" in reading.values:
        reading.put("step_time_seconds", reading.values.pop("interval_seconds"))
    return ProgressPoint(_format_id(reading, counts_epochs=counts_epochs), **reading.values)


def _format_id(reading: _Reading, *, counts_epochs: bool) -> str:
    if counts_epochs:
        return "generic_epochs"
    return "generic_steps" if reading.is_per_step else "generic"


FORMATS: Final[tuple[ProgressFormat, ...]] = (
    ProgressFormat(
        "generic",
        (
            r"(?i)(step|iter(ation)?s?|itr|epoch|batch|updates?|tick)[\"']?\s{0,3}[:=#]?[\s\[(]{0,9}\d",
            r"\d{5,10}> \w",
        ),
        _parse,
        "[train] Epoch 2 Step 400 | loss 1.912 | lr 1.0e-04 | time 0.412 s | data 0.010 s",
    ),
)
