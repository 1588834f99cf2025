"""Learn by trying where the lines of a form have the digits that count.

A *form* is a line with its digits blanked out. What a line says is read by parsers for a hundred
formats; which of its digits make up the step, which the clock, and which change nothing, is found
out here by writing others in their place and asking the same parsers. So it works for every format,
and a form that is not understood without doubt is not used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from relume.features.progress.numerics import is_point_nan
from relume.features.progress.point import ProgressPoint

MAX_NUMBERS = 48
"""Lines with more numbers are tables: trying all of them would take long."""
TRIALS = 8
"""Lines with other digits everywhere that must be read as expected."""
_NUMBER = re.compile(rb"\d+")
_FLOAT = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_DIGITS = b"0123456789"
_ZERO = ord("0")
_CLOCK_LIMITS = {3600 * 10**6: 24, 60 * 10**6: 60, 10**6: 60}
"""How many hours, minutes and seconds a clock counts, by their microseconds."""
_CLOCK_DIGITS, _MICROS_DIGITS, _EPOCH_DIGITS = 2, 6, 10


@dataclass(frozen=True, slots=True)
class Said:
    """What a line says, as far as it is used. `time` is in UTC microseconds, null without one."""

    patterns: tuple[int, ...]
    point: ProgressPoint
    rank: int | None
    time: int | None


Read = Callable[[bytes], Said | None]
"""Reads a line; null when it is no step line, or something else besides."""


class Digit(NamedTuple):
    """Where a digit stands, and what it is worth."""

    at: int
    worth: int


class Limit(NamedTuple):
    """Two digits of a clock, and the number that they are below."""

    tens: int
    ones: int
    below: int


@dataclass(slots=True)
class Form:
    """Where lines of one form have the digits that count.

    `fixed` are digits that decide what the line says otherwise: lines mean the same only where they
    agree in these. All that are in no list change nothing.
    """

    steps: list[Digit] = field(default_factory=list)
    times: list[Digit] = field(default_factory=list)
    elapsed: list[Digit] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    loss: list[int] = field(default_factory=list)
    fixed: list[int] = field(default_factory=list)


def learn(text: bytes, read: Read) -> Form | None:
    """Return the form of a step line; null where its digits can't be told apart for sure."""
    said, spans = read(text), [found.span() for found in _NUMBER.finditer(text)]
    if said is None or said.point.step is None or len(spans) > MAX_NUMBERS:
        return None
    form = Form()
    for begin, end in spans:
        _learn_number(form, text, range(begin, end), said, read)
    size = len(form.steps)
    form.steps = [Digit(digit.at, 10 ** (size - 1 - n)) for n, digit in enumerate(form.steps)]
    form.loss = _whole_number(form.loss, text)
    is_sure = worth(form.steps, text) == said.point.step and _holds(form, text, said, read)
    return form if is_sure else None


def worth(digits: Iterable[Digit], text: bytes) -> int:
    """Return what digits of a line add up to."""
    return sum(digit.worth * (text[digit.at] - _ZERO) for digit in digits)


def loss_of(form: Form, text: bytes) -> float | None:
    """Return the loss that a line says, null when it says none."""
    written = bytes(text[place] for place in form.loss)
    return float(written) if _FLOAT.fullmatch(written) else None


def _whole_number(places: list[int], text: bytes) -> list[int]:
    """Return where the number is written that has digits at these places, with its sign."""
    if not places:
        return []
    begin, end = min(places), max(places) + 1
    return list(range(begin - (text[begin - 1 : begin] == b"-"), end))


def _learn_number(form: Form, text: bytes, at: range, said: Said, read: Read) -> None:
    """Find out what one number of a line is, by writing others in its place."""
    begin, end = at.start, at.stop
    number = int(text[begin:end])
    others = [read(text[:begin] + other + text[end:]) for other in _others(text[begin:end])]
    changed = set().union(*(_changes(said, other) for other in others))
    close = others[0]  # one less, or one more than zero
    per_one = 1 if number == 0 else -1
    if changed == {"step"}:
        form.steps += (Digit(place, 1) for place in at)
    elif changed == {"time"} and close is not None and close.time is not None and said.time:
        _learn_clock(form, text, at, (close.time - said.time) * per_one)
    elif changed == {"elapsed"} and close is not None:
        then, now = said.point.elapsed_seconds or 0.0, close.point.elapsed_seconds or 0.0
        form.elapsed += _positional(at, int((now - then) * per_one))
    elif changed == {"loss"}:
        form.loss += at
    elif changed:
        form.fixed += at


