"""The stored form of a bench: what was measured, against which bars, on what (DESIGN 14)."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from relume.errors import InputError

Measure = float | dict[str, float]
"""A plain value, or `{"value", "low", "high"}` with its 95 % interval."""

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
}


@dataclass(frozen=True, slots=True)
class Bar:
    """What a measure must reach."""

    op: str
    value: float

    def passes(self, measure: Measure) -> bool:
        """Whether the measure's value (not its interval) reaches the bar."""
        value = measure["value"] if isinstance(measure, dict) else measure
        return _OPERATORS[self.op](value, self.value)


@dataclass(slots=True)
class BenchResult:
    """One run of one bench."""

    id: str
    version: str
    machine: dict[str, str | int]
    corpus: dict[str, Any]
    measures: dict[str, Measure]
    bars: dict[str, Bar]
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    peak_rss_bytes: int = 0
    void: str | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether every bar is reached and the run counts."""
        reached = all(bar.passes(self.measures[name]) for name, bar in self.bars.items())
        return self.void is None and reached

    def record(self) -> dict[str, Any]:
        """JSON form, as printed and stored."""
        record = asdict(self)
        record["bars"] = {
            name: {"op": bar.op, "value": bar.value, "pass": bar.passes(self.measures[name])}
            for name, bar in self.bars.items()
        }
        record["pass"] = self.passed
        return record


def store(result: BenchResult, folder: Path) -> Path:
    """Write the result to `folder/<id>.json`, whole or not at all, and return that path.

    Raises
    ------
    InputError
        When the folder can't be written.
    """
    path = folder / f"{result.id}.json"
    text = json.dumps(result.record(), indent=2, ensure_ascii=False) + "\n"
    temporary = path.with_suffix(".json.new")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise InputError(
            f"cannot store the bench result {path}",
            found=error.strerror or str(error),
            expected="a folder that can be written",
            hint="choose another with --store",
        ) from error
    return path


def read(path: Path) -> dict[str, Any]:
    """Read a stored result back as its JSON record."""
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot read the bench result {path}",
            found=(error.strerror if isinstance(error, OSError) else None) or str(error),
            expected="a file written by relume bench run",
            hint="check --results",
        ) from error
    return record
