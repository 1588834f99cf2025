"""A backtest as one HTML page that asks nothing of anybody: to be sent around and kept.

Names and log lines in it are hostile: the template escapes all of them, pictures are images, in
which nothing runs, and the page's own policy forbids scripts and every request.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from relume.errors import InputError, counted
from relume.printing import printable
from relume.serve.backtest.results import AttemptResult, UnitResult
from relume.serve.reports import goodput, score
from relume.serve.reports.pictures import pictures

if TYPE_CHECKING:
    from rich.console import Group

EXTRA = "report"
_PACKAGES = ("altair", "jinja2", "vl_convert")
MAX_FAILURES = 500
"""Failures that are listed; results.jsonl has all of them."""
MAX_TEXT = 300
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;"
    "color:#222}h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:"
    "collapse;font-size:13px}td,th{padding:.2rem .6rem;border-bottom:1px solid #ddd;text-align:"
    "right;overflow-wrap:anywhere}td:first-child,th:first-child{text-align:left}.below,figcaption"
    "{color:#666;font-size:13px}figure{margin:1rem 0}img{max-width:100%}"
)
_TEMPLATE = "backtest.html"


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table with its title, and what is said below it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    below: str


def require_packages() -> None:
    """See that a page can be made: better before a long replay than after it.

    Raises
    ------
    InputError
        Without the packages of the extra ``report``.
    """
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise InputError(
            "report as HTML",
            found=f"no package {', '.join(missing)}",
            expected=f"the packages of the extra {EXTRA!r}",
            hint=f"pip install 'relume[{EXTRA}]'",
        )


def page(document: Mapping[str, Any], units: Iterable[UnitResult]) -> str:
    """Return the page of a backtest.

    Parameters
    ----------
    document
        Its score, with its goodput as `goodput`.
    units
        Its results: of the failures the line that proves each is shown.

    Raises
    ------
    InputError
        Without the packages of the extra ``report``.
    """
    require_packages()
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - an extra
    from markupsafe import Markup  # noqa: PLC0415

    shown = [
        {"title": one.title, "source": _as_image(one.svg)} for one in pictures(document["goodput"])
    ]
    groups = [*score.render(document), *goodput.render(document["goodput"])]
    sheets = [*map(_sheet, groups), *_failures(units)]
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    text = files("relume.serve.reports").joinpath(_TEMPLATE).read_text("utf-8")
    return environment.from_string(text).render(
        name=(document["provenance"] or {}).get("corpus", "attempts"),
        caption=score.caption(document),
        policy=_policy(),
        style=Markup(_STYLE),  # noqa: S704 - ours, and without a character that counts in HTML
        pictures=shown,
        sentences=list(goodput.sentences(document["goodput"])),
        sheets=sheets,
    )


def _policy() -> str:
    """What the page may do: show its own pictures, in its own style."""
    style = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    return (
        f"default-src 'none'; img-src data:; style-src 'sha256-{style}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _as_image(svg: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _sheet(group: Group) -> Sheet:
    """Return the table that is printed on terminals, as plain text."""
    title, table, below = group.renderables
    if not (isinstance(title, Text) and isinstance(table, Table) and isinstance(below, Text)):
        raise TypeError(f"no titled table: {group.renderables}")
    columns = [[_plain(cell) for cell in column.cells] for column in table.columns]
    return Sheet(
        title=title.plain,
        columns=[_plain(column.header) for column in table.columns],
        rows=list(zip(*columns, strict=True)),
        below=below.plain,
    )


def _plain(cell: object) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)


def _failures(units: Iterable[UnitResult]) -> Iterator[Sheet]:
    """Yield the list of failures with the line that proves each; nothing when there is none."""
    found = (row for unit in units for one in unit.attempts if (row := _failure(one)) is not None)
    rows = list(islice(found, MAX_FAILURES + 1))
    if not rows:
        return
    shown = rows[:MAX_FAILURES]
    more = "; more of them are in results.jsonl" if len(rows) > MAX_FAILURES else ""
    columns = ("attempt", "ended", "advised", "cause", "rule", "proof")
    yield Sheet("Failures", columns, shown, f"{counted(len(shown), 'failure')}{more}")


def _failure(one: AttemptResult) -> tuple[str, ...] | None:
    decided = [found.advice for found in one.advice if found.advice.kind.is_failure]
    if not decided:
        return None
    last = decided[-1]
    proof = next((evidence.text for evidence in last.evidence), "")
    cells = (one.title, one.state, last.operation.value, last.cause, last.rule, proof)
    return tuple(printable((cell or "-")[:MAX_TEXT].strip()) for cell in cells)
