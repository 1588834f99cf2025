"""What a rule about a metric is: data, in the same files as the signatures of a site."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import TypeAlias

from relume.features.metrics.points import MAX_BITS, has_bits
from relume.models.signatures.rule import Exclude
from relume.verdict import Domain

SampleSeries: TypeAlias = tuple[tuple[float, float], ...]
"""Seconds and values of one series, in order of time."""

_COMPARED: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
_CONDITION = re.compile(
    r"\s*(>=|<=|==|!=|>|<|has)\s*(0x[0-9a-fA-F]{1,13}|[-+]?\d{1,20}(?:\.\d{1,20})?(?:e[-+]?\d{1,3})?)\s*",
    re.ASCII,
)


class Of(StrEnum):
    """What of a metric a condition is about."""

    VALUE = "value"
    RATE = "rate"
    """Of a counter, per second."""
    CHANGE = "change"
    """The new value of a gauge that keeps its last one, at the moment that it changes."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison with a number; `has` asks for any of its bits.

    Examples
    --------
    >>> hot = Condition.parse("> 90")
    >>> hot.holds(91.0), hot.holds(90.0), hot.holds(float("nan"))
    (True, False, False)
    >>> Condition.parse("has 0xC8").holds(64.0)
    True
    """

    sign: str
    number: float

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read ``SIGN NUMBER``.

        Raises
        ------
        ValueError
            For any other text.
        """
        found = _CONDITION.fullmatch(text)
        if found is None:
            raise ValueError(text)
        sign, digits = found.groups()
        number = float(int(digits, 16)) if digits.startswith("0x") else float(digits)
        is_fit = 0 < number < MAX_BITS and number.is_integer() if sign == "has" else True
        if not isfinite(number) or not is_fit:
            raise ValueError(text)
        return cls(sign, number)

    def holds(self, value: float) -> bool:
        """Whether a value meets it; what is no number never does."""
        if not isfinite(value):
            return False
        if self.sign == "has":
            return has_bits(value, int(self.number))
        return _COMPARED[self.sign](value, self.number)

    def __str__(self) -> str:
        return f"{self.sign} {self.number:g}"


@dataclass(frozen=True, slots=True)
class MetricRule:
    """One rule.

    Attributes
    ----------
    id
        Stable name, unique over all files.
    category
        The file's family.
    metric
        Relume's name of it.
    condition, of
        What must hold of what.
    hold_seconds
        For how long, at every sample.
    domain, exclude
        Whose matter it is, and whether its node should be left out of the next attempt. Nothing is
        done for such a finding alone.
    summary, advice
        Sentences for a person: what it means, and what to do.
    positive, negative
        Series for which it must hold at some time, and must not.
    origin
        The rule's file.
    """

    id: str
    category: str
    metric: str
    condition: Condition
    domain: Domain
    summary: str
    positive: tuple[SampleSeries, ...]
    negative: tuple[SampleSeries, ...]
    of: Of = Of.VALUE
    hold_seconds: float = 0.0
    exclude: Exclude = Exclude.NEVER
    advice: str = ""
    origin: str = ""
