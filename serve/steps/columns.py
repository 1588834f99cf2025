"""What the digits of many lines say, in columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from relume.features.progress.run import Integers
from relume.serve.steps.learning import Digit, Form

MAX_LIMITS = 3
"""Numbers of a clock that have to be below a limit: hours, minutes and seconds."""
_NO_LIMIT = (0, 0, 1 << 16)
_ZERO = ord("0")
_DIGITS = b"0123456789"
_EXACT_DIGITS = 15
_POWERS = 10.0 ** np.arange(23)
"""Powers of ten that a float holds exactly, as it does whole numbers of 15 digits."""
Codes = NDArray[np.uint8]


class Columns:
    """The places of all forms as tables."""

    def __init__(self, forms: Sequence[Form], texts: Sequence[bytes]) -> None:
        self.steps = _Table([form.steps for form in forms])
        self.times = _Table([form.times for form in forms])
        self.elapsed = _Table([form.elapsed for form in forms])
        self.losses = _Floats([form.loss for form in forms], texts)
        self.fixed = _Table([[Digit(place, 1) for place in form.fixed] for form in forms])
        limits = [[*form.limits, *[_NO_LIMIT] * (MAX_LIMITS - len(form.limits))] for form in forms]
        self._limits = np.array(limits, np.int64)

    def is_clock(self, codes: Codes, starts: Integers, forms: Integers) -> NDArray[np.bool_]:
        """Whether no number of a line's clock is too large."""
        limits = _rows(self._limits, forms)
        digits = codes[starts[:, None, None] + limits[:, :, :2]].astype(np.int64) - _ZERO
        below = digits[:, :, 0] * 10 + digits[:, :, 1] < limits[:, :, 2]
        flags: NDArray[np.bool_] = np.all(below, axis=1)
        return flags


class _Table:
    """Places and worths of digits, a column for each form, filled up with digits of no worth.

    Lines are read one place at a time: all first digits, then all second ones. What is added up
    lies side by side then, and no table of lines by digits is made.
    """

    def __init__(self, rows: Sequence[Sequence[Digit]]) -> None:
        width = max(map(len, rows), default=0)
        filled = [[*row, *[Digit(0, 0)] * (width - len(row))] for row in rows]
        both = np.array(filled, np.int64).reshape(len(rows), width, 2)
        self._places, self._worths = both[:, :, 0].T.copy(), both[:, :, 1].T.copy()

    def codes(self, codes: Codes, starts: Integers, forms: Integers) -> Codes:
        """Return the digits of each line as a column, as they are written; zero for none."""
        found: Codes = np.empty((len(self._places), len(starts)), np.uint8)
        places, worths = _picked(self._places, forms), _picked(self._worths, forms)
        for digits, place, worth in zip(found, places, worths, strict=True):
            np.multiply(codes[starts + place], worth > 0, out=digits)
        return found

    def add_up(self, codes: Codes, starts: Integers, forms: Integers) -> Integers:
        """Return what the digits of each line add up to."""
        total: Integers = np.zeros(len(starts), np.int64)
        places, worths = _picked(self._places, forms), _picked(self._worths, forms)
        for place, worth in zip(places, worths, strict=True):
            digits = codes[starts + place].astype(np.int64)
            digits *= worth
            total += digits
        total -= _ZERO * worths.sum(axis=0)
        return total


class _Floats:
    """Where lines have a number with a point, which Python reads in the same way.

    The digits make a whole number, and the point and the exponent a power of ten. Where both are
    exact, so is the nearest float to their quotient or product; others are read as text.
    """

    def __init__(self, places: Sequence[Sequence[int]], texts: Sequence[bytes]) -> None:
        pairs = zip(places, texts, strict=True)
        parts = [_parts(at, bytes(text[n] for n in at)) for at, text in pairs]
        self._digits = _Table([part.digits for part in parts])
        self._exponents = _Table([part.exponent for part in parts])
        self._text = _Table([[Digit(place, 1) for place in at] for at in places])
        self._shifts = np.array([part.shift for part in parts], np.int64)
        self._signs = np.array([part.sign for part in parts], np.float64)
        self._is_told = np.array([bool(at) for at in places])
        self._is_exact = np.array([len(part.digits) <= _EXACT_DIGITS for part in parts])

    def read(self, codes: Codes, starts: Integers, forms: Integers) -> NDArray[np.float64]:
        """Return the number that each line has there, NaN for lines without one."""
        power = self._exponents.add_up(codes, starts, forms) + self._shifts[forms]
        digits = self._digits.add_up(codes, starts, forms).astype(np.float64)
        ten = _POWERS[np.minimum(np.abs(power), len(_POWERS) - 1)]
        numbers: NDArray[np.float64] = (
            np.where(power < 0, digits / ten, digits * ten) * self._signs[forms]
        )
        numbers[~self._is_told[forms]] = np.nan
        is_text = ~self._is_exact[forms] | (np.abs(power) >= len(_POWERS))
        as_text = np.flatnonzero(is_text & self._is_told[forms])
        if as_text.size:
            written = self._text.codes(codes, starts[as_text], forms[as_text]).T.copy()
            numbers[as_text] = written.view(f"S{written.shape[1]}")[:, 0].astype(np.float64)
        return numbers


class _Parts(NamedTuple):
    """A number as it is written: its digits, those of its exponent, and the point's place."""

    digits: list[Digit]
    exponent: list[Digit]
    shift: int
    sign: float


def _parts(places: Sequence[int], text: bytes) -> _Parts:
    mantissa, _, exponent = text.lower().partition(b"e")
    at = [place for place, code in zip(places, mantissa, strict=False) if code in _DIGITS]
    after = [place for place, code in zip(places, text, strict=True) if code in _DIGITS][len(at) :]
    if len(at) > _EXACT_DIGITS:
        return _Parts([Digit(place, 0) for place in at], [], 0, 1.0)
    direction = -1 if exponent.startswith(b"-") else 1
    return _Parts(
        [Digit(place, 10 ** (len(at) - 1 - n)) for n, place in enumerate(at)],
        [Digit(place, direction * 10 ** (len(after) - 1 - n)) for n, place in enumerate(after)],
        -len(mantissa.partition(b".")[2]),
        -1.0 if text.startswith(b"-") else 1.0,
    )


def _picked(table: Integers, forms: Integers) -> Integers:
    """Return the column of each form; one for all where they are of one form, as most often."""
    first = forms[0]
    return table[:, first : first + 1] if (forms == first).all() else table[:, forms]


def _rows(table: Integers, forms: Integers) -> Integers:
    """Return the row of each form; one row for all where they are of one form, as most often."""
    first = forms[0]
    return table[first : first + 1] if (forms == first).all() else table[forms]
