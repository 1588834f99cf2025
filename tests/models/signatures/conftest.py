from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

RULE: dict[str, str | list[str]] = {
    "id": "'gpu_gone'",
    "role": "'root'",
    "tier": "'hardware'",
    "kind": "'crash'",
    "domain": "'hardware'",
    "retry": "'yes'",
    "implicates": "'printer'",
    "exclude": "'yes'",
    "summary": "'The GPU is gone.'",
    "patterns": "['GPU has fallen off']",
    "captures": [r"PCI:(?P<gpu>[0-9a-f:]+)"],
    "positive": "['GPU has fallen off the bus', '(PCI:0000:1b:00): GPU has fallen off the bus']",
    "negative": "['fell off the table', 'GPU has not fallen']",
    "source": "'NVRM'",
}
"""A whole rule, each field as TOML (or a list of literal strings)."""


def rule(**changes: str | list[str] | None) -> str:
    """A `[[signature]]` table: `RULE` with fields changed, or left out where null."""
    fields: dict[str, str | list[str] | None] = {**RULE, **changes}
    lines = [f"{name} = {_toml(text)}" for name, text in fields.items() if text is not None]
    return "\n".join(["[[signature]]", *lines, ""])


def _toml(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "[" + ", ".join(f"'''{t}'''" for t in text) + "]"


@pytest.fixture
def write_rules(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes `[[signature]]` tables into a rule file."""

    def write(*tables: str, name: str = "site.toml", head: str = 'category = "site"\n') -> Path:
        path = tmp_path / name
        path.write_text(head + "\n".join(tables), encoding="utf-8")
        return path

    return write


@pytest.fixture
def make_rule() -> Callable[..., str]:
    """Return `rule`: one valid table with some fields changed."""
    return rule
