"""Stretches of time: what of one isn't covered yet, cut at midnight."""

from __future__ import annotations

from collections.abc import Iterable

DAY = 86_400_000_000
Span = tuple[int, int]
"""From the first up to the second, UTC microseconds."""


def uncovered_days(span: Span, covered: Iterable[Span]) -> list[Span]:
    """Return the parts of `span` that nothing of `covered` has, each within one day of UTC.

    Examples
    --------
    >>> uncovered_days((0, DAY + 5), [])
    [(0, 86400000000), (86400000000, 86400000005)]
    >>> uncovered_days((0, 10), [(2, 4), (3, 6), (9, 20)])
    [(0, 2), (6, 9)]
    """
    found: list[Span] = []
    at, end = span
    for start, stop in [*sorted(covered), (end, end)]:
        if at < min(start, end):
            found += _days(at, min(start, end))
        at = max(at, stop)
    return found


def _days(start: int, end: int) -> list[Span]:
    marks = range(start // DAY * DAY + DAY, end, DAY)
    return list(zip([start, *marks], [*marks, end], strict=True))
