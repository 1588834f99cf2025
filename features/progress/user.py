"""A progress format of the user's own: one expression with named groups."""

from __future__ import annotations

import re
from typing import Any, Final

import re2

from relume.errors import RuleError, did_you_mean
from relume.features.progress.formats.base import READERS, ProgressFormat
from relume.features.progress.point import ProgressPoint

USER_GROUPS: Final[tuple[str, ...]] = (
    "step",
    "total",
    "epoch",
    "step_time_seconds",
    "step_time_ms",
    "rate",
    "loss",
    "grad_norm",
    "data_seconds",
    "elapsed_seconds",
)
"""Groups a pattern may name; `step` is required."""

_NAMED_GROUP: Final = re.compile(r"\(\?P?<\w+>")
_NOT_LINEAR: Final = (
    "a linear-time expression (RE2 syntax: no lookaround, no back-references, repeats below 1000)"
)


def user_format(pattern: str) -> ProgressFormat:
    r"""Return the format that a user's expression describes.

    The expression runs in RE2, so that none can stall the service.

    Parameters
    ----------
    pattern
        Found anywhere in a line; named groups (`USER_GROUPS`) catch the numbers.

    Raises
    ------
    RuleError
        The expression doesn't compile in linear time, has no group ``step``, names a group that
        means nothing, or matches the empty line.

    Examples
    --------
    >>> fmt = user_format(r"minibatch (?P<step>\d+) took (?P<step_time_ms>\d+) ms")
    >>> fmt.parse("worker 3: minibatch 40 took 510 ms").step_time_seconds
    0.51
    """
    compiled = _compile(pattern)
    groups = tuple(compiled.groupindex)
    _check_groups(pattern, groups)
    if compiled.search("") is not None:
        raise RuleError(
            f"progress pattern {pattern!r}",
            found="that it matches an empty line",
            expected="an expression that needs at least the step's digits",
            hint="replace `*` by `+` in it",
        )

    return ProgressFormat("user", (_locator(pattern),), _Parse(pattern), "")


class _Parse:
    """Reads the numbers of a line; pickled it is its pattern, which is compiled anew."""

    def __init__(self, pattern: str) -> None:
        self._pattern, self._compiled = pattern, _compile(pattern)
        self._groups = tuple(self._compiled.groupindex)

    def __reduce__(self) -> tuple[type[_Parse], tuple[str]]:
        return type(self), (self._pattern,)

    def __call__(self, message: str) -> ProgressPoint | None:
        try:
            found = self._compiled.search(message)
        except UnicodeEncodeError:  # undecodable bytes kept as lone surrogates
            found = self._compiled.search(message.encode("utf-8", "replace").decode("utf-8"))
        if found is None:
            return None
        values: dict[str, Any] = {}
        for name in self._groups:
            text = found.group(name)
            target, read = READERS[name]
            value = read(text) if text else None
            if value is not None:
                values.setdefault(target, value)
        return ProgressPoint("user", **values) if "step" in values else None


def _compile(pattern: str) -> Any:  # noqa: ANN401 - re2 ships no types
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "no reason given"
        raise RuleError(
            f"progress pattern {pattern!r}",
            found=reason.decode() if isinstance(reason, bytes) else str(reason),
            expected=_NOT_LINEAR,
            hint=r"try something like `step (?P<step>\d+)`",
        ) from error


def _check_groups(pattern: str, groups: tuple[str, ...]) -> None:
    if "step" not in groups:
        raise RuleError(
            f"progress pattern {pattern!r}",
            found=f"the named groups {', '.join(groups)}" if groups else "no named group",
            expected="a named group `step`",
            hint=r"put `(?P<step>\d+)` where the step's number stands",
        )
    for name in groups:
        if name not in USER_GROUPS:
            raise RuleError(
                f"progress pattern {pattern!r}",
                found=f"the named group {name!r}",
                expected=f"one of {', '.join(USER_GROUPS)}",
                hint=did_you_mean(name, USER_GROUPS),
            )


def _locator(pattern: str) -> str:
    """Strip what a locator doesn't need: names, and a tail that reports a hit for every byte."""
    pattern = _NAMED_GROUP.sub("(?:", pattern)
    for tail in (".*$", ".*", ".+", "$"):
        if pattern.endswith(tail) and not pattern.endswith("\\" + tail):
            return pattern.removesuffix(tail)
    return pattern
