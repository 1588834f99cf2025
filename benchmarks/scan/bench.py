"""Bench `scan`: a healthy log of 4 GB through the rules, beside ripgrep with the same patterns.

What is measured is the way that `relume diagnose` finds signatures: the file is read into blocks,
the database of all rules is scanned, and every candidate line is numbered, parsed and judged by the
matcher. Beside it stand the whole of `relume diagnose` on the same file, and how many candidates a
megabyte of recorded healthy logs has.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from relume import __version__
from relume.benchmarks.corpora import healthy
from relume.benchmarks.ingest.room import require_room
from relume.benchmarks.machine import (
    describe,
    measured,
    reference_rate,
    too_slow,
)
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.benchmarks.scan.ripgrep import ripgrep_version, search, write_patterns
from relume.benchmarks.scan.text import SEED, write_log
from relume.ingest.attempts import find_attempts
from relume.ingest.blocks import Block, blocks_of_lines
from relume.ingest.loglines import LineParser
from relume.ingest.opening import read_blocks
from relume.models.signatures.loader import load_catalogue
from relume.serve.offline import Analyzer
from relume.serve.scanplan import Scanner, make_scanner
from relume.serve.tails import MAX_TEXT

SIZE, QUICK_SIZE = 4_000_000_000, 200_000_000
ROUNDS = 5
_BARS = {"mb_per_cpu_second": Bar(">=", 500), "times_ripgrep": Bar(">=", 1.5)}
_SAME_LINES = {"lines_that_differ_from_ripgrep": Bar("==", 0)}
_NO_RIPGREP = "ripgrep is not installed (Debian: apt-get install ripgrep), so nothing was compared"


@dataclass(slots=True)
class Scanned:
    """What a scan for signatures found."""

    bytes: int = 0
    lines: int = 0
    """Lines in which a pattern of a rule was found."""
    hits: int = 0


def run(data: Path | None = None, *, quick: bool = False) -> BenchResult:
    """Run it; `data` holds the recorded healthy logs, which are left out without it."""
    scanner, start_up = measured(lambda: make_scanner(load_catalogue()))
    measures: dict[str, Measure] = {"start_up_cpu_seconds": round(start_up.cpu_seconds, 3)}
    if data is not None:
        measures |= _of_recordings(scanner, data)
    with tempfile.TemporaryDirectory(prefix="relume-scan-") as work:
        folder, size = Path(work), QUICK_SIZE if quick else SIZE
        require_room("bench scan", folder, size)
        log = folder / "job.log"
        size = write_log(log, size)
        compared = _compare(scanner, folder, log)
        diagnosed = measured(lambda: Analyzer().diagnose_all(find_attempts([log])))[1]
    measures |= compared | {"diagnose_mb_per_cpu_second": _rate(size, diagnosed.cpu_seconds)}
    reference = reference_rate()
    measures["reference_memchr_mb_per_cpu_second"] = round(reference)
    return BenchResult(
        id="scan",
        version=__version__,
        machine=describe() | {"ripgrep": ripgrep_version() or "absent"},
        corpus={"name": "generated healthy log", "hash": f"seed {SEED}", "bytes": size},
        measures=measures,
        bars={name: bar for name, bar in (_BARS | _SAME_LINES).items() if name in measures},
        cpu_seconds=diagnosed.cpu_seconds,
        wall_seconds=diagnosed.wall_seconds,
        peak_rss_bytes=diagnosed.peak_rss_bytes,
        void=_void(reference),
    )


def scan(scanner: Scanner, blocks: Iterable[Block]) -> Scanned:
    """Find signatures as `AttemptAnalysis.feed` does, and nothing else."""
    scanned, parser = Scanned(), LineParser("job.log")
    for block in blocks:
        data = block.data
        scanned.bytes += len(data)
        for start, end, patterns in scanner.rules.scan(data):
            found = scanner.plan.split(patterns).signatures
            text = data[start : min(end, start + MAX_TEXT)].decode("utf-8", "replace")
            line = parser.parse(text, block.line_at(start), block.byte_offset_at(start))
            scanned.lines += 1
            scanned.hits += len(scanner.matcher.match(line, found))
    return scanned


def _compare(scanner: Scanner, folder: Path, log: Path) -> dict[str, Measure]:
    """Scan with both in turn, five times; ratios are taken inside a round."""
    patterns, has_peer = folder / "patterns", ripgrep_version() is not None
    write_patterns(patterns, scanner.plan.patterns[: scanner.plan.steps_from])
    rates, ratios, differing = [], [], 0
    for _ in range(ROUNDS):
        found, own = measured(lambda: scan(scanner, read_blocks(log)))
        rates.append(_rate(found.bytes, own.cpu_seconds))
        if has_peer:
            peer = search(patterns, log)
            ratios.append(peer.usage.cpu_seconds / own.cpu_seconds)
            differing += abs(peer.lines - found.lines)
    measures: dict[str, Measure] = {
        "mb_per_cpu_second": statistics.median(rates),
        "candidates_per_mb": round(found.lines / found.bytes * 1e6, 1),
        "hits_per_mb": round(found.hits / found.bytes * 1e6, 1),
        "patterns": scanner.plan.steps_from,
    }
    if not has_peer:
        return measures
    return measures | {
        "times_ripgrep": round(statistics.median(ratios), 2),
        "ripgrep_mb_per_cpu_second": _rate(found.bytes, peer.usage.cpu_seconds),
        "lines_that_differ_from_ripgrep": differing,
    }


def _of_recordings(scanner: Scanner, data: Path) -> dict[str, Measure]:
    """Candidates per megabyte of recorded healthy logs, by group, and the speed on all of them."""
    groups: dict[str, list[Block]] = {}
    for log in healthy.load(data).logs:
        groups.setdefault(log.group, []).extend(_blocks(log))
    measures: dict[str, Measure] = {}
    for group, blocks in groups.items():
        found = scan(scanner, blocks)
        steps = sum(len(scanner.steps.scan(block.data)) for block in blocks)
        measures[f"{group}_candidates_per_mb"] = round(found.lines / found.bytes * 1e6, 1)
        measures[f"{group}_hits_per_mb"] = round(found.hits / found.bytes * 1e6, 1)
        measures[f"{group}_step_candidates_per_mb"] = round(steps / found.bytes * 1e6, 1)
    every = [block for blocks in groups.values() for block in blocks]
    rounds = [measured(partial(scan, scanner, every)) for _ in range(ROUNDS)]
    rates = [_rate(found.bytes, usage.cpu_seconds) for found, usage in rounds]
    return measures | {"recorded_mb_per_cpu_second": statistics.median(rates)}


def _blocks(log: healthy.HealthyLog) -> Iterator[Block]:
    if log.lines is not None:
        yield from blocks_of_lines(log.lines, log.path.name)
    else:
        yield from read_blocks(log.path)


def _rate(size: int, cpu_seconds: float) -> float:
    return round(size / 1e6 / cpu_seconds, 1)


def _void(reference: float) -> str | None:
    if ripgrep_version() is None:
        return _NO_RIPGREP
    return too_slow(reference)
