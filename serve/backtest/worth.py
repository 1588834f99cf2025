"""A backtest's goodput, and what Advice would have been worth in it; under each preset, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from relume.features.goodput.buckets import GoodputSettings, spans_of
from relume.features.goodput.cluster import cluster_shares
from relume.models.policy.policy import Policy, Preset
from relume.serve.backtest.engines.work import HERE, Engine
from relume.serve.backtest.goodput import Goodput, goodput_of
from relume.serve.backtest.hindsight import Hindsight, hindsight_of
from relume.serve.backtest.lived import GPUS_PER_NODE, Lives
from relume.serve.backtest.lives import lives_of
from relume.serve.backtest.results import Results, UnitResult
from relume.serve.backtest.run import Judging, Recording
from relume.serve.scan.window import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumed:
    """What is assumed where records don't say.

    Attributes
    ----------
    gpus_per_node
        Of attempts whose GPUs aren't known.
    gpus
        In service all the time; null where nobody says: then no share of a cluster is known.
    goodput
        How often jobs save, and from which size on a slowdown is one.
    """

    gpus_per_node: int = GPUS_PER_NODE
    gpus: int | None = None
    goodput: GoodputSettings = field(default_factory=GoodputSettings)


@dataclass(frozen=True, slots=True)
class Worth:
    """What attempts did with their time, where it went, and what Advice would have changed.

    `cluster` has the shares of each bucket and of `idle` in all GPUs in service, from when the
    first run was eligible to when the last one ended; null where nobody says how many there were.
    """

    lives: Lives
    goodput: Goodput
    hindsight: Hindsight
    cluster: Mapping[str, float] | None = None


def worth_of(
    recording: Recording,
    units: Iterable[UnitResult],
    assumed: Assumed | None = None,
    window: Window | None = None,
) -> Worth:
    """Return the goodput of a backtest, and what its Advice would have been worth.

    Holds all attempts that are asked for, with up to 256 rows of steps each.

    Parameters
    ----------
    recording
        Of which the results are: it has the labels.
    units
        The results.
    assumed
        What is assumed where records don't say.
    window
        Which times are asked for; all of an attempt counts that reaches into them.

    Raises
    ------
    InputError
        When more GPUs were in use at once than are said to be in service.
    """
    assumed = assumed or Assumed()
    wanted = units if window is None else _within(units, window)
    lives = lives_of(
        wanted,
        recording.labels(),
        gpus_per_node=assumed.gpus_per_node,
        is_live=recording.is_live,
    )
    spans = spans_of(*lives.frames(), assumed.goodput)
    goodput = goodput_of(lives, settings=assumed.goodput, spans=spans)
    cluster = None
    if assumed.gpus is not None and len(spans):
        begin, end = spans["begin"].min(), spans["end"].max()
        cluster = cluster_shares(spans, assumed.gpus, cast("int", begin), cast("int", end))
    return Worth(lives, goodput, hindsight_of(lives, goodput, spans), cluster)


def _within(units: Iterable[UnitResult], window: Window) -> Iterator[UnitResult]:
    for unit in units:
        asked = [one for one in unit.attempts if window.covers(one.start, one.end)]
        yield UnitResult(unit.unit, asked)


def sweep(
    recording: Recording,
    judging: Judging,
    folder: Path,
    advance: Callable[[int, int], None] = lambda _done, _total: None,
    *,
    engine: Engine = HERE,
) -> dict[Preset, Worth]:
    """Replay under each preset of the policy; results are kept in a folder of each preset's name.

    Everything else is as `judging` has it.

    Raises
    ------
    RelumeError
        When the data can't be read, or not all of it replayed.
    OSError
        When results can't be written.
    """
    found = {}
    for preset in Preset:
        changed = replace(judging.settings, policy=Policy.of(preset))
        judged = replace(judging, settings=changed)
        with Results(folder / preset.value, recording.about(judged)) as results:
            recording.replay(judged, results, advance, learns=False, engine=engine)
            results.require_whole()
            found[preset] = worth_of(recording, results.read())
    return found
