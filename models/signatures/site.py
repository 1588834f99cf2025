"""What is asked of a site's own rules beyond their fields: nothing of them may stall or surprise.

Packaged rules were reviewed, and the tests show the same of them; a site's rules are looked at each
time they are read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import re2

from relume.errors import RuleError
from relume.models.signatures.engine import build_engine
from relume.models.signatures.fields import BadRuleError, FieldError
from relume.models.signatures.re2_engine import refusal

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Sequence

    from relume.models.signatures.rule import Signature


def as_site_rule(rule: Signature) -> Signature:
    """Return `rule` with `verify` and `captures` in RE2, which offers the calls of `re`.

    So no operator's expression can stall the service on a hostile line.

    Raises
    ------
    BadRuleError
        For expressions that RE2 refuses, patterns that an engine refuses, and captures that no
        positive sample shows: whether those ever match, nobody knows.
    """
    problems = list(_refused_patterns(rule))
    verify = _linear(problems, "verify", [rule.verify] if rule.verify else [])
    captures = _linear(problems, "captures", rule.captures)
    problems += [
        FieldError(
            "captures",
            found=f"{expression.pattern!r} in no positive sample",
            expected="a sample that shows what it captures",
        )
        for expression in captures
        if not any(map(expression.search, rule.positive))
    ]
    if problems:
        raise BadRuleError(problems)
    return replace(rule, verify=verify[0] if verify else None, captures=tuple(captures))


def _refused_patterns(rule: Signature) -> Iterator[FieldError]:
    if _refusal_of(rule.patterns) is None:
        return
    for pattern in rule.patterns:
        error = _refusal_of([pattern])
        if error is not None:
            found = f"{error.found} of {pattern!r}"
            yield FieldError("patterns", found=found, expected=error.expected)


def _refusal_of(patterns: Sequence[str]) -> RuleError | None:
    """What the first engine that refuses `patterns` says; null when none does."""
    for engine in ("hyperscan", "re2"):
        try:
            build_engine(patterns, prefer=engine)
        except RuleError as error:
            return error
    return None


def _linear(
    problems: list[FieldError], name: str, expressions: Iterable[re.Pattern[str]]
) -> list[Any]:
    """Compile each anew, noting in `problems` what RE2 refuses."""
    compiled: list[Any] = []
    for expression in expressions:
        try:
            compiled.append(_compile(name, expression.pattern))
        except FieldError as error:
            problems.append(error)
    return compiled


def _compile(name: str, text: str) -> Any:  # noqa: ANN401 - re2 ships no types
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error as error:
        raise FieldError(
            name,
            found=f"{text!r}: {refusal(error)}",
            expected="an expression that RE2 runs in linear time",
            hint="use no look-around and no back-references, and bound repeats by 1000",
        ) from None
