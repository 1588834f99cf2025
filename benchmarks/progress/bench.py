"""Bench `progress`: step lines of large logs, by format, through all that reads progress.

A log is fed to the analysis without any rule: what is left is finding step lines, reading them,
following every printer, and keeping what a verdict looks at. Each log is nothing but progress as
its framework prints it. Speed is measured on the whole of it, while the forms of its lines are
learned, and as `steady` on its second half. The bar is on Megatron's lines, the longest; those of
the Trainer of Hugging Face hold no step, and are read one by one.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import process_time

from relume import __version__
from relume.benchmarks.demo import frameworks
from relume.benchmarks.demo.world import make_world
from relume.benchmarks.machine import (
    describe,
    measured,
    reference_rate,
    too_slow,
)
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.ingest.blocks import Block, BlockAssembler
from relume.ingest.loglines import LineParser
from relume.models.signatures.ruleset import Catalogue
from relume.serve.analysis import AttemptAnalysis
from relume.serve.offline import Analyzer

SIZE, QUICK_SIZE = 200_000_000, 10_000_000
ROUNDS = 5
SEED = "progress"
FRAMEWORKS = ("megatron", "mlperf", "torchtitan", "deepspeed", "hf_trainer")
SLOW = frozenset({"hf_trainer"})
"""Formats that are read line by line for the most part: a tenth of their log says it all."""
JUDGED = "megatron"
_MAX_STEPS = 10**9
_PIECE_LINES = 10_000
_BARS = {"mb_per_cpu_second": Bar(">=", 200)}


@dataclass(frozen=True, slots=True)
class _Read:
    """One log read: its size, the CPU seconds of both halves, and the new steps seen."""

    size: int
    seconds: tuple[float, float]
    new_steps: int

    @property
    def rate(self) -> float:
        """MB per CPU-second, of the whole."""
        return self.size / 1e6 / sum(self.seconds)

    @property
    def steady(self) -> float:
        """The same of the second half."""
        return self.size / 2e6 / self.seconds[1]


def run(data: Path | None, *, quick: bool = False) -> BenchResult:
    """Read generated logs of five frameworks, five times; `quick` small ones, once. No `data`."""
    del data  # made here
    size, rounds = (QUICK_SIZE, 1) if quick else (SIZE, ROUNDS)
    analyzer = Analyzer(Catalogue.of(()))
    measures, usage = measured(lambda: _all(analyzer, size, rounds))
    reference = reference_rate()
    return BenchResult(
        id="progress",
        version=__version__,
        machine=describe(),
        corpus={"name": "generated step lines", "hash": f"seed {SEED}", "bytes": size},
        measures=measures | {"reference_memchr_mb_per_cpu_second": round(reference)},
        bars={} if quick else dict(_BARS),
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        void=too_slow(reference),
    )


def _all(analyzer: Analyzer, size: int, rounds: int) -> dict[str, Measure]:
    measures: dict[str, Measure] = {}
    for name in FRAMEWORKS:
        blocks = list(blocks_of(name, size // 10 if name in SLOW else size))
        reads = [_read(analyzer.begin(name, (name,)), blocks) for _ in range(rounds)]
        rate = round(statistics.median(one.steady for one in reads), 1)
        if name == JUDGED:
            measures["mb_per_cpu_second"] = rate
        measures |= {
            f"{name}_steady_mb_per_cpu_second": rate,
            f"{name}_mb_per_cpu_second": round(statistics.median(o.rate for o in reads), 1),
            f"{name}_lines_per_cpu_second": round(
                statistics.median(one.new_steps / sum(one.seconds) for one in reads)
            ),
        }
    return measures


def blocks_of(name: str, size: int) -> Iterator[Block]:
    """Yield the log of a framework in blocks, until it has at least so many bytes."""
    assembler, made = BlockAssembler(name), 0
    lines = getattr(frameworks, name)(make_world(SEED), _MAX_STEPS)
    while made < size:
        text = "".join(f"{line}\n" for line in islice(lines, _PIECE_LINES)).encode()
        made += len(text)
        yield from assembler.feed(text)
    yield from assembler.finish()


def _read(analysis: AttemptAnalysis, blocks: list[Block]) -> _Read:
    parser, middle = LineParser(blocks[0].file), len(blocks) // 2
    seconds = []
    for half in (blocks[:middle], blocks[middle:]):
        began = process_time()
        for block in half:
            analysis.feed(block, parser)
        seconds.append(process_time() - began)
    size = sum(len(block.data) for block in blocks)
    return _Read(size, (seconds[0], seconds[1]), analysis.progress.new_steps)
