"""The report of a demo run: one row an attempt, then how well it went."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import orjson

from relume.benchmarks.demo.corpus import Label
from relume.benchmarks.demo.scoring import score
from relume.benchmarks.result import Measure
from relume.errors import InputError
from relume.records import SCHEMA_VERSION, locator_record, verdict_record
from relume.verdict import Verdict

_HEAD = "attempt (simulated)"
_MARKS = {"report.txt": _HEAD.encode(), "report.json": b'"simulated": true'}
"""What tells the files of an earlier demo from somebody else's of the same name."""
_MARK_BYTES = 200
_LABELS = Path("logs", "labels.jsonl")
_ROW = "{:<34} {:<10} {:<10} {:<26} {:<28} {}"


def claim(folder: Path) -> None:
    """Make `folder` the demo's own; that of an earlier demo is written anew.

    Raises
    ------
    InputError
        When there is something in the demo's place that the demo didn't write.
    OSError
        When the folder can't be made or written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, mark in _MARKS.items():
        path = folder / name
        if path.exists() and not (path.is_file() and mark in _start(path)):
            raise _taken(path)
    labels = folder / _LABELS
    logs = labels.parent
    if logs.exists() and not labels.is_file() and not (logs.is_dir() and not any(logs.iterdir())):
        raise _taken(logs)
    logs.mkdir(exist_ok=True)
    labels.touch()  # before all else, so that a demo that was interrupted is known for one


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MARK_BYTES)


def _taken(path: Path) -> InputError:
    return InputError(
        f"the demo doesn't overwrite {path}",
        found="something that no demo wrote",
        expected="a new folder, or that of an earlier demo",
        hint="choose another with --folder",
    )


def write(folder: Path, labels: Sequence[Label], verdicts: Sequence[Verdict]) -> Path:
    """Write `report.txt` and `report.json` and return the path of the text."""
    (folder / "report.json").write_bytes(
        orjson.dumps(
            {
                "schema_version": SCHEMA_VERSION,
                "simulated": True,
                "verdicts": [verdict_record(verdict) for verdict in verdicts],
            },
            option=orjson.OPT_INDENT_2,
        )
    )
    path = folder / "report.txt"
    path.write_text(render(labels, verdicts) + "\n", encoding="utf-8")
    return path


def render(labels: Sequence[Label], verdicts: Sequence[Verdict]) -> str:
    """Return the report as text."""
    head = _ROW.format(_HEAD, "truth", "verdict", "cause", "culprit", "to do")
    rows = [_row(label, verdict) for label, verdict in zip(labels, verdicts, strict=True)]
    measures, _ = score(labels, verdicts)
    shares = [
        f"  {name.replace('_', ' ')}: {_shown(measure)}" for name, measure in measures.items()
    ]
    return "\n".join([head, *rows, "", f"{len(labels)} simulated attempts:", *shares])


def _row(label: Label, verdict: Verdict) -> str:
    where = locator_record(verdict.culprit)
    named = " ".join(f"{key} {value}" for key, value in where.items() if value is not None)
    to_do = " ".join([verdict.operation, *verdict.exclude_nodes])
    mark = "" if verdict.kind.value == label.kind else "  <- differs"
    cause = verdict.cause or "-"
    return _ROW.format(label.attempt, label.kind, verdict.kind, cause, named or "-", to_do) + mark


def _shown(measure: Measure) -> str:
    if isinstance(measure, dict):
        return "{value:.1%} (95 % interval {low:.1%} to {high:.1%})".format_map(measure)
    return f"{measure:g}"
