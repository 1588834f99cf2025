"""Bench `dumps`: who holds up a hung job, by the dumps of its ranks.

Twelve families of hangs are made up in the formats 2.4 and 2.10, with all dumps and with a fifth of
them missing; recorded runs are scored apart and never pooled with them. Each job is diagnosed as a
user does: a folder of dumps, under whatever names.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from random import Random
from typing import Any

from relume import __version__
from relume.benchmarks.dumps import recorded
from relume.benchmarks.dumps.baselines import lowest_counter
from relume.benchmarks.dumps.faults import FAMILIES, Hang, make_hang
from relume.benchmarks.dumps.programs import Host, make_job
from relume.benchmarks.dumps.running import Run
from relume.benchmarks.dumps.twins import has_twin
from relume.benchmarks.dumps.writing import FORMATS, choose_form, write_dumps
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.benchmarks.scoring import Tally
from relume.ingest.attempts import find_attempts
from relume.ingest.dumps.read import read_dumps
from relume.ingest.skips import SkipCounts
from relume.serve.offline import Analyzer
from relume.verdict import Verdict

SEEDS, QUICK_SEEDS = 15, 2
"""Hangs of each family and format."""
WORLDS = (8, 16, 16, 32, 64)
LOST = 0.2
"""Share of the dumps that is missing in the second pass."""
MANY_RANKS = 1024
MANY_STEPS = 12
NOBODY = "all_started"
_BARS = {
    "culprit": Bar(">=", 0.98),
    "culprit_a_fifth_missing": Bar(">=", 0.90),
    "all_started_named_wrongly": Bar("==", 0),
    "recorded_injected_named": Bar("==", 1),
    "ranks_1024_cpu_seconds": Bar("<=", 30),
}


@dataclass(frozen=True, slots=True)
class _Left:
    """What is left of a hang: a dump of one at fault, and whether another hang leaves the same."""

    has_dump: bool
    has_twin: bool


@dataclass(slots=True)
class _Pass:
    """The scores of one pass over all hangs."""

    culprit: Tally = field(default_factory=Tally)
    dumped: Tally = field(default_factory=Tally)
    knowable: Tally = field(default_factory=Tally)
    baseline: Tally = field(default_factory=Tally)
    families: dict[str, Counter[str]] = field(default_factory=dict)
    others_named: list[str] = field(default_factory=list)
    nobody_named: list[str] = field(default_factory=list)
    guessed: int = 0

    def add(self, name: str, hang: Hang, verdict: Verdict, left: _Left, naive: int | None) -> None:
        """Score one hang: the rank named first must be one of those at fault, or nobody."""
        rank, family = verdict.culprit.rank, self.families.setdefault(hang.family, Counter())
        right = rank in hang.culprits if hang.culprits else rank is None
        self.culprit.add(name, right=right)
        if left.has_dump:
            self.dumped.add(name, right=right)
        if not left.has_twin:
            self.knowable.add(name, right=right)
        elif right:
            self.guessed += 1
        self.baseline.add(name, right=naive in hang.culprits if hang.culprits else naive is None)
        family["right"] += right
        family["of"] += 1
        named = {w.rank for w in verdict.stuck.culprits} if verdict.stuck is not None else set()
        if not named <= hang.culprits:
            (self.others_named if hang.culprits else self.nobody_named).append(name)


def run(data: Path | None, *, quick: bool = False) -> BenchResult:
    """Make the hangs, diagnose them, and score the recorded sets apart."""
    sets = recorded.load(data)
    seeds = QUICK_SEEDS if quick else SEEDS
    analyzer = Analyzer()
    (whole, part), usage = measured(
        lambda: (_pass(analyzer, seeds, 0.0), _pass(analyzer, seeds, LOST))
    )
    named = {one.name: _named(analyzer, one.dumps) for one in sets}
    many_seconds = _many(analyzer)
    measures: dict[str, Measure] = {
        "culprit": whole.culprit.interval(),
        "culprit_a_fifth_missing": part.culprit.interval(),
        "culprit_a_fifth_missing_its_own_dump_there": part.dumped.interval(),
        "a_fifth_missing_same_dumps_by_another": part.culprit.total - part.knowable.total,
        "a_fifth_missing_same_dumps_guessed_right": part.guessed,
        "culprit_a_fifth_missing_no_other_leaves_the_same": part.knowable.interval(),
        "all_started_named_wrongly": len(whole.nobody_named),
        "all_started_named_wrongly_a_fifth_missing": len(part.nobody_named),
        "others_named_too": len(whole.others_named),
        "baseline_lowest_counter": whole.baseline.interval(),
        "recorded_injected_named": _share(sets, named),
        "ranks_1024_cpu_seconds": round(many_seconds, 2),
    }
    return BenchResult(
        id="dumps",
        version=__version__,
        machine=describe(),
        corpus={"name": "made-up hangs, and recorded ones apart", "hangs": whole.culprit.total},
        measures=measures,
        bars=dict(_BARS),
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes=_notes(whole, part, sets, named),
    )


def hangs(seeds: int) -> Iterator[tuple[str, Hang, Run, str, Random]]:
    """Every hang of the bench with its name, its run, its format and what is left of its chance."""
    for family in FAMILIES:
        for version in FORMATS:
            for seed in range(seeds):
                name = f"{family}-{version}-{seed}"
                random = Random(name)
                hang = make_hang(family, random.choice(WORLDS), random)
                yield name, hang, Run(hang.job, hang.faults).run(), version, random


def _pass(analyzer: Analyzer, seeds: int, lost: float) -> _Pass:
    scores = _Pass()
    for name, hang, run_, version, random in hangs(seeds):
        with tempfile.TemporaryDirectory(prefix="relume-dumps-") as folder:
            form = choose_form(hang, version, random)
            there = write_dumps(Path(folder), hang, run_, form, random, lost=lost)
            [attempt] = find_attempts([folder])
            verdict = analyzer.diagnose(attempt).verdict
            files = [(file.path, file.form) for file in attempt.dumps]
            naive = lowest_counter(read_dumps(files, SkipCounts())[0].ranks)
        left = _Left(
            has_dump=not hang.culprits or bool(hang.culprits & there),
            has_twin=lost > 0 and has_twin(hang, run_, there),
        )
        scores.add(name, hang, verdict, left, naive)
    return scores


def _named(analyzer: Analyzer, dumps: Sequence[Path]) -> set[int | None]:
    """The ranks that are named by dumps alone: the label stands in the folder, beside them."""
    with tempfile.TemporaryDirectory(prefix="relume-dumps-") as folder:
        for path in dumps:
            (Path(folder) / path.name).write_bytes(path.read_bytes())
        [attempt] = find_attempts([folder])
        verdict = analyzer.diagnose(attempt).verdict
    return {where.rank for where in verdict.stuck.culprits} if verdict.stuck is not None else set()


def _share(sets: Sequence[recorded.RecordedSet], named: dict[str, set[int | None]]) -> float:
    """Share of the recorded sets in which exactly the injected ranks are named."""
    return sum(named[one.name] == one.injected for one in sets) / len(sets)


def _many(analyzer: Analyzer) -> float:
    """CPU seconds to diagnose a job of 1,024 ranks, from reading its dumps to the verdict."""
    random = Random("many")
    job = make_job("pipeline", MANY_RANKS, MANY_STEPS, random)
    rank = MANY_RANKS // 3
    job.programs[rank].insert(job.steps[rank][MANY_STEPS - 2] + 5, Host(inf))
    hang = Hang("cascade", job, culprits=frozenset({rank}))
    form = replace(choose_form(hang, FORMATS[-1], random), ring=2000, names="_dump_{rank}")
    run_ = Run(job, hang.faults).run()
    with tempfile.TemporaryDirectory(prefix="relume-dumps-") as folder:
        write_dumps(Path(folder), hang, run_, form, random, lost=0.0)
        verdict, usage = measured(lambda: analyzer.diagnose(find_attempts([folder])[0]).verdict)
    return usage.cpu_seconds if verdict.culprit.rank == rank else inf


def _notes(
    whole: _Pass,
    part: _Pass,
    sets: Sequence[recorded.RecordedSet],
    named: dict[str, set[int | None]],
) -> dict[str, Any]:
    """How each family went, and the names of what went wrong: what to look at next."""
    return {
        "families": {name: dict(counts) for name, counts in whole.families.items()},
        "families_a_fifth_missing": {name: dict(c) for name, c in part.families.items()},
        "wrong": whole.culprit.wrong,
        "recorded": {
            one.name: {
                "injected": sorted(one.injected),
                "named": sorted(rank for rank in named[one.name] if rank is not None),
            }
            for one in sets
        },
    }
