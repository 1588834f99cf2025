"""Recorded slow jobs, and who is blamed for them: traces of three pipelines, and four shared jobs.

What the traces show is slow from their first step on, so nothing is known of before; who is slow
shows in the ranks side by side. In the shared jobs a worker becomes slow on the way (job 1), so it
has to be found first.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from relume.benchmarks.corpora.common import find_files
from relume.benchmarks.false_alarms.plans import generator
from relume.models.straggler.detector import Slowdown, StragglerDetector
from relume.models.straggler.evidence import Answer, Evidence
from relume.models.straggler.ranks import MIN_STEPS, RankTimes
from relume.models.straggler.settings import StragglerSettings
from relume.models.straggler.steps import StepTime
from relume.models.straggler.who import who

if TYPE_CHECKING:
    from numpy.typing import NDArray

PIPELINES, SHARED = "bytedance-straggler", "alibaba-gpu"
_COMPUTE = ("forward-compute", "backward-compute")
_KEPT, _LOST, _NOISE = 0.5, 0.1, 0.03
_JUDGED = 16
"""Readings of the ranks before the alarm that are compared."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded job and what was said of it; `slowdown` is null where none was found.

    `onset` is the reading at which it began by the best estimate, null for those slow from the
    first.
    """

    name: str
    answer: Answer | None
    slowdown: Slowdown | None = None

    @property
    def onset(self) -> int | None:
        """The reading at which it began by the best estimate."""
        return None if self.slowdown is None else self.slowdown.since.step


def pipelines(data: Path) -> list[Recorded]:
    """Judge the traces: own work of each pipeline rank, step by step.

    Raises
    ------
    InputError
        When the recordings aren't there.
    """
    return [_pipeline(path) for path in find_files(data, PIPELINES, "trace-*.parquet")]


def perturbed(data: Path, copies: int = 10) -> list[Recorded]:
    """Judge copies of the traces: half of the steps, one value in ten lost, other noise, reordered.

    Ranks keep their numbers, in another order.

    Raises
    ------
    InputError
        When the recordings aren't there.
    """
    return [
        _pipeline(path, generator(number))
        for path in find_files(data, PIPELINES, "trace-*.parquet")
        for number in range(copies)
    ]


def _pipeline(path: Path, draws: np.random.Generator | None = None) -> Recorded:
    work = (
        pl.scan_parquet(path)
        .filter(pl.col("optype").cast(pl.String).is_in(_COMPUTE))
        .group_by("step", "rank", "stage")
        .agg(pl.col("duration").sum())
        .collect()
    )
    stages: dict[int, int] = dict(work.select("rank", "stage").unique().iter_rows())
    ranks, times = _table(work, "step", "rank", "duration")
    if draws is not None:
        order, kept = draws.permutation(len(ranks)), draws.random(len(times)) < _KEPT
        ranks, times = tuple(ranks[place] for place in order), times[kept][:, order]
        times = times * draws.normal(1.0, _NOISE, times.shape)
        times[draws.random(times.shape) < _LOST] = np.nan
    slowest = float(np.nanmean(np.nanmax(times, axis=1)) / np.nanmean(np.nanmedian(times, axis=1)))
    known = RankTimes(times, ranks, stages=tuple(stages[rank] for rank in ranks))
    return Recorded(path.stem.removeprefix("trace-"), who(Evidence(slowest, ranks=known)))


def shared_jobs(data: Path, settings: StragglerSettings) -> list[Recorded]:
    """Watch the four shared jobs; where one becomes slow, judge its workers.

    Raises
    ------
    InputError
        When the recordings aren't there.
    """
    return [
        _shared(path, settings)
        for path in find_files(data, f"{SHARED}/mini-batch-time", "job_*_norm.csv")
    ]


def _shared(path: Path, settings: StragglerSettings) -> Recorded:
    rows = pl.read_csv(path).group_by("time", "worker").agg(pl.col("batch_time_norm").median())
    workers, times = _table(rows, "time", "worker", "batch_time_norm")
    name = path.stem.removesuffix("_norm")
    detector = StragglerDetector(settings, name)
    for number, slowest in enumerate(np.nanmax(times, axis=1)):
        for slowdown in detector.take(name, StepTime(value=float(slowest), step=number)):
            since = slowdown.since.step
            end = max(number + 1, since + MIN_STEPS)  # a few more, where it was found at once
            known = RankTimes(
                times[max(since, end - _JUDGED) : end],
                workers,
                before=np.nanmedian(times[:since], axis=0),
            )
            return Recorded(name, who(Evidence.of(slowdown, ranks=known)), slowdown)
    return Recorded(name, None)


def _table(
    rows: pl.DataFrame, index: str, column: str, value: str
) -> tuple[tuple[int, ...], NDArray[np.float64]]:
    """Return the columns' numbers, and the values: a row for each step, NaN for what is missing."""
    wide = rows.pivot(column, index=index, values=value).sort(index)
    names = sorted(int(name) for name in wide.columns if name != index)
    table = wide.select(pl.col(str(name)).cast(pl.Float64) for name in names).to_numpy()
    return tuple(names), np.where(np.isnan(table), np.nan, table)
