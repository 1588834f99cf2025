"""A recorded lake, judged anew: what would have been advised, by the very code that runs live."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from relume.advice import Advice
from relume.ingest.lake import LakeReader
from relume.serve.live.aftermath import Told
from relume.serve.live.judge import Judge
from relume.serve.live.options import RunnerOptions
from relume.serve.offline import Analyzer


def replay(lake: Path, options: RunnerOptions, analyzer: Analyzer) -> Iterator[Advice]:
    """Yield the Advice of a whole lake, in the order in which it was made.

    With the rules and settings of the live run it is equal to what that run wrote
    (`relume.advice.comparable`). Holds one row group a table, and what a live run holds.

    Raises
    ------
    LakeError
        When there is no lake, or a part of it is missing or damaged.
    """
    for one in replay_all(lake, options, analyzer):
        if isinstance(one, Advice):
            yield one


def replay_all(lake: Path, options: RunnerOptions, analyzer: Analyzer) -> Iterator[Advice | Told]:
    """Yield the same with what became of it, in the order in which a live run writes it.

    Raises
    ------
    LakeError
        When there is no lake, or a part of it is missing or damaged.
    """
    judge = Judge(analyzer, options.watch, options.zone)
    for landing in LakeReader(lake, zone=options.zone).landings():
        yield from judge.take(landing)
        yield from judge.told
