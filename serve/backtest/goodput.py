"""Goodput of a backtest: where GPU time went, how often it fails, what that advises."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import polars as pl

from relume.features.goodput.buckets import (
    SECOND,
    Bucket,
    GoodputSettings,
    gpu_seconds,
    spans_of,
)
from relume.features.goodput.cluster import by_run, shares
from relume.models.worth.mttf import Exposure, FailureRate, failure_rate
from relume.serve.backtest.lived import Lived, Lives
from relume.serve.backtest.runs import HOUR, STALL_SECONDS, Measured, RunWorth, Terms, run_worth
from relume.verdict import Domain

MAX_RUNS = 20
"""Runs that are reported one by one: those with the most GPU time."""
INFRASTRUCTURE = frozenset({Domain.HARDWARE, Domain.NETWORK, Domain.PLATFORM, Domain.FACILITY})
"""Domains whose failures count for the MTTF: what a job meets whatever its code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Futile:
    """Restarts that failed as the attempt before them, and got no further; GPU-hours.

    A run that waits holds no GPU: `queued` is how long so many were waited for.
    """

    count: int
    restarts: int
    held: float
    queued: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Goodput:
    """Where the GPU time of the runs went.

    Attributes
    ----------
    shares
        Of every bucket; they add up to 1 where there is any time.
    gpu_hours
        The same in GPU-hours.
    held
        GPU-hours that were held; the rest of it was waited for.
    estimated
        GPU-hours of attempts without steps: split by the published rule, not by what was seen.
    lost
        GPU-hours of work that was lost or done again, by the domain of the failure.
    rate
        Failures of the infrastructure per node-day.
    unknown_failures
        Failures of unknown domain, which are not in it: they may be of the infrastructure, too.
    """

    attempts: int
    runs: int
    failures: int
    shares: dict[str, float]
    gpu_hours: dict[str, float]
    held: float
    estimated: float
    measured: Measured
    lost: dict[str, float]
    rate: FailureRate
    unknown_failures: int
    futile: Futile
    largest: Sequence[RunWorth]
    checkpoint_seconds: float
    stall_seconds: float


def goodput_of(
    lives: Lives,
    *,
    settings: GoodputSettings | None = None,
    stall_seconds: float = STALL_SECONDS,
    spans: pl.DataFrame | None = None,
) -> Goodput:
    """Return where the GPU time of attempts went.

    Parameters
    ----------
    lives
        The attempts.
    settings
        What is assumed where records don't say.
    stall_seconds
        How long a checkpoint stops the training.
    spans
        Those of `lives`, where they are known already.
    """
    settings = settings or GoodputSettings()
    spans = spans_of(*lives.frames(), settings) if spans is None else spans
    attempts = lives.attempts
    rate = failure_rate(map(_exposure, attempts))
    terms = Terms(rate, _measured(attempts), settings.checkpoint_seconds, stall_seconds)
    hours = _hours(spans)
    return Goodput(
        attempts=len(attempts),
        runs=len({one.run for one in attempts}),
        failures=sum(one.failed for one in attempts),
        shares=shares(spans),
        gpu_hours={bucket.value: hours.get(bucket.value, 0.0) for bucket in Bucket},
        held=math.fsum(_hours(spans.filter("held")).values()),
        estimated=math.fsum(_hours(spans.filter("estimated")).values()),
        measured=terms.measured,
        lost=_lost(spans, attempts),
        rate=rate,
        unknown_failures=sum(one.failed and one.domain is Domain.UNKNOWN for one in attempts),
        futile=_futile(attempts),
        largest=_largest(spans, attempts, terms),
        checkpoint_seconds=settings.checkpoint_seconds,
        stall_seconds=stall_seconds,
    )


def _hours(spans: pl.DataFrame) -> dict[str, float]:
    return {bucket: seconds / HOUR for bucket, seconds in gpu_seconds(spans).rows()}


def _exposure(one: Lived) -> Exposure:
    failed = one.failed and one.domain in INFRASTRUCTURE
    return Exposure(nodes=one.nodes, start=one.start, end=one.end, failed=failed)


def _measured(attempts: Iterable[Lived]) -> Measured:
    starts, waits, found = [], [], []
    for one in attempts:
        if one.has_steps:
            starts.append((one.first_step_at - one.start) / SECOND)
        if one.eligible is not None:
            waits.append(max(0.0, (one.start - one.eligible) / SECOND))
        if one.failed and one.has_steps:
            found.append((one.end - onset_of(one)) / SECOND)
    return Measured(
        restart=median(starts) if starts else None,
        queue=fmean(waits) if waits else None,
        detection=fmean(found) if found else None,
    )


def onset_of(one: Lived) -> int:
    """Return when a failure began to cost progress: by its label, else with its last step.

    Of an attempt that shows steps.
    """
    return min(max(one.last_step_at if one.onset is None else one.onset, one.start), one.end)


def _lost(spans: pl.DataFrame, attempts: Sequence[Lived]) -> dict[str, float]:
    """GPU-hours of lost work by domain: what is done again was lost by the attempt before."""
    before: dict[str, Domain] = {}
    previous: Lived | None = None
    own = {one.name: one for one in attempts}
    for one in attempts:
        is_next = previous is not None and previous.run == one.run
        before[one.name] = previous.domain if previous is not None and is_next else one.domain
        previous = one
    lost: defaultdict[str, float] = defaultdict(float)
    rows = spans.filter(pl.col("bucket") == Bucket.RECOMPUTE).select(
        "attempt", "gpus", "begin", "end", "estimated"
    )
    for name, gpus, begin, end, estimated in rows.iter_rows():
        one = own[name]
        is_tail = estimated or begin >= one.last_step_at
        domain = one.domain if is_tail else before[name]
        lost[domain.value] += gpus * (end - begin) / SECOND / HOUR
    return dict(sorted(lost.items()))


def _futile(attempts: Sequence[Lived]) -> Futile:
    vain = [one for one in attempts if one.repeats]
    waits = (
        one.gpus * max(0, one.start - one.eligible) for one in vain if one.eligible is not None
    )
    return Futile(
        count=len(vain),
        restarts=len(attempts) - len({one.run for one in attempts}),
        held=math.fsum(one.gpus * (one.end - one.start) for one in vain) / SECOND / HOUR,
        queued=math.fsum(waits) / SECOND / HOUR,
    )


def _largest(spans: pl.DataFrame, attempts: Sequence[Lived], terms: Terms) -> list[RunWorth]:
    runs: defaultdict[str, list[Lived]] = defaultdict(list)
    for one in attempts:
        runs[one.run].append(one)
    found = by_run(spans).head(MAX_RUNS)
    return [run_worth(runs[row["run"]], row, terms) for row in found.iter_rows(named=True)]
