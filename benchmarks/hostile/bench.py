"""Bench `hostile`: logs and patterns that are made to take all time and memory there is.

Each goes through the whole of `relume diagnose`, in a process of its own that is watched. Logs of
1 GB without a line's end, full of NULs, of empty lines, of states of a bar; waves of a million
lines in which every rank fails; and expressions of a site that backtracking engines never end
with: each is refused with a reason, or runs in linear time.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from relume import __version__
from relume.benchmarks.commands import Watched, watch_relume
from relume.benchmarks.hostile.inputs import (
    WAVES,
    empty_lines,
    no_newline,
    nuls,
    one_letter,
    returns,
    wave,
    write_pieces,
)
from relume.benchmarks.hostile.patterns import FIELDS, PATTERNS, log, rule_file
from relume.benchmarks.ingest.room import require_room
from relume.benchmarks.machine import describe
from relume.benchmarks.result import Bar, BenchResult, Measure

SIZE, WAVE_LINES = 1_000_000_000, 1_000_000
QUICK_SHARE = 50
LIMIT_SECONDS = 300.0
PATTERN_SECONDS = 60.0
MEMORY_BYTES = 300 << 20
_REFUSED = 2
_BARS = {
    "not_ended": Bar("==", 0),
    "crashed": Bar("==", 0),
    "anonymous_bytes": Bar("<=", MEMORY_BYTES),
    "failure_behind_nuls_found": Bar("==", 1),
    "slowest_text_mb_per_cpu_second": Bar(">=", 10),
    "slowest_wave_lines_per_cpu_second": Bar(">=", 10_000),
    "slowest_pattern_cpu_seconds": Bar("<=", 30),
    "refused_without_a_reason": Bar("==", 0),
}


_RATES = frozenset({"slowest_text_mb_per_cpu_second", "slowest_wave_lines_per_cpu_second"})
"""Bars for large logs only: of small ones the start of the command takes most."""


@dataclass(slots=True)
class _Seen:
    """What was seen over all runs."""

    measures: dict[str, Measure] = field(default_factory=dict)
    runs: list[Watched] = field(default_factory=list)


def run(data: Path | None, *, quick: bool = False) -> BenchResult:
    """Run it; `quick` with a fiftieth of the sizes and a third of the patterns. No `data`."""
    del data  # made here
    share = QUICK_SHARE if quick else 1
    size, lines, seen = SIZE // share, WAVE_LINES // share, _Seen()
    with tempfile.TemporaryDirectory(prefix="relume-hostile-") as work:
        require_room("bench hostile", Path(work), SIZE // share)
        _texts(Path(work) / "job.log", size, seen)
        _waves(Path(work) / "job.log", lines, seen)
        _patterns(Path(work), seen, list(PATTERNS)[:: 3 if quick else 1])
    seen.measures |= {
        "not_ended": sum(one.code is None for one in seen.runs),
        "crashed": sum(_is_crash(one) for one in seen.runs),
        "anonymous_bytes": max(one.anonymous_bytes for one in seen.runs),
        "runs": len(seen.runs),
    }
    return BenchResult(
        id="hostile",
        version=__version__,
        machine=describe(),
        corpus={"name": "generated hostile logs and patterns", "bytes": size, "lines": lines},
        measures=seen.measures,
        bars={name: bar for name, bar in _BARS.items() if not (quick and name in _RATES)},
        cpu_seconds=sum(one.cpu_seconds for one in seen.runs),
        wall_seconds=sum(one.wall_seconds for one in seen.runs),
        peak_rss_bytes=max(one.peak_rss_bytes for one in seen.runs),
    )


def _texts(path: Path, size: int, seen: _Seen) -> None:
    """Diagnose logs that are made of one thing only."""
    makers: dict[str, Callable[[], Iterator[bytes]]] = {
        "no_newline": no_newline,
        "one_letter": one_letter,
        "nuls": lambda: nuls(size),
        "empty_lines": empty_lines,
        "returns": returns,
    }
    rates = []
    for name, make in makers.items():
        written = write_pieces(path, 2 * size if name == "nuls" else size, make())
        one = _diagnosed(path, seen)
        rate = round(written / 1e6 / one.cpu_seconds, 1)
        rates.append(rate)
        seen.measures[f"{name}_mb_per_cpu_second"] = rate
        if name == "nuls":
            seen.measures["failure_behind_nuls_found"] = int('"cuda_illegal_access"' in one.out)
    seen.measures["slowest_text_mb_per_cpu_second"] = min(rates)


def _waves(path: Path, lines: int, seen: _Seen) -> None:
    """Diagnose logs in which every rank fails in the same way."""
    rates = []
    for name in WAVES:
        write_pieces(path, 1 << 62, wave(name, lines))
        rates.append(round(lines / _diagnosed(path, seen).cpu_seconds))
        seen.measures[f"wave_of_{name}_lines_per_cpu_second"] = rates[-1]
    seen.measures["slowest_wave_lines_per_cpu_second"] = min(rates)


def _patterns(folder: Path, seen: _Seen, patterns: Sequence[str]) -> None:
    """Diagnose a log on which backtracking never ends by a site's own expressions."""
    path, rules = folder / "job.log", folder / "site.toml"
    path.write_bytes(log())
    refused = unsaid = 0
    slowest = 0.0
    for pattern in patterns:
        for name in FIELDS:
            rules.write_text(rule_file(pattern, name), encoding="utf-8")
            one = watch_relume(
                "diagnose", "--rules", str(rules), str(path), limit_seconds=PATTERN_SECONDS
            )
            seen.runs.append(one)
            slowest = max(slowest, one.cpu_seconds)
            if one.code == _REFUSED:
                refused += 1
                unsaid += not ("own_rule" in one.error and "expected" in one.error)
    seen.measures |= {
        "patterns": len(patterns) * len(FIELDS),
        "patterns_refused": refused,
        "refused_without_a_reason": unsaid,
        "slowest_pattern_cpu_seconds": round(slowest, 2),
    }


def _diagnosed(path: Path, seen: _Seen) -> Watched:
    one = watch_relume("diagnose", "--json", str(path), limit_seconds=LIMIT_SECONDS)
    seen.runs.append(one)
    if one.out:
        json.loads(one.out)  # whatever a log holds, what is said of it is a document
    return one


def _is_crash(one: Watched) -> bool:
    """Whether it ended by an error of ours or by a signal, rather than with an answer."""
    return one.code is not None and (one.code not in {0, 1, _REFUSED} or "Traceback" in one.error)
