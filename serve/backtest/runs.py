"""One run of a backtest: what it got done of its time, and how often it should save its work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relume.errors import InputError
from relume.features.goodput.formulas import (
    RunModel,
    checkpoint_waste,
    daly_interval,
    young_interval,
)
from relume.models.worth.mttf import FailureRate
from relume.serve.backtest.lived import Lived

HOUR = 3_600.0
STALL_SECONDS = 60.0
"""How long a checkpoint stops the training where nobody says: metrics section 10 calculates so."""
RESTART_SECONDS = 300.0
"""From an attempt's start to its first step where none shows it: the lower end of what is
published (metrics section 13.6)."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What the record says of the terms of the expected ETTR, in seconds; null: not known.

    `restart` is from the start of an attempt to its first step (median), `queue` the mean wait,
    `detection` the mean time from the onset of a failure to the end of its attempt.
    """

    restart: float | None
    queue: float | None
    detection: float | None

    @property
    def restart_seconds(self) -> float:
        """From the start of an attempt to its first step, as measured or assumed."""
        return RESTART_SECONDS if self.restart is None else self.restart


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWorth:
    """One run: its measured and its expected ETTR, and how often it should save.

    Attributes
    ----------
    run
        Its name.
    attempts, nodes
        How many attempts it had, and its most nodes.
    gpu_hours
        From when it was first eligible to its end, waiting included.
    ettr, ettr_speed
        As measured; null without any time.
    expected, unexpected
        The closed form with the measured terms, or why there is none.
    mttf_seconds
        Of a job of its size; null where no failure was seen.
    young_seconds, daly_seconds, waste
        The time between checkpoints that loses least, and what is lost then (a share of the time,
        restart and detection included). Null without an MTTF.
    """

    run: str
    attempts: int
    nodes: int
    gpu_hours: float
    ettr: float | None
    ettr_speed: float | None
    expected: float | None = None
    unexpected: str | None = None
    mttf_seconds: float | None = None
    young_seconds: float | None = None
    daly_seconds: float | None = None
    waste: float | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """What the expected ETTR and the advice about checkpoints are made of."""

    rate: FailureRate
    measured: Measured
    checkpoint_seconds: float
    stall_seconds: float


def run_worth(run: Sequence[Lived], row: Mapping[str, float | None], terms: Terms) -> RunWorth:
    """Return what a run got done, of its attempts and its row in `goodput.cluster.by_run`."""
    nodes = max(one.nodes for one in run)
    expected, unexpected = _expected(nodes, (row["ettr"] or 0.0) * (row["seconds"] or 0.0), terms)
    mttf, *_ = terms.rate.mttf_seconds(nodes)
    young, daly, waste = _checkpoints(mttf, terms) if mttf else (None, None, None)
    return RunWorth(
        run=run[0].result.run,
        attempts=len(run),
        nodes=nodes,
        gpu_hours=(row["gpu_seconds"] or 0.0) / HOUR,
        ettr=row["ettr"],
        ettr_speed=row["ettr_speed"],
        expected=expected,
        unexpected=unexpected,
        mttf_seconds=mttf,
        young_seconds=young,
        daly_seconds=daly,
        waste=waste,
    )


def _checkpoints(mttf: float, terms: Terms) -> tuple[float, float, float]:
    """Young's and Daly's intervals, and what is lost at Young's."""
    young = young_interval(terms.stall_seconds, mttf)
    waste = checkpoint_waste(
        young,
        terms.stall_seconds,
        mttf,
        restart_seconds=terms.measured.restart_seconds,
        detection_seconds=terms.measured.detection or 0.0,
    )
    return young, daly_interval(terms.stall_seconds, mttf), waste


def _expected(nodes: int, productive: float, terms: Terms) -> tuple[float | None, str | None]:
    """The closed form of the ETTR for so many productive seconds, or why there is none."""
    if terms.rate.rate.value is None or productive <= 0:
        return None, "nothing brought it forward"
    model = RunModel(
        nodes,
        terms.rate.rate.value,
        restart_seconds=terms.measured.restart_seconds,
        checkpoint_interval_seconds=terms.checkpoint_seconds,
        detection_seconds=terms.measured.detection or 0.0,
        queue_seconds=terms.measured.queue or 0.0,
        productive_seconds=productive,
    )
    try:
        return model.expected_ettr(), None
    except InputError as error:
        return None, str(error)
