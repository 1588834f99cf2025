"""What commands print: a verdict as text, JSON, tables, and messages on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import typer

from relume.printing import printable
from relume.records import SCHEMA_VERSION, locator_record

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from relume.errors import RelumeError
    from relume.ingest.skips import SkipCounts
    from relume.verdict import Locator, Verdict

MAX_PROOF = 300
"""Characters of the proving line that are shown."""


def say(message: object) -> None:
    """Print a message on standard error; names in it may be hostile, as log text is."""
    typer.echo(f"relume: {printable(str(message))}", err=True)


def say_all(errors: Iterable[RelumeError]) -> None:
    """Print each error as a message of its own."""
    for error in errors:
        say(error)


def print_json(document: Mapping[str, object]) -> None:
    """Print one indented document, after the version of its schema."""
    import orjson

    record = {"schema_version": SCHEMA_VERSION, **document}
    typer.echo(orjson.dumps(record, option=orjson.OPT_INDENT_2))


def write_file(path: Path, text: str) -> None:
    """Write a file that somebody named, into what is there: it may be a device, or a link.

    Raises
    ------
    InputError
        When it can't be written.
    """
    from relume.errors import InputError

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot write {path}",
            found=(error.strerror or str(error)).lower(),
            expected="a file that can be written",
        ) from error


def table_console(piped_width: int) -> Console:
    """Return what draws on standard output, `piped_width` columns wide where that is no terminal.

    Names in tables may be hostile: nothing in them is taken for markup.
    """
    from rich.console import Console

    console = Console(file=sys.stdout, highlight=False, markup=False)
    if not console.is_terminal:
        console.width = piped_width
    return console


def verdict_text(verdict: Verdict, summary: tuple[str, str], skipped: SkipCounts) -> str:
    """Headline, the line that proves it, who, what to do, why, and what is missing.

    `summary` holds the rule's words for a person: what it means and what to do about it.
    """
    meaning, advice = summary
    rows: list[tuple[str, str]] = [("attempt", verdict.attempt), ("verdict", _headline(verdict))]
    if meaning:
        rows.append(("meaning", meaning))
    rows += _proof(verdict)
    if verdict.culprit:
        rows.append(("culprit", _where(verdict.culprit)))
    rows += _stuck(verdict)
    rows.append(("to do", _to_do(verdict, advice)))
    rows += [("why", reason) for reason in verdict.why]
    rows += _unrecognised(verdict)
    rows += [("missing", source) for source in verdict.missing_evidence]
    rows += [("not read", words) for words in skipped.left_out()]
    rows += [("mended", words) for words in skipped.mended()]
    return "\n".join(_rows(rows))


def _headline(verdict: Verdict) -> str:
    headline = verdict.kind.value
    if verdict.cause:
        headline += f": {verdict.cause.replace('_', ' ')} ({verdict.domain.value})"
    return f"{headline}, confidence {verdict.confidence:.2f}"


def _proof(verdict: Verdict) -> list[tuple[str, str]]:
    if verdict.root_line is None:
        return []
    where = ("line", f"{verdict.root_file}:{verdict.root_line + 1}")
    found = (e.text for e in verdict.evidence if _is_root(verdict, e.file, e.line))
    text = next(found, None)
    return [where, ("line", text.strip()[:MAX_PROOF])] if text else [where]


def _unrecognised(verdict: Verdict) -> list[tuple[str, str]]:
    """Each line that no rule knows: where it is and what is unusual about it, then its text."""
    return [
        ("no rule", words)
        for line in verdict.unrecognised
        for words in (
            f"{line.file}:{line.line + 1} ({'; '.join(line.why)})",
            f"  {line.text.strip()[:MAX_PROOF]}",
        )
    ]


def _stuck(verdict: Verdict) -> list[tuple[str, str]]:
    """What holds up the job by its dumps: the others who are to blame, the work, who waits."""
    stuck = verdict.stuck
    if stuck is None:
        return []
    rows = [("culprit", _where(where)) for where in stuck.culprits if where != verdict.culprit]
    if stuck.operation is not None:
        work = f"{stuck.operation} number {stuck.sequence} of group {stuck.group}"
        rows.append(("stuck in", work))
    rows += [("waits", step) for step in stuck.waits]
    return rows


def _is_root(verdict: Verdict, file: str, line: int) -> bool:
    return (file, line) == (verdict.root_file, verdict.root_line)


def _where(where: Locator) -> str:
    named = {key: value for key, value in locator_record(where).items() if value is not None}
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in named.items())


def _to_do(verdict: Verdict, advice: str) -> str:
    excluded = f" without {', '.join(verdict.exclude_nodes)}" if verdict.exclude_nodes else ""
    operation = f"{verdict.operation}{excluded}"
    if verdict.kind.is_failure:
        operation += f" (retry helps: {verdict.retry.value})"
    return f"{operation}. {advice}" if advice else operation


def _rows(rows: Sequence[tuple[str, str]]) -> list[str]:
    shown: list[str] = []
    last = ""
    for label, text in rows:
        shown.append(f"{'' if label == last else label:>9}  {printable(text)}")
        last = label
    return shown
