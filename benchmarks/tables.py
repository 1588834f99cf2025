"""Tables in README and docs, rendered from stored bench results between two marks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from relume.benchmarks.result import read
from relume.errors import InputError

_MARKED = re.compile(
    r"(?P<begin><!-- bench:(?P<ids>[\w, -]+) -->\n).*?(?P<end><!-- /bench -->)", re.DOTALL
)

_WHOLE_FROM = 1_000
"""Larger numbers are shown whole, with separators."""


def update(text: str, results: Path) -> str:
    """Return `text` with every marked table made anew from `results`.

    Raises
    ------
    InputError
        When a named bench has no stored result, no table is marked, or a mark has no end.
    """
    begun, marked = text.count("<!-- bench:"), len(_MARKED.findall(text))
    # A begin without its end would swallow all text up to the end of the next table.
    if begun != marked or not marked:
        raise InputError(
            "no table to render",
            found=f"{begun} marks that begin one and {marked} whole pairs",
            expected="lines <!-- bench:ID --> and <!-- /bench --> in pairs",
        )

    def rendered(match: re.Match[str]) -> str:
        ids = [bench.strip() for bench in match["ids"].split(",")]
        records = [read(results / f"{bench}.json") for bench in ids]
        return f"{match['begin']}{render(records)}{match['end']}"

    return _MARKED.sub(rendered, text)


def render(records: list[dict[str, Any]]) -> str:
    """Markdown table of the measures that have a bar, and of those that say what was used."""
    rows = ["| bench | on | measure | value | bar | |", "|---|---|---|---|---|---|"]
    for record in records:
        corpus = record["corpus"]
        on = f"{corpus['name']} ({_count(corpus)})"
        for name, measure in record["measures"].items():
            bar = record["bars"].get(name)
            wanted = f"{bar['op']} {bar['value']:g}" if bar else ""
            verdict = ("pass" if bar["pass"] else "**fail**") if bar else ""
            cells = (name.replace("_", " "), _shown(measure), wanted, verdict)
            rows.append(f"| `{record['id']}` | {on} | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def _count(corpus: dict[str, Any]) -> str:
    counts = [f"{value} {key}" for key, value in corpus.items() if key not in {"name", "hash"}]
    return ", ".join(counts)


def _shown(measure: float | dict[str, float]) -> str:
    if isinstance(measure, dict):
        return f"{measure['value']:.3f} [{measure['low']:.3f}, {measure['high']:.3f}]"
    return f"{measure:,.0f}" if measure >= _WHOLE_FROM else f"{measure:g}"
