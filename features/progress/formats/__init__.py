"""The catalogue of progress formats, most particular first; ``generic`` is the last resort."""

from __future__ import annotations

from typing import Final

from relume.features.progress.formats import (
    bars,
    deepspeed,
    generic,
    huggingface,
    llm,
    megatron,
    mlperf,
    speech,
    tables,
    text,
    vision,
)
from relume.features.progress.formats.base import ProgressFormat

FORMATS: Final[tuple[ProgressFormat, ...]] = (
    *llm.FORMATS,
    *megatron.FORMATS,
    *deepspeed.FORMATS,
    *huggingface.FORMATS,
    *mlperf.FORMATS,
    *vision.FORMATS,
    *speech.FORMATS,
    *text.FORMATS,
    *tables.FORMATS,
    *bars.FORMATS,
    *generic.FORMATS,
)
"""All formats in the order in which they are tried."""

__all__ = ["FORMATS", "ProgressFormat"]
