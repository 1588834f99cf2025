"""The fields of one rule: what each may hold, and which go together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import re2

from relume.errors import counted, did_you_mean, shown
from relume.models.signatures.patterns import PatternError, one_line, refuse_explosive
from relume.models.signatures.re2_engine import compile_form, refusal
from relume.models.signatures.rule import Exclude, Implicates, Role, Signature, Tier
from relume.verdict import Domain, Kind, Retry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from enum import StrEnum

_WHO = ("node", "nodes", "nodefirst", "peer", "rank", "ranks", "local_rank", "gpu", "nic")
_WHICH_PROCESS = ("pid", "task", "tasks")
_COLLECTIVE = ("seq", "op", "pg", "timeout_ms", "enqueued", "completed", "queued")
_WHAT = ("xid", "signal", "exit_code", "step", "path", "port", "status")

CAPTURE_GROUPS = frozenset((*_WHO, *_WHICH_PROCESS, *_COLLECTIVE, *_WHAT))
"""Names that a capture may give its groups; diagnosis knows what each one means."""

_LOCATING = frozenset((*_WHO, *_WHICH_PROCESS))
_ENUMS: dict[str, type[StrEnum]] = {
    "role": Role,
    "tier": Tier,
    "kind": Kind,
    "domain": Domain,
    "retry": Retry,
    "implicates": Implicates,
    "exclude": Exclude,
}
_TEXTS = ("id", "cause", "refines", "summary", "advice", "source", "verify")
_LISTS = ("patterns", "captures", "closes", "positive", "negative")
_REQUIRED = (
    *("id", "role", "tier", "kind", "domain", "retry"),
    *("summary", "patterns", "positive", "negative", "source"),
)
_KNOWN = (*_TEXTS, *_ENUMS, *_LISTS, "specificity", "override")
_NAMES = frozenset({"id", "cause", "refines"})
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_MIN_SAMPLES = 2
_MAX_SPECIFICITY = 100


class FieldError(ValueError):
    """One field of a rule is wrong; the loader adds the file and the rule."""

    def __init__(
        self, name: str, *, found: str, expected: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(name)
        self.name = name
        self.found = found
        self.expected = expected
        self.hint = hint


class BadRuleError(ValueError):
    """Everything that is wrong with one rule, in the order of its fields."""

    def __init__(self, problems: Iterable[FieldError]) -> None:
        self.problems = tuple(problems)
        super().__init__(", ".join(problem.name for problem in self.problems))


def read_signature(entry: object, category: str) -> Signature:
    """Check one ``[[signature]]`` table and make the signature.

    Raises
    ------
    BadRuleError
        For every field that is missing, unknown, of the wrong type or outside its values; where
        there is none, for every one in conflict with another.
    """
    if not isinstance(entry, dict):
        expected = "a [[signature]] table"
        raise BadRuleError([FieldError("signature", found=shown(entry), expected=expected)])
    problems = list(key_problems(entry, _KNOWN, _REQUIRED))
    values: dict[str, Any] = {}
    for name in entry:
        try:
            if name in _KNOWN:
                values[name] = _read(name, entry[name])
        except FieldError as error:
            problems.append(error)
        except BadRuleError as error:
            problems += error.problems
    if problems:
        raise BadRuleError(problems)
    values.setdefault("cause", values["id"])
    signature = Signature(category=category, **values)
    if conflicts := list(_conflicts(signature)):
        raise BadRuleError(conflicts)
    return signature


def key_problems(
    entry: dict[str, Any], known: Collection[str], required: Iterable[str]
) -> Iterator[FieldError]:
    """Yield what is wrong with the keys of a rule's table."""
    for key in entry:
        if key not in known:
            hint = did_you_mean(key, known)
            yield FieldError(key, found="an unknown key", expected=", ".join(known), hint=hint)
    for name in required:
        if name not in entry:
            yield FieldError(name, found="nothing", expected="a value: every rule needs it")


def _read(name: str, value: object) -> object:
    if name in _ENUMS:
        return read_enum(name, value, _ENUMS[name])
    if name == "specificity":
        return _read_specificity(value)
    if name == "override":
        return _read_override(value)
    if name in _LISTS:
        return _READERS[name](name, _read_texts(name, value))
    text = _read_text(name, value)
    if name == "verify":
        return _compile(name, text)
    if name in _NAMES and _NAME.fullmatch(text) is None:
        raise FieldError(name, found=shown(text), expected="snake_case such as 'gpu_lost'")
    return text


def read_enum(name: str, value: object, values: type[StrEnum]) -> StrEnum:
    """Read a field that is one of a few words.

    Raises
    ------
    FieldError
        For any other.
    """
    try:
        return values(str(value))
    except ValueError:
        allowed = [item.value for item in values]
        hint = did_you_mean(str(value), allowed)
        expected = "one of " + ", ".join(allowed)
        raise FieldError(name, found=shown(value), expected=expected, hint=hint) from None


