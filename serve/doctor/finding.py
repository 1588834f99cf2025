"""What a check found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Status(StrEnum):
    """How it is. What could not be looked at is never *ok*."""

    OK = "ok"
    WARNING = "warning"
    """It works, and won't for long, or not as well as it could."""
    FAILING = "failing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the answer.

    Attributes
    ----------
    check
        Its name, such as `disk`.
    words
        What was found.
    fix
        What to do; null where nothing is to be done. Each failing line has one.
    is_unreachable
        Whether something doesn't answer, rather than being wrong.
    """

    check: str
    status: Status
    words: str
    fix: str | None = None
    is_unreachable: bool = False


Check: TypeAlias = Callable[[], Iterable[Finding]]
"""Looks at one thing; it may take long, or raise, and changes nothing."""


def ok(check: str, words: str) -> Finding:
    """Return that all is well."""
    return Finding(check, Status.OK, words)


def warning(check: str, words: str, fix: str) -> Finding:
    """Return that something will be wrong."""
    return Finding(check, Status.WARNING, words, fix)


def failing(check: str, words: str, fix: str) -> Finding:
    """Return that something is wrong."""
    return Finding(check, Status.FAILING, words, fix)


def unreachable(check: str, words: str, fix: str) -> Finding:
    """Return that something doesn't answer."""
    return Finding(check, Status.FAILING, words, fix, is_unreachable=True)


def unknown(check: str, words: str, fix: str | None = None) -> Finding:
    """Return that it could not be looked at."""
    return Finding(check, Status.UNKNOWN, words, fix)
