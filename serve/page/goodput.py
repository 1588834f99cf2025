"""The page of goodput: where the time of GPUs went, by what the scheduler told of attempts.

Steps are not read here: that is `relume report goodput`'s work, which takes minutes. What needs
them is estimated by the published rule, and says so.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import polars as pl

from relume.advice import ENDING, Advice, Disposition, Operation
from relume.errors import InputError
from relume.features.goodput.buckets import ATTEMPTS, STEPS, Bucket, gpu_seconds, spans_of
from relume.identity import AttemptId
from relume.models.diagnosis.scheduler import FAILED_STATES
from relume.models.scoring.intervals import Proportion, Rate
from relume.serve.backtest.lived import GPUS_PER_NODE
from relume.serve.ledger import AttemptRecord, Ledger

DAY = 86_400_000_000
HOUR = 3_600
DAYS = (1, 7, 30, 90)
"""Times that can be asked for, in days up to now."""
MAX_ATTEMPTS = 20_000
MAX_ADVICE = 5_000
OVERLAP = "it ran beside another attempt of its job: left out"
NO_TIME = "nobody said when it ran"
_INFRASTRUCTURE = 1000


@dataclass(frozen=True, slots=True)
class BucketRow:
    """GPU-hours of one bucket and their share of all; `estimated` of them no step shows."""

    bucket: str
    gpu_hours: float
    share: float | None
    estimated: float


@dataclass(frozen=True, slots=True)
class Measured:
    """A share or a rate with its 95 % interval; nulls where there is nothing to measure."""

    count: int
    of: float
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class GoodputPage:
    """Where GPU time went in the last `days`.

    Attributes
    ----------
    attempts, failed
        Attempts that ran in that time; those of them that failed.
    gpus_per_node
        What is assumed of each node: Slurm's snapshot doesn't say.
    failures_per_1000_node_days
        Of whatever cause.
    restarts
        What became of Advice to start again, by disposition.
    converged
        The share of it that was carried out, of what came to an end.
    left_out
        Attempts that don't count, by reason.
    is_cut
        Whether there were more attempts than are looked at: then the oldest are missing.
    """

    days: int
    attempts: int
    failed: int
    running: int
    gpus_per_node: int
    gpu_hours: float
    buckets: list[BucketRow]
    failures_per_1000_node_days: Measured
    restarts: dict[str, int]
    converged: Measured
    left_out: dict[str, int]
    is_cut: bool


def goodput_page(ledger: Ledger, now: int, days: int = 7) -> GoodputPage:
    """Count the attempts that ran in the last days.

    Raises
    ------
    InputError
        For a number of days that isn't offered.
    """
    if days not in DAYS:
        raise InputError("days", found=str(days), expected=f"one of {', '.join(map(str, DAYS))}")
    since = now - days * DAY
    records = ledger.newest_attempts(limit=MAX_ATTEMPTS + 1)
    left_out: Counter[str] = Counter()
    rows = _rows(records[:MAX_ATTEMPTS], since, now, left_out)
    spans = _within(spans_of(_frame(rows), STEPS.to_frame()), since, now)
    failed = sum(row.failed for row in rows)
    node_days = sum((row.end - max(row.start, since)) * row.nodes for row in rows) / DAY
    restarts = _restarts(ledger, since)
    ended = restarts[Disposition.CONVERGED] + restarts[Disposition.ABANDONED]
    buckets = _buckets(spans)
    return GoodputPage(
        days=days,
        attempts=len(rows),
        failed=failed,
        running=sum(row.is_running for row in rows),
        gpus_per_node=GPUS_PER_NODE,
        gpu_hours=sum(one.gpu_hours for one in buckets),
        buckets=buckets,
        failures_per_1000_node_days=_rate(failed, node_days),
        restarts={name.value: count for name, count in restarts.items()},
        converged=_share(restarts[Disposition.CONVERGED], ended),
        left_out=dict(left_out),
        is_cut=len(records) > MAX_ATTEMPTS,
    )


@dataclass(frozen=True, slots=True)
class _Row:
    run: str
    attempt: str
    nodes: int
    eligible: int | None
    start: int
    end: int
    failed: bool
    is_running: bool


def _rows(records: list[AttemptRecord], since: int, now: int, left_out: Counter[str]) -> list[_Row]:
    """The attempts that ran in the time, without those of which nobody knows when they did."""
    rows, ends = [], dict[str, int]()
    for record in sorted(records, key=lambda one: one.start_time or 0):
        start = record.start_time
        end = record.end_time if record.ended else now
        if record.ended and (start is None or end is None or end < start):
            left_out[NO_TIME] += 1
        if start is None or end is None or end < start or end < since:
            continue
        run = str(AttemptId.parse(record.attempt).job_key)
        if ends.get(run, 0) > start:
            left_out[OVERLAP] += 1
            continue
        ends[run] = end
        failed = record.ended and record.state in FAILED_STATES
        nodes = max(1, len(record.nodes))
        waited = record.submit_time
        row = _Row(run, record.attempt, nodes, waited, start, end, failed, not record.ended)
        rows.append(row)
    return rows


def _frame(rows: list[_Row]) -> pl.DataFrame:
    columns = [
        (one.run, one.attempt, one.nodes * GPUS_PER_NODE, one.eligible, one.start, one.end)
        for one in rows
    ]
    told = [(*row, one.failed) for row, one in zip(columns, rows, strict=True)]
    return pl.DataFrame(told, ATTEMPTS, orient="row")


def _within(spans: pl.DataFrame, since: int, now: int) -> pl.DataFrame:
    """Cut spans to the time that is asked for."""
    cut = spans.with_columns(begin=pl.col("begin").clip(since), end=pl.col("end").clip(None, now))
    return cut.filter(pl.col("end") > pl.col("begin"))


def _buckets(spans: pl.DataFrame) -> list[BucketRow]:
    hours = {name: seconds / HOUR for name, seconds in gpu_seconds(spans).rows()}
    guessed = gpu_seconds(spans.filter("estimated")).rows()
    estimated = {name: seconds / HOUR for name, seconds in guessed}
    whole = sum(hours.values())
    return [
        BucketRow(
            bucket=bucket.value,
            gpu_hours=hours.get(bucket.value, 0.0),
            share=hours.get(bucket.value, 0.0) / whole if whole else None,
            estimated=estimated.get(bucket.value, 0.0),
        )
        for bucket in Bucket
    ]


def _restarts(ledger: Ledger, since: int) -> Counter[Disposition]:
    """What became of settled Advice to start again since a time."""
    found, before = Counter(dict.fromkeys(Disposition, 0)), ""
    for _ in range(MAX_ADVICE // 1000):
        page = ledger.listed(before=before)
        new = [one for one in page if one.created_at >= since]
        found.update(one.reconciliation.disposition for one in new if _is_restart(one))
        if len(new) < len(page) or not page:
            break
        before = page[-1].advice_id
    return found


def _is_restart(advice: Advice) -> bool:
    return advice.settled and advice.operation in ENDING - {Operation.STOP}


def _rate(count: int, node_days: float) -> Measured:
    rate = Rate(count, node_days / _INFRASTRUCTURE)
    low, high = rate.interval or (None, None)
    return Measured(count, node_days, rate.value, low, high)


def _share(count: int, total: int) -> Measured:
    share = Proportion(count, total)
    low, high = share.interval if total else (None, None)
    return Measured(count, total, share.value, low, high)
