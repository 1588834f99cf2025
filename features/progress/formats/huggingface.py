"""Metric lines of the Hugging Face Trainer and its users: axolotl, TRL, ms-swift, LLaMA-Factory.

The dict has no step number: `epoch`, two decimals, is the only position unless a user of the
Trainer adds one. Sources: transformers/trainer_callback.py, ms-swift swift/trainers/callback.py,
LLaMA-Factory train/callbacks.py.
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

_FIELDS: Final = (
    rf"'epoch': '?(?P<epoch>{NUMBER})",
    rf"'global_step/max_steps': '(?P<step>{INTEGER})/(?P<total>{INTEGER})'",
    r"'elapsed_time': '(?P<elapsed_words>[\d.]+ ?[dhms][\d. dhms]{0,30})'",
    rf"'train_speed\(s/it\)': '?(?P<step_time_seconds>{NUMBER})",
    rf"'train_speed\(iter/s\)': '?(?P<rate>{NUMBER})",
    rf"'step_time': '?(?P<step_time_seconds>{NUMBER})",
    rf"'grad_norm': '?(?P<grad_norm>{NUMBER})",
)

_TRAIN = line_format(
    "hf_trainer",
    Grammar(
        rf"\{{'loss': '?(?P<loss>{NUMBER})",
        _FIELDS,
        {"rate_unit": "it/s"},
    ),
    locate=(r"\{'loss': ",),
    example="{'loss': 1.8102, 'grad_norm': 0.41, 'learning_rate': 2e-05, 'epoch': 0.12}",
)

_REWARD = line_format(
    "trl",
    Grammar(
        r"\{'(?:num_tokens|reward|rewards/[\w/]{1,60}|objective/[\w/]{1,60})': ",
        (rf"'loss': '?(?P<loss>{NUMBER})", *_FIELDS),
        {"rate_unit": "it/s"},
    ),
    locate=(r"\{'(num_tokens|reward|objective)",),
    example="{'num_tokens': 120032.0, 'reward': 0.51, 'loss': 0.002, 'step_time': 12.5, 'epoch':"
    " 0.03}",
)

_EVALUATION = line_format(
    "hf_evaluation",
    Grammar(
        r"\{(?:'global_steps?': \d{1,12}, )?'eval_\w{1,60}': ",
        (
            rf"'eval_loss': '?(?P<loss>{NUMBER})",
            rf"'global_steps?': (?P<step>{INTEGER})",
            *_FIELDS[:2],
        ),
        {"phase": "evaluation"},
    ),
    locate=(r"'eval_\w+': ",),
    example="{'eval_loss': 1.72, 'eval_runtime': 33.1, 'eval_samples_per_second': 30.2, 'epoch':"
    " 1.0}",
)

_JSON = line_format(
    "llamafactory",
    Grammar(
        rf'"current_steps": (?P<step>{INTEGER}), "total_steps": (?P<total>{INTEGER})',
        (
            rf'"loss": (?P<loss>{NUMBER})',
            rf'"epoch": (?P<epoch>{NUMBER})',
            rf'"elapsed_time": "(?P<elapsed>{CLOCK})"',
        ),
    ),
    locate=(r'"current_steps": \d',),
    example='{"current_steps": 40, "total_steps": 900, "loss": 1.32, "lr": 1e-05, "epoch": 0.13,'
    ' "percentage": 4.44, "elapsed_time": "0:03:20", "remaining_time": "1:11:40"}',
)

FORMATS: Final[tuple[ProgressFormat, ...]] = (_TRAIN, _REWARD, _EVALUATION, _JSON)
