"""Step times and rates that a progress line states: made longer, whatever the line looks like.

No format is known here. The reader of progress says what a line states; the number by which that
changes is the one that stated it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from relume.features.progress.parse import parse_progress

_NUMBER = re.compile(r"\d[\d,]{0,20}(?:\.\d{1,20})?(?:[eE][-+]?\d{1,3})?")
_MAX_NUMBERS = 64
"""A progress line has fewer; more are passed over."""
_TOLERANCE = 0.02
"""How far a changed value may be from what it should be: it is printed with few digits."""
_TIMES = "step_time_seconds", "interval_seconds"


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
            text = _scaled(text, field, value * (factor if field in _TIMES else 1 / factor), value)
    return text


def _scaled(text: str, field: str, wanted: float, value: float) -> str:
    """Change the number that states `field`, so that `wanted` is read instead of `value`."""
    for candidate in _candidates(text, wanted / value):
        point = parse_progress(candidate)
        found = None if point is None else getattr(point, field)
        if found is not None and abs(found - wanted) <= _TOLERANCE * abs(wanted):
            return candidate
    return text


def _candidates(text: str, ratio: float) -> Iterator[str]:
    """Yield the line with one of its numbers changed: as it is, and its inverse, as bars show."""
    for number, found in enumerate(_NUMBER.finditer(text)):
        if number >= _MAX_NUMBERS:
            return
        for by in (ratio, 1 / ratio):
            yield text[: found.start()] + _printed(found[0], by) + text[found.end() :]


def _printed(number: str, by: float) -> str:
    """Return a number times `by`, with as many decimals and separators as it had."""
    plain = number.replace(",", "")
    mantissa, mark, _ = plain.partition("e" if "e" in plain else "E")
    value = float(plain) * by
    decimals = len(mantissa.partition(".")[2])
    if mark:
        return f"{value:.{decimals}{mark}}"
    return f"{value:,.{decimals}f}" if "," in number else f"{value:.{decimals}f}"
