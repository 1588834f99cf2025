"""Step times and rates that a progress line states: made longer, whatever the line looks like.

No format is known here. The reader of progress says what a line states; the number by which that
changes, and nothing else that is read, is the one that stated it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields

from relume.features.progress.formats.base import to_seconds
from relume.features.progress.parse import parse_progress
from relume.features.progress.point import ProgressPoint

_NUMBER = re.compile(r"\d[\d,]{0,20}(?:\.\d{1,20})?(?:[eE][-+]?\d{1,3})?")
_CLOCK = re.compile(r"(?<![\d:])\d{1,5}:\d{2}(?::\d{2})?(?![\d:])")
_MAX_NUMBERS = 64
"""A progress line has fewer; more are passed over."""
_TOLERANCE = 0.02
"""How far a changed value may be from what it should be: it is printed with few digits."""
_TIMES = "step_time_seconds", "interval_seconds"
_OF_TIME = frozenset({*_TIMES, "rate", "elapsed_seconds", "data_seconds"})
"""What may change with the time that a step takes."""


def slowed_line(text: str, factor: float) -> str:
    """Return a line whose stated step time is `factor` times as long, and its rate as much lower.

    A line that states neither stays as it is.

    Examples
    --------
    >>> slowed_line("iter 210: loss 3.9121, time 412.10ms, mfu 31.20%", 2.0)
    'iter 210: loss 3.9121, time 824.20ms, mfu 31.20%'
    >>> slowed_line("checkpoint saved in 12 s", 2.0)
    'checkpoint saved in 12 s'
    """
    point = parse_progress(text)
    if point is None:
        return text
    for field in (*_TIMES, "rate"):
        value = getattr(point, field)
        if value:
            text = _changed(text, field, value * (factor if field in _TIMES else 1 / factor))
    return text


def _changed(text: str, field: str, wanted: float) -> str:
    """Change the number that states `field`, so that `wanted` is read; else nothing."""
    point = parse_progress(text)
    if point is None or _is_close(getattr(point, field), wanted):
        return text
    for candidate in _candidates(text, getattr(point, field) or wanted, wanted):
        found = parse_progress(candidate)
        if found is not None and _is_close(getattr(found, field), wanted) and _alike(found, point):
            return candidate
    return text


def _is_close(value: float | None, wanted: float) -> bool:
    return value is not None and abs(value - wanted) <= _TOLERANCE * abs(wanted)


def _alike(one: ProgressPoint, other: ProgressPoint) -> bool:
    """Whether two lines say the same but for what takes how long; NaN is like NaN."""
    names = {field.name for field in fields(ProgressPoint)} - _OF_TIME
    return all(repr(getattr(one, name)) == repr(getattr(other, name)) for name in names)


def _candidates(text: str, value: float, wanted: float) -> Iterator[str]:
    """Yield the line with one of its numbers changed.

    A number may be the value, its inverse (bars print either), a part of a sum, or a clock.
    """
    ratio = wanted / value
    for count, found in enumerate(_NUMBER.finditer(text)):
        if count >= _MAX_NUMBERS:
            break
        number = float(found[0].replace(",", ""))
        for changed in (number * ratio, number / ratio, number + wanted - value):
            yield text[: found.start()] + _printed(found[0], changed) + text[found.end() :]
    for found in _CLOCK.finditer(text):
        seconds = round((to_seconds(found[0]) or 0.0) * ratio)
        minutes, left = divmod(seconds, 60)
        clock = f"{minutes:02d}:{left:02d}"
        if found[0].count(":") > 1:
            clock = f"{minutes // 60:02d}:{minutes % 60:02d}:{left:02d}"
        yield text[: found.start()] + clock + text[found.end() :]


def _printed(number: str, value: float) -> str:
    """Return a value with as many decimals, separators and exponents as a number had."""
    mantissa, mark, _ = number.partition("e" if "e" in number else "E")
    decimals = len(mantissa.partition(".")[2])
    if mark:
        return f"{value:.{decimals}{mark}}"
    return f"{value:,.{decimals}f}" if "," in number else f"{value:.{decimals}f}"
