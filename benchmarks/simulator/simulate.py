"""The same cluster under several operators, for `relume simulate`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from relume.benchmarks.simulator.cluster import Cluster, Counts
from relume.benchmarks.simulator.faults import DAY, FaultTable, draw_faults
from relume.benchmarks.simulator.mix import draw_jobs
from relume.benchmarks.simulator.nodes import Nodes
from relume.benchmarks.simulator.operators import BASELINE, HUMAN, ORACLE, Operator, from_results
from relume.benchmarks.simulator.parameters import Parameters
from relume.benchmarks.simulator.recording import Recording
from relume.benchmarks.simulator.runs import RunPlan
from relume.errors import InputError
from relume.features.goodput.buckets import SECOND
from relume.features.goodput.cluster import IDLE, cluster_shares

SOURCES = ("loop", "hang", "episodes", "false-alarms")
"""Benches whose stored results Relume's operator is made of."""
MAX_NODES, MAX_DAYS, MAX_JOBS = 100_000, 3_660, 1_000_000
"""What fits into memory."""
OPERATORS = ("baseline", "human", "relume", "oracle")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A cluster: its nodes, how long it lives, its jobs, and the seed of all draws.

    Without `jobs` one run takes all nodes but the spares.
    """

    nodes: int
    days: float
    jobs: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what is no cluster.

        Raises
        ------
        InputError
            For less than two nodes, no time, or no jobs.
        """
        jobs = 1 if self.jobs is None else self.jobs
        is_sound = (
            1 < self.nodes <= MAX_NODES and 0 < self.days <= MAX_DAYS and 1 <= jobs <= MAX_JOBS
        )
        if not is_sound:
            raise InputError(
                f"{self.nodes} nodes, {self.days:g} days, {self.jobs} jobs",
                expected=f"2 to {MAX_NODES} nodes, up to {MAX_DAYS} days, 1 to {MAX_JOBS} jobs",
            )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the cluster under one operator: shares of its GPU time, and counts."""

    operator: str
    shares: dict[str, float]
    counts: Counts
    recording: Recording

    def record(self) -> dict[str, Any]:
        """Return what is printed as JSON."""
        return {"operator": self.operator, "shares": self.shares, **asdict(self.counts)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Living:
    """A cluster after its life under one operator: the truth, and what became of it."""

    parameters: Parameters
    setting: Setting
    operator: Operator
    faults: FaultTable
    plans: Sequence[RunPlan]
    counts: Counts
    recording: Recording

    @property
    def noticed(self) -> dict[str, float]:
        """When somebody noticed that an attempt had failed, by its name; seconds."""
        return {name: alarm for name, _, alarm in self.recording.incidents}

    def outcome(self) -> Outcome:
        """Return where its GPU time went."""
        setting, end = self.setting, round(self.setting.days * DAY * SECOND)
        shares = cluster_shares(self.recording.spans(), 8 * setting.nodes, 0, end)
        return Outcome(self.operator.name, shares, self.counts, self.recording)


def operators_of(names: Sequence[str], results: Path) -> list[Operator]:
    """Return operators by name; Relume's is made of the results stored in `results`.

    Raises
    ------
    InputError
        For another name, or results that aren't there.
    """
    known = {"baseline": BASELINE, "human": HUMAN, "oracle": ORACLE}
    found = []
    for name in names:
        if name == "relume":
            found.append(from_results(stored(results)))
        elif name in known:
            found.append(known[name])
        else:
            raise InputError(f"operator {name}", expected=f"one of {', '.join(OPERATORS)}")
    return found


def stored(results: Path) -> dict[str, dict[str, Any]]:
    """Return the stored results that Relume's operator is made of; those that aren't there miss.

    Raises
    ------
    InputError
        For one that can't be read.
    """
    found = {}
    for bench in SOURCES:
        path = results / f"{bench}.json"
        try:
            found[bench] = orjson.loads(path.read_bytes())
        except FileNotFoundError:
            continue
        except (OSError, orjson.JSONDecodeError) as error:
            raise InputError(str(path), found=str(error), expected="a stored result") from error
    return found


def simulate(
    parameters: Parameters, setting: Setting, operators: Sequence[Operator]
) -> Iterator[Outcome]:
    """Let the same cluster live under each operator."""
    faults, plans = draw(parameters, setting)
    for operator in operators:
        yield _live(parameters, setting, operator, faults, plans).outcome()


def live(parameters: Parameters, setting: Setting, operator: Operator) -> Living:
    """Let a cluster live under one operator."""
    return _live(parameters, setting, operator, *draw(parameters, setting))


def _live(
    parameters: Parameters,
    setting: Setting,
    operator: Operator,
    faults: FaultTable,
    plans: list[RunPlan],
) -> Living:
    cluster = Cluster(
        parameters,
        Nodes(setting.nodes),
        faults,
        operator,
        setting.seed,
        preempts=setting.jobs is not None,
    )
    recording = cluster.run(plans, setting.days)
    return Living(
        parameters=parameters,
        setting=setting,
        operator=operator,
        faults=faults,
        plans=plans,
        counts=cluster.counts,
        recording=recording,
    )


def draw(parameters: Parameters, setting: Setting) -> tuple[FaultTable, list[RunPlan]]:
    """Draw the truth that all operators share: the faults and the jobs."""
    faults = draw_faults(
        parameters, setting.nodes, setting.days, np.random.default_rng([setting.seed, 0])
    )
    if setting.jobs is None:
        size = max(1, int(setting.nodes / (1 + parameters.run.spare_share)))
        return faults, [RunPlan("run", size)]
    rng = np.random.default_rng([setting.seed, 3])
    return faults, draw_jobs(parameters.mix, setting.jobs, setting.nodes, setting.days, rng)


def write(outcomes: Sequence[Outcome], folder: Path) -> list[Path]:
    """Write what each operator's cluster left behind as Parquet: attempts, steps, incidents, spans.

    Raises
    ------
    InputError
        When the folder can't be written.
    """
    written = []
    try:
        for outcome in outcomes:
            place = folder / outcome.operator
            place.mkdir(parents=True, exist_ok=True)
            attempts, steps, incidents = outcome.recording.frames()
            frames = {"attempts": attempts, "steps": steps, "incidents": incidents}
            for name, frame in (frames | {"spans": outcome.recording.spans()}).items():
                frame.write_parquet(place / f"{name}.parquet")
                written.append(place / f"{name}.parquet")
    except OSError as error:
        raise InputError(
            f"cannot write to {folder}", found=str(error), expected="a folder that can be written"
        ) from error
    return written


COLUMNS = ("productive", "slow", "recompute", "restart", "detection", "decision", "queue", IDLE)
"""Shares that the table shows, in this order."""
