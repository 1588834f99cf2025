"""Redrawn bars: tqdm in all its dresses (HF Trainer, Lightning, fairseq), progressbar2, Keras.

The rate in a bar is an exponential mean, so it is read but paces are taken from differences of its
count and its clock. What a bar counts is told by its label. Sources: tqdm/std.py (`format_meter`,
`format_interval`), progressbar2, keras/src/utils/progbar.py, the `progress` package as CenterNet
uses it (its ETA is the mean of the last ten steps times the steps left).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from relume.features.progress.formats.base import (
    CLOCK,
    INTEGER,
    NUMBER,
    Grammar,
    ProgressFormat,
    group_readers,
    line_format,
    read_groups,
    to_float,
    to_int,
    to_seconds,
)
from relume.features.progress.point import ProgressPoint

_COUNT: Final = r"\d{1,15}(?:\.\d{1,6})?[kMGT]?"
_CLOCK_PART: Final = re.compile(
    rf" \[(?P<elapsed>{CLOCK})(?:<(?P<left>{CLOCK}|\?))?(?:, {{0,3}}"
    r"(?:(?P<number>[\d.]{1,16}[kMGT]?)|\?) ?(?P<words>s/[A-Za-z]{1,12}|[A-Za-z]{1,12}/s))?"
)
_COUNT_PART: Final = re.compile(
    rf"(?<![\w.])(?P<step>{_COUNT})(?:/(?P<total>{_COUNT}|\?)| ?[a-zA-Z]{{1,12}})$"
)
_BEFORE_CLOCK: Final = "0123456789?kMGT"
"""What a count ends with where it has a total: a bar that tells the time left has one."""
_EPOCH_LABEL: Final = re.compile(r"\b[Ee]poch[ :=]{0,2}\[?(\d{1,6})")
_OTHER_PHASES: Final = (
    (
        "evaluation",
        re.compile(
            r"(?i)valid|\bval\b|eval|\btest|predict|infer|sanity|decod|generating(?!.*split)"
        ),
    ),
    (
        "launch",
        re.compile(
            r"\bMap\b|(?i:filter|tokeniz|download|load|fetch|shard|pack|split|compil|cach|index"
            r"|checking|process|extract|read|build|convert|merg|resolv|captur)"
        ),
    ),
    ("checkpoint", re.compile(r"(?i)\bsav|checkpoint|writ|upload")),
)
_LABEL_LOSS: Final = re.compile(rf"oss: ({NUMBER})")
_POSTFIX: Final = tuple(
    (pattern, group_readers(pattern))
    for pattern in (
        re.compile(rf"train_step_timing in s=(?P<step_time_seconds>{NUMBER})"),
        re.compile(rf"oss[=:] ?(?P<loss>{NUMBER})"),
    )
)


def label_phase(label: str) -> str:
    """Return the phase that a bar of this label belongs to; ``train`` when it says nothing else.

    Examples
    --------
    >>> label_phase("Loading checkpoint shards")
    'launch'
    >>> label_phase("Epoch 3")
    'train'
    """
    for phase, words in _OTHER_PHASES:
        if words.search(label):
            return phase
    return "train"


def _read_label(before: str, values: dict[str, Any]) -> None:
    """Read the words in front of a bar: what it counts, and the epoch."""
    label = before.rpartition("%|")[0].rstrip("0123456789") or before
    if not label.strip(" :\r"):
        return
    values["phase"], epoch = _read_words(label[-80:])
    if "oss:" in label and (loss := _LABEL_LOSS.search(label)):
        values["loss"] = to_float(loss.group(1))
    if epoch is not None:
        values["epoch"], values["epoch_bar"] = epoch, True


@lru_cache(maxsize=256)
def _read_words(label: str) -> tuple[str, float | None]:
    """Read phase and epoch of a label; a bar is redrawn a hundred times with the same one."""
    epoch = _EPOCH_LABEL.search(label)
    return label_phase(label), None if epoch is None else to_float(epoch.group(1))


def _parse_tqdm(message: str) -> ProgressPoint | None:
    found = _CLOCK_PART.search(message)
    if found is None or not (found["left"] or found["words"]):
        return None
    if found["left"] and message[found.start() - 1] not in _BEFORE_CLOCK:
        return None
    start = max(0, found.start() - 40)
    count = _COUNT_PART.search(message[start : found.start()])
    if count is None:
        return None
    values: dict[str, Any] = {
        "step": to_int(count["step"]),
        "total": None if count["total"] is None else to_int(count["total"]),
        "elapsed_seconds": to_seconds(found["elapsed"]),
    }
    if found["words"] is not None:
        _read_rate(found["number"], found["words"], values)
    _read_label(message[: start + count.start()], values)
    for pattern, readers in _POSTFIX if len(message) > found.end() + 1 else ():
        hit = pattern.search(message, found.end())
        if hit is not None:
            read_groups(hit, readers, values)
    return ProgressPoint("tqdm", is_bar=True, **values)


def _read_rate(number: str | None, words: str, values: dict[str, Any]) -> None:
    rate = None if number is None else to_float(number.rstrip("kMGT"))
    if words.startswith("s/"):
        rate, words = (1.0 / rate if rate else None), f"{words[2:]}/s"
    values["rate"], values["rate_unit"] = rate, words


def _time_of_eta(values: dict[str, Any]) -> None:
    """Derive the step's time: this bar's ETA is the mean of ten steps times the steps left."""
    eta, left = values.pop("_left", None), (values.get("total") or 0) - values.get("step", 0)
    if eta is not None and left > 0:
        values["step_time_seconds"] = eta / left


def _centernet(phase: str, word: str) -> ProgressFormat:
    return line_format(
        "centernet",
        Grammar(
            rf"\b{word}: \[(?P<epoch>{INTEGER})\]\[(?P<step>{INTEGER})/(?P<total>{INTEGER})\]\s?"
            rf"\|Tot: (?P<elapsed>{CLOCK}) \|ETA: (?P<left>{CLOCK})",
            (
                rf"\|Data (?P<data_seconds>{NUMBER})s",
                rf"\|loss (?P<loss>{NUMBER})",
            ),
            {"is_bar": True, "epoch_bar": True, "phase": phase},
            _time_of_eta,
        ),
        locate=(rf"{word}: \[\d+\]\[\d+/\d+\]\s?\|Tot: ",),
        example=f"ctdet/run |####   | {word}: [3][200/1000]|Tot: 0:02:00 |ETA: 0:08:00 |loss 1.9000"
        " |Data 0.010s(0.012s) |Net 0.600s",
    )


_PROGRESSBAR = line_format(
    "progressbar",
    Grammar(
        rf"\((?P<step>{INTEGER}) of (?P<total>{INTEGER})\) \|.{{0,200}}?"
        rf"Elapsed Time: {{1,3}}(?P<elapsed>{CLOCK})",
        (),
        {"is_bar": True},
    ),
    locate=(r"\d\) \|",),
    example=" 40% (40 of 100) |########            | Elapsed Time: 0:00:20 ETA:   0:00:30",
)

_KERAS = line_format(
    "keras",
    Grammar(
        rf"(?<![\d/.])(?P<step>{INTEGER})/(?P<total>{INTEGER})\s{{1,2}}(?:\[[=>.]{{2,}}\]|━{{2,}})",
        (
            rf"\s(?P<step_time_ms>{NUMBER})ms/(?:step|sample|epoch)",
            rf"\s(?P<step_time_seconds>{NUMBER})s/(?:step|sample|epoch)",
            rf"\bloss: (?P<loss>{NUMBER})",
        ),
        {"is_bar": True, "epoch_bar": True},
    ),
    locate=(r"\d/\d+ {1,2}\[[=>.]{2}", r"ms/step - "),
    example=" 120/1875 [=>............................] - ETA: 1:10 - 40ms/step - loss: 2.1034",
)

_RICH = line_format(
    "rich_bar",
    Grammar(
        rf"━\s{{1,3}}(?P<step>{INTEGER})/(?P<total>{INTEGER})\s{{1,3}}(?P<elapsed>{CLOCK}) •",
        (
            rf"\s(?P<rate>{NUMBER})(?P<rate_unit>it/s)",
            rf"\bEpoch (?P<epoch>{INTEGER})",
            rf"\b(?:train_)?loss: (?P<loss>{NUMBER})",
        ),
        {"is_bar": True, "epoch_bar": True},
    ),
    locate=(r"\d/\d+ \d+:\d\d:\d\d •",),
    example="Epoch 1/9  ━━━━━━━━━━ 12/100 0:00:05 • 0:00:40 2.30it/s v_num: 0 train_loss: 1.202",
)

FORMATS: Final[tuple[ProgressFormat, ...]] = (
    _centernet("train", "train"),
    _centernet("evaluation", "val"),
    _PROGRESSBAR,
    ProgressFormat(
        "tqdm",
        (
            r":\d\d<[\d?]",  # no more than that: " [" stands on every other line
            r"\d ?[A-Za-z]+ \[\d+:\d\d[:\d]*, +[\d.?]+ ?\S+/",
        ),
        _parse_tqdm,
        "Train:  12%|█▏        | 120/1000 [04:00<29:20,  2.00s/it, loss=1.92]",
    ),
    _RICH,
    _KERAS,
)
