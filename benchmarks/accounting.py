"""Bench `accounting`: every row of printed accounting is read, or counted with its reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from relume import __version__
from relume.benchmarks.corpora import slurm_fixtures
from relume.benchmarks.corpora.slurm_fixtures import Printed
from relume.benchmarks.machine import describe, measured, reference_rate
from relume.benchmarks.registry import data_folder
from relume.benchmarks.result import Bar, BenchResult
from relume.ingest.accounting.read import read_rows
from relume.ingest.accounting.row import AccountingRow
from relume.ingest.skips import MENDED, SkipCounts

ROUNDS = 10
"""How often all files are read for the speed: once takes a tenth of a second."""
_BARS = {"share_accounted": Bar("==", 1.0), "joined_as_expected": Bar("==", 1.0)}


@dataclass(slots=True)
class Tally:
    """What one file gave."""

    rows: list[AccountingRow]
    skipped: SkipCounts

    @property
    def steps(self) -> int:
        """Steps that stand behind their jobs."""
        return sum(row.steps.count for row in self.rows)

    @property
    def accounted(self) -> int:
        """Rows read, steps, and what was left out by reason."""
        lost = sum(count for reason, count in self.skipped.items() if reason not in MENDED)
        return len(self.rows) + self.steps + lost


def run(data: Path | None) -> BenchResult:
    """Read every file, count all of its rows, and compare joined rows with those of others."""
    folder = data_folder(data, "accounting", f"the folder that holds {slurm_fixtures.FOLDER}/")
    corpus = slurm_fixtures.load(folder)
    tallies = {printed.name: tally(printed.lines) for printed in corpus.files}
    found, usage = measured(lambda: [tally(p.lines) for _ in range(ROUNDS) for p in corpus.files])
    reasons = SkipCounts()
    for one in tallies.values():
        reasons.merge(one.skipped)
    lines = sum(printed.row_count for printed in corpus.files)
    broken = [printed for printed in corpus.files if printed.joined is not None]
    off = sum(abs(p.row_count - tallies[p.name].accounted) for p in corpus.files)
    return BenchResult(
        id="accounting",
        version=__version__,
        machine=describe() | {"reference_mb_per_second": round(reference_rate())},
        corpus={"name": corpus.name, "hash": corpus.hash, "files": len(corpus.files)},
        measures={
            "share_accounted": 1 - off / lines,
            "joined_as_expected": sum(map(joins_as_expected, broken)) / max(len(broken), 1),
            "rows_in_files": lines,
            "attempts": sum(len(one.rows) for one in tallies.values()),
            "steps": sum(one.steps for one in tallies.values()),
            **{f"reason_{reason}": count for reason, count in reasons.items()},
            "rows_per_cpu_second": sum(one.accounted for one in found) / usage.cpu_seconds,
        },
        bars=_BARS,
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={
            "by_file": {
                p.name: {"rows": p.row_count, "accounted": tallies[p.name].accounted}
                for p in corpus.files
            }
        },
    )


def tally(lines: Iterable[str]) -> Tally:
    """Read one file."""
    skipped = SkipCounts()
    return Tally(list(read_rows(lines, skipped)), skipped)


def joins_as_expected(printed: Printed) -> bool:
    """Whether a file with broken rows gives the rows of its joined form.

    The broken text itself is left out: others put no line break where there was one.
    """
    found, expected = tally(printed.lines).rows, tally(printed.joined or ()).rows
    return _without_text(found) == _without_text(expected)


def _without_text(rows: Iterable[AccountingRow]) -> list[AccountingRow]:
    return [replace(row, submit_line=None, comment=None) for row in rows]
