"""Families of unknown failures for a terminal, and their JSON form (`docs/unknown.md`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from relume.clock import to_datetime, to_iso
from relume.errors import counted
from relume.printing import printable
from relume.serve.unknownfailures import UnknownFailures, UnknownFamily

MAX_NAMES = 5
"""Users, nodes and attempts that are named; all are in the JSON form."""
MAX_TEXT = 200


def render(report: UnknownFailures) -> Iterator[str]:
    """Yield the lines that are printed: each family with its spread, its lines and its rule."""
    for number, family in enumerate(report.families, start=1):
        yield f"{number}. {_headline(family)}"
        yield from (f"   {words}" for words in _spread(family))
        for line in family.lines:
            share = f"{line.attempts} of {len(family.attempts)}"
            yield f"   {share:>9}  {printable(line.text.strip()[:MAX_TEXT])}"
        yield ""
        if family.rule is None:
            yield "   no line tells these failures from others: no rule"
        else:
            yield from (f"   {text}" for text in family.rule.toml().rstrip("\n").split("\n"))
        yield ""
    if report.without_lines:
        names = [one.entry.attempt for one in report.without_lines]
        yield f"without a line to show: {_listed(names)}"
    yield summary(report)


def summary(report: UnknownFailures) -> str:
    """Return what was looked at and found, in one sentence."""
    families = len(report.families)
    kinds = f"{families} {'family' if families == 1 else 'families'}"
    return (
        f"{counted(report.looked_at, 'attempt')}: {report.failed} failed, {report.unknown} of them "
        f"for a reason that no rule knows, in {kinds}"
    )


def unknown_record(report: UnknownFailures) -> dict[str, Any]:
    """Return the document of a report; null where not known."""
    return {
        "attempts": report.looked_at,
        "failed": report.failed,
        "unknown": report.unknown,
        "families": [_record(family) for family in report.families],
        "without_lines": [one.entry.attempt for one in report.without_lines],
    }


def _record(family: UnknownFamily) -> dict[str, Any]:
    first, last = family.seen
    return {
        "attempts": [one.entry.attempt for one in family.attempts],
        "jobs": family.jobs,
        "users": family.users,
        "nodes": [{"node": node, "attempts": count} for node, count in family.nodes],
        "first_seen": None if first is None else to_iso(first),
        "last_seen": None if last is None else to_iso(last),
        "lines": [
            {
                "text": line.text,
                "attempts": line.attempts,
                "attempt": line.attempt,
                "file": line.file,
                "line": line.line,
            }
            for line in family.lines
        ],
        "rule": None if family.rule is None else family.rule.toml(),
    }


def _headline(family: UnknownFamily) -> str:
    words = [counted(len(family.attempts), "attempt"), f"of {counted(family.jobs, 'job')}"]
    first, last = family.seen
    if first is not None and last is not None:
        times = dict.fromkeys(f"{to_datetime(time):%Y-%m-%d %H:%M}" for time in (first, last))
        words.append(f"ended {' to '.join(times)} UTC")
    return " ".join(words)


def _spread(family: UnknownFamily) -> Iterator[str]:
    if family.users:
        yield f"users: {_listed(family.users)}"
    if family.nodes:
        yield f"nodes: {_listed([f'{node} ({count})' for node, count in family.nodes])}"
    yield f"attempts: {_listed([one.entry.attempt for one in family.attempts])}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return printable(", ".join(names[:MAX_NAMES]) + more)