def _read_specificity(value: object) -> int:
    if type(value) is not int or not 0 <= value <= _MAX_SPECIFICITY:
        raise FieldError("specificity", found=shown(value), expected="a whole number from 0 to 100")
    return value


def _read_override(value: object) -> bool:
    if value is not True:
        expected = "true, or the field left out"
        raise FieldError("override", found=shown(value), expected=expected)
    return True


def _read_text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or "\n" in value:
        raise FieldError(name, found=shown(value), expected="one line of text")
    return value


def _read_texts(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise FieldError(name, found=shown(value), expected="a list of texts")
    texts = tuple(_read_text(name, item) for item in value)
    for text in texts:
        if texts.count(text) > 1:
            raise FieldError(name, found=f"{text!r} twice", expected="every entry once")
    return texts


def _read_rule_names(name: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Names of other rules; that they exist can't be told from one rule."""
    for text in texts:
        if _NAME.fullmatch(text) is None:
            raise FieldError(name, found=shown(text), expected="ids of rules")
    return texts


def _read_patterns(name: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    problems: list[FieldError] = []
    for text in texts:
        try:
            check_pattern(text)
        except PatternError as error:
            found = f"{error.found} in {text!r}"
            problems.append(FieldError(name, found=found, expected=error.expected))
    if problems:
        raise BadRuleError(problems)
    return texts


def check_pattern(pattern: str) -> None:
    """Refuse what is outside the dialect, what `re` or RE2 can't compile, what is found everywhere.

    Hyperscan has its say when the engine is built: it takes a second for all rules.

    Raises
    ------
    PatternError
        If a rule can't have this pattern.
    """
    form = one_line(pattern)
    try:
        re.compile(form)
        compiled = compile_form(form)
    except (re.error, re2.error) as error:
        raise PatternError(refusal(error), "a regular expression of modest size") from None
    # An empty line and one with a word's edge: a pattern that matches nothing matches it here.
    for probe in (b"", b"q ~"):
        found = compiled.search(probe)
        if found is not None and found.start() == found.end():
            raise PatternError("a match of nothing", "a pattern that needs at least one character")


def _read_captures(name: str, texts: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    problems: list[FieldError] = []
    compiled: list[re.Pattern[str]] = []
    for text in texts:
        try:
            compiled.append(_compile(name, text))
        except FieldError as error:
            problems.append(error)
    for expression in compiled:
        problems += _group_problems(name, expression)
    if problems:
        raise BadRuleError(problems)
    return tuple(compiled)


def _group_problems(name: str, expression: re.Pattern[str]) -> Iterator[FieldError]:
    if not expression.groupindex:
        expected = "a named group such as (?P<rank>\\d+)"
        yield FieldError(name, found=f"no group in {expression.pattern!r}", expected=expected)
    for group in expression.groupindex:
        if group not in CAPTURE_GROUPS:
            expected = "one of " + ", ".join(sorted(CAPTURE_GROUPS))
            hint = did_you_mean(group, CAPTURE_GROUPS)
            yield FieldError(name, found=f"group {group!r}", expected=expected, hint=hint)


def _compile(name: str, text: str) -> re.Pattern[str]:
    try:
        refuse_explosive(text)
        return re.compile(text)
    except PatternError as error:
        found = f"{error.found} in {text!r}"
        raise FieldError(name, found=found, expected=error.expected) from None
    except re.error as error:
        found = f"{text!r}: {error}"
        raise FieldError(name, found=found, expected="a Python regular expression") from None


def _read_samples(name: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    if len(texts) < _MIN_SAMPLES:
        raise FieldError(name, found=counted(len(texts), "sample"), expected="at least two lines")
    return texts


_READERS = {
    "closes": _read_rule_names,
    "patterns": _read_patterns,
    "captures": _read_captures,
    "positive": _read_samples,
    "negative": _read_samples,
}


def exclusion_problems(domain: Domain, exclude: Exclude) -> Iterator[FieldError]:
    """Yield what is wrong where a node would be left out for what is no node's matter."""
    if domain is Domain.WORKLOAD and exclude is not Exclude.NEVER:
        expected = "'never': a node isn't to blame for the workload"
        yield FieldError("exclude", found=f"{exclude.value!r}", expected=expected)


def _conflicts(rule: Signature) -> Iterator[FieldError]:
    yield from exclusion_problems(rule.domain, rule.exclude)
    if rule.implicates is Implicates.NOBODY and rule.exclude is Exclude.YES:
        expected = "'never' or 'on_repeat' where nobody is implicated"
        yield FieldError("exclude", found="'yes'", expected=expected)
    if rule.implicates is Implicates.NAMED and not _captured(rule.captures) & _LOCATING:
        expected = "a group that says who: " + ", ".join(sorted(_LOCATING))
        yield FieldError("captures", found="none that names anybody", expected=expected)
    if both := set(rule.positive) & set(rule.negative):
        found = f"{min(both)!r} among the positive ones"
        yield FieldError("negative", found=found, expected="a line that is no hit")


def _captured(captures: Iterable[re.Pattern[str]]) -> set[str]:
    return {group for expression in captures for group in expression.groupindex}