def _learn_clock(form: Form, text: bytes, at: range, unit: int) -> None:
    """Add the number of a clock, of which one more makes the time `unit` later."""
    size = len(at)
    if text[at.start - 1 : at.start] in {b".", b","}:
        micros = at[:_MICROS_DIGITS]
        form.times += (Digit(p, 10 ** (_MICROS_DIGITS - 1 - n)) for n, p in enumerate(micros))
    elif size == _CLOCK_DIGITS and unit in _CLOCK_LIMITS:
        form.times += _positional(at, unit)
        form.limits.append(Limit(at[0], at[1], _CLOCK_LIMITS[unit]))
    elif size > _EPOCH_DIGITS and unit > 0:
        form.times += _positional(at, unit)
    elif size == _EPOCH_DIGITS and unit > 0:
        form.fixed.append(at[0])
        form.times += _positional(at[1:], unit)
    else:  # a date: the days of a month or year are not all worth the same
        form.fixed += at


def _positional(at: range, unit: int) -> list[Digit]:
    return [Digit(place, unit * 10 ** (at.stop - 1 - place)) for place in at]


def _others(digits: bytes) -> list[bytes]:
    """Other numbers of as many digits: a close one first, then extreme and odd ones."""
    number, size = int(digits), len(digits)
    close = b"%0*d" % (size, number - 1 if number else 1)
    odd = bytes(_ZERO + (7 * n + 3) % 10 for n in range(size))
    return [close, b"0" * size, b"9" * size, odd]


def _changes(said: Said, other: Said | None) -> set[str]:
    """Name what another line says differently."""
    if other is None or _rest(other) != _rest(said):
        return {"rest"}
    changes = {"step"} if other.point.step != said.point.step else set()
    if other.time != said.time:
        changes.add("time")
    if other.point.loss != said.point.loss:
        changes.add("loss")
    if said.point.is_bar and other.point.elapsed_seconds != said.point.elapsed_seconds:
        changes.add("elapsed")
    return changes


def _rest(said: Said) -> tuple[object, ...]:
    """Return what isn't counted and matters; of numbers of the pace, whether they are there."""
    point = said.point
    return (
        said.patterns,
        said.rank,
        point.format,
        point.phase,
        point.step is None,
        point.total,
        point.epoch_bar,
        point.epoch if point.epoch_bar else None,
        point.is_bar,
        point.elapsed_seconds is None,
        point.step_time_seconds is None,
        point.skipped,
        point.skipped_total,
        point.loss_scale,
        is_point_nan(point),
    )


def _holds(form: Form, text: bytes, said: Said, read: Read) -> bool:
    """Whether lines with other digits wherever they are free to change are read as expected."""
    draw, free = Random(len(text)), _free(form, text)  # noqa: S311 - no secret
    for _ in range(TRIALS):
        line = bytearray(text)
        for place in free:
            line[place] = _ZERO + draw.randrange(10)
        for tens, ones, below in form.limits:
            line[tens], line[ones] = b"%02d" % draw.randrange(below)
        other = read(bytes(line))
        if other is None or not _is_expected(form, text, said, bytes(line), other):
            return False
    return True


def _free(form: Form, text: bytes) -> Sequence[int]:
    kept = set(form.fixed)
    return [place for place, code in enumerate(text) if code in _DIGITS and place not in kept]


def _is_expected(form: Form, text: bytes, said: Said, line: bytes, other: Said) -> bool:
    expected = {"step"} if worth(form.steps, line) != said.point.step else set()
    later = worth(form.times, line) - worth(form.times, text)
    longer = worth(form.elapsed, line) - worth(form.elapsed, text)
    expected |= {"time"} if later else set()
    expected |= {"elapsed"} if longer else set()
    expected |= {"loss"} if loss_of(form, line) != loss_of(form, text) else set()
    return (
        _changes(said, other) == expected
        and (loss_of(form, line) == other.point.loss)
        and other.point.step == worth(form.steps, line)
        and (said.time is None or other.time == said.time + later)
        and (not form.elapsed or other.point.elapsed_seconds == worth(form.elapsed, line))
    )
