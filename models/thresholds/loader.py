"""Reads ``[[metric]]`` tables of rule files: every field is checked, nothing is guessed."""

from __future__ import annotations

from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any

from relume.errors import shown
from relume.features.metrics.names import is_metric
from relume.features.metrics.points import is_counter
from relume.models.signatures.fields import (
    BadRuleError,
    FieldError,
    exclusion_problems,
    key_problems,
    read_enum,
)
from relume.models.signatures.loader import field_errors, read_tables
from relume.models.signatures.rule import Exclude
from relume.models.thresholds.rule import Condition, MetricRule, Of, SampleSeries
from relume.verdict import Domain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from relume.errors import RuleError

_MAX_HOLD = 7 * 86_400
_MIN_SAMPLES = 2
_MAX_ID = 100


def read_metric_rules(site: Iterable[Path]) -> tuple[list[MetricRule], list[RuleError]]:
    """Return the good metric rules of rule files and folders, and what is wrong with the others.

    Files that can't be read are `relume.models.signatures.loader.read_rules`'s to tell of.
    """
    rules: dict[str, MetricRule] = {}
    errors: list[RuleError] = []
    for origin, table in read_tables(site):
        entries = table.get("metric", [])
        for number, entry in enumerate(entries if isinstance(entries, list) else [entries], 1):
            name = entry.get("id", f"number {number}") if isinstance(entry, dict) else number
            try:
                rule = _rule(entry, str(table.get("category", "")), origin)
                _require_new(rule, rules)
            except BadRuleError as error:
                errors += field_errors(f"{origin}: metric rule {name}", error)
            else:
                rules[rule.id] = rule
    return list(rules.values()), errors


def _require_new(rule: MetricRule, rules: Mapping[str, MetricRule]) -> None:
    if rule.id in rules:
        found = f"the same id in {rules[rule.id].origin}"
        raise BadRuleError([FieldError("id", found=found, expected="an id of its own")])


def _rule(entry: object, category: str, origin: str) -> MetricRule:
    if not isinstance(entry, dict):
        raise BadRuleError(
            [FieldError("metric", found=shown(entry), expected="a [[metric]] table")]
        )
    problems = list(key_problems(entry, _READERS, _REQUIRED))
    values: dict[str, Any] = {}
    for name in entry:
        if name not in _READERS:
            continue
        try:
            values[name] = _READERS[name](name, entry[name])
        except FieldError as error:
            problems.append(error)
    if not problems:
        rule = MetricRule(category=category, origin=origin, **values)
        problems = list(_conflicts(rule))
        if not problems:
            return rule
    raise BadRuleError(problems)


def _conflicts(rule: MetricRule) -> Iterator[FieldError]:
    if rule.of is Of.RATE and not is_counter(rule.metric):
        expected = "'rate' for a counter only, whose name ends with _total"
        yield FieldError("of", found=f"'rate' of {rule.metric}", expected=expected)
    if rule.of is Of.CHANGE and rule.hold_seconds > 0:
        expected = "none: a change has no duration"
        yield FieldError("hold_seconds", found=f"{rule.hold_seconds:g}", expected=expected)
    yield from exclusion_problems(rule.domain, rule.exclude)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise FieldError(name, found=shown(value), expected="a text")
    return value


def _id(name: str, value: object) -> str:
    text = _text(name, value)
    if not (text.isidentifier() and text.isascii() and text == text.lower()) or len(text) > _MAX_ID:
        raise FieldError(name, found=shown(text), expected="snake_case such as 'gpu_hot'")
    return text


def _metric(name: str, value: object) -> str:
    text = _text(name, value)
    if not is_metric(text):
        expected = "one of Relume's names, such as gpu_temperature_celsius"
        raise FieldError(name, found=shown(text), expected=expected, hint="see docs/metrics.md")
    return text


def _condition(name: str, value: object) -> Condition:
    text = _text(name, value)
    try:
        return Condition.parse(text)
    except ValueError:
        expected = "one of > >= < <= == != and a number, or 'has' and bits such as 0x40"
        raise FieldError(name, found=shown(text), expected=expected) from None


def _seconds(name: str, value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= _MAX_HOLD:  # type: ignore[operator] # it is one
        raise FieldError(name, found=shown(value), expected=f"seconds, 0 to {_MAX_HOLD}")
    return float(value)  # type: ignore[arg-type] # as above


def _samples(name: str, value: object) -> tuple[SampleSeries, ...]:
    if not isinstance(value, list) or len(value) < _MIN_SAMPLES:
        found = f"{len(value)} series" if isinstance(value, list) else shown(value)
        raise FieldError(name, found=found, expected="at least two series")
    return tuple(_series(name, one) for one in value)


def _series(name: str, value: object) -> SampleSeries:
    expected = "a list of [seconds, value], in order of time"
    if not isinstance(value, list) or not value:
        raise FieldError(name, found=shown(value), expected=expected)
    points: list[tuple[float, float]] = []
    for point in value:
        is_pair = isinstance(point, list) and len(point) == 2  # noqa: PLR2004 - a pair
        if not is_pair or not all(type(x) in (int, float) for x in point):
            raise FieldError(name, found=shown(point), expected=expected)
        if not isfinite(point[0]) or (points and point[0] <= points[-1][0]):
            raise FieldError(name, found=shown(point), expected=expected)
        points.append((float(point[0]), float(point[1])))
    return tuple(points)


_READERS: dict[str, Callable[[str, object], Any]] = {
    "id": _id,
    "metric": _metric,
    "condition": _condition,
    "of": partial(read_enum, values=Of),
    "hold_seconds": _seconds,
    "domain": partial(read_enum, values=Domain),
    "exclude": partial(read_enum, values=Exclude),
    "summary": _text,
    "advice": _text,
    "positive": _samples,
    "negative": _samples,
}
_REQUIRED = ("id", "metric", "condition", "domain", "summary", "positive", "negative")
