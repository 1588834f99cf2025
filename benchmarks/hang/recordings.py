"""Healthy recorded runs, second by second, that can be cut and played at another speed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from relume.benchmarks.corpora import mlperf
from relume.benchmarks.corpora.common import nodes_in_name
from relume.clock import MICROSECONDS_PER_SECOND
from relume.dataset import LogFile
from relume.events import Tick
from relume.ingest.blocks import Block
from relume.ingest.lake.batches import LineBatch, Parsers
from relume.serve.backtest.logs import RecordedLog
from relume.serve.backtest.sources import file_source
from relume.serve.offline import Analyzer

MIN_STEPS = 10
"""Seconds with new steps; a run with fewer has no pace that could be learned."""
WARM_UP = 4
"""Seconds with new steps before the first place to cut: start-up is another matter."""
_ATTEMPT = "recorded/1@0.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One recorded run.

    Attributes
    ----------
    family, name
        Runs of one system and benchmark are one family; what the run itself is called.
    nodes
        How many it had.
    blocks
        What a service read of it, each with the second in which it did, from the first on.
    steps, phases
        Places in `blocks` that brought new steps, and the phase that the job was in after each by
        its own words; null for none.
    """

    family: str
    name: str
    nodes: int
    blocks: tuple[tuple[int, Block], ...]
    steps: tuple[int, ...]
    phases: tuple[str | None, ...]

    @property
    def gap_seconds(self) -> float:
        """The usual time from steps to the next ones, as recorded."""
        seconds = [self.blocks[place][0] for place in self.steps]
        return median(later - earlier for earlier, later in pairwise(seconds))


def load(data: Path, analyzer: Analyzer) -> tuple[list[Run], str, Counter[str]]:
    """Return the runs that can be cut, the hash of the corpus, and why others are left out.

    Raises
    ------
    InputError
        When the corpus is missing.
    """
    corpus, left_out, runs = mlperf.load(data), Counter[str](), []
    for path in corpus.paths:
        found = _read(path, analyzer)
        if isinstance(found, str):
            left_out[found] += 1
        else:
            runs.append(found)
    return runs, corpus.hash, left_out


def families(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Return the runs of each family."""
    found: defaultdict[str, list[Run]] = defaultdict(list)
    for run in runs:
        found[run.family].append(run)
    return dict(found)


def _read(path: Path, analyzer: Analyzer) -> Run | str:
    """Read a run, or say why it can't be cut."""
    source = file_source(LogFile(path=str(path)))
    log = RecordedLog(source, cluster="recorded", attempt=_ATTEMPT, zone="UTC", near=None)
    if log.first is None:
        return "no clock"
    blocks: list[tuple[int, Block]] = []
    steps: list[int] = []
    phases: list[str | None] = []
    analysis, parsers = analyzer.begin("run", ()), Parsers()
    # Lines of no clock come with the next one that has one: a service may read them as late.
    for time, landing in log.landings(log.first, _nothing, _nothing):
        if not isinstance(landing, LineBatch):
            continue
        seen = analysis.progress.new_steps
        analysis.feed(landing.block, parsers.of(landing))
        if analysis.progress.new_steps > seen:
            steps.append(len(blocks))
            phases.append(analysis.progress.entered_phase)
        blocks.append(((time - log.first) // MICROSECONDS_PER_SECOND, landing.block))
    if len(steps) < MIN_STEPS:
        return "too few steps"
    return Run(
        family="/".join(path.parts[-4:-1]),
        name="/".join(path.parts[-4:]),
        nodes=nodes_in_name(path.parts[-3]) or 1,
        blocks=tuple(blocks),
        steps=tuple(steps),
        phases=tuple(phases),
    )


def _nothing(time: int) -> Tick:
    """What is told where nobody can tell when lines came; here nobody asks."""
    return Tick(event_time=time)
