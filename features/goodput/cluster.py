"""Goodput of a cluster and ETTR of a run, from the spans of runs (metrics sections 7 and 8)."""

from __future__ import annotations

import math

import polars as pl

from relume.errors import InputError
from relume.features.goodput.buckets import SECOND, Bucket, gpu_micros

IDLE = "idle"
"""GPUs in service that nobody asked for."""
_WAITING = (Bucket.QUEUE.value, Bucket.DECISION.value)
"""Buckets in which a run may wait without its GPUs."""


def ettr(spans: pl.DataFrame, run: str) -> float | None:
    """Return the measured ETTR of a run: first-time steps over its wall clock; null without time.

    Slow steps count in full, as in the published measure: `ettr_speed` tells what they cost.
    Pauses count as well, since a run that saves brings itself forward.
    """
    return _share_of(spans, run, {Bucket.PRODUCTIVE, Bucket.SLOW, Bucket.PAUSE})


def ettr_speed(spans: pl.DataFrame, run: str) -> float | None:
    """Return the share that slowness leaves of the time of first-time steps; null without any."""
    whole = _share_of(spans, run, {Bucket.PRODUCTIVE, Bucket.SLOW})
    at_speed = _share_of(spans, run, {Bucket.PRODUCTIVE})
    return at_speed / whole if whole and at_speed is not None else None


def by_run(spans: pl.DataFrame) -> pl.DataFrame:
    """Return `ettr`, `ettr_speed`, `gpu_seconds` and `seconds` of wall clock of every run at once.

    Null where there is nothing to be a share of. The run with the most GPU time comes first.
    """
    long = pl.col("end") - pl.col("begin")
    ahead = pl.col("bucket").is_in([Bucket.PRODUCTIVE, Bucket.SLOW, Bucket.PAUSE])
    steps = pl.col("bucket").is_in([Bucket.PRODUCTIVE, Bucket.SLOW])
    at_speed = pl.col("bucket") == Bucket.PRODUCTIVE
    return (
        spans.group_by("run")
        .agg(
            ahead=long.filter(ahead).sum(),
            stepped=long.filter(steps).sum(),
            at_speed=long.filter(at_speed).sum(),
            whole=long.sum(),
            gpu_seconds=gpu_micros().sum() / SECOND,
        )
        .select(
            "run",
            "gpu_seconds",
            ettr=_ratio("ahead", "whole"),
            ettr_speed=_ratio("at_speed", "stepped"),
            seconds=pl.col("whole") / SECOND,
        )
        .sort("gpu_seconds", "run", descending=[True, False])
    )


def _ratio(part: str, whole: str) -> pl.Expr:
    return pl.when(pl.col(whole) > 0).then(pl.col(part) / pl.col(whole))


def shares(spans: pl.DataFrame) -> dict[str, float]:
    """Return the share of each bucket in the GPU time of runs; they add up to 1.

    Without any time all are zero.
    """
    spent = _micros(spans)
    total = sum(spent.values())
    return {bucket.value: spent.get(bucket.value, 0) / total if total else 0.0 for bucket in Bucket}


def cluster_shares(spans: pl.DataFrame, gpus: int, begin: int, end: int) -> dict[str, float]:
    """Return the share of each bucket, and of `idle`, in a cluster's GPU time of `begin` to `end`.

    A run that waits holds no GPU. Of those that are free meanwhile, as many count as `queue` (or
    `decision`) as runs wait for; those beyond are idle. So the shares add up to 1 here, too.

    Parameters
    ----------
    spans
        Of all runs; what lies out of `begin` to `end` (microseconds) is left out.
    gpus
        In service, all the time.

    Raises
    ------
    InputError
        When runs held more GPUs than there were, or no time passed.
    """
    if gpus < 1 or end <= begin:
        raise InputError(f"{gpus} GPUs from {begin} to {end}", expected="GPUs and time")
    within = spans.with_columns(
        begin=pl.col("begin").clip(begin, end), end=pl.col("end").clip(begin, end)
    ).filter(pl.col("end") > pl.col("begin"))
    held, waits = within.filter("held"), within.filter(~pl.col("held"))
    spent = _micros(held)
    free_time = gpus * (end - begin) - sum(spent.values())
    if free_time < 0 or _most_held(held) > gpus:
        raise InputError(
            f"a cluster of {gpus} GPUs",
            found=f"{_most_held(held)} in use at once",
            expected="as many at most",
            hint="give the GPUs in service of that time",
        )
    for bucket, micros in _waited(held, waits, gpus, begin, end).items():
        spent[bucket] = spent.get(bucket, 0) + micros
        free_time -= micros
    total = gpus * (end - begin)
    return {bucket.value: spent.get(bucket.value, 0) / total for bucket in Bucket} | {
        IDLE: free_time / total
    }


def _waited(
    held: pl.DataFrame, waits: pl.DataFrame, gpus: int, begin: int, end: int
) -> dict[str, int]:
    """GPU time that was free while runs waited for it, by bucket; the queue comes first."""
    edges = _edges(held, "held")
    for bucket in _WAITING:
        edges = pl.concat([edges, _edges(waits.filter(bucket=bucket), bucket)], how="diagonal")
    levels = (
        edges.group_by("at")
        .agg(pl.col("held", *_WAITING).fill_null(0).sum())
        .sort("at")
        .with_columns(pl.col("held", *_WAITING).cum_sum())
        .with_columns(long=pl.col("at").shift(-1, fill_value=end) - pl.col("at"))
        .filter(pl.col("at").is_between(begin, end, closed="left"))
    )
    left, spent = pl.lit(gpus) - pl.col("held"), {}
    for bucket in _WAITING:
        taken = pl.min_horizontal(left, bucket)
        spent[bucket] = int(
            levels.select((taken.cast(pl.Int128) * pl.col("long")).sum()).item() or 0
        )
        left = left - taken
    return spent


def _edges(spans: pl.DataFrame, name: str) -> pl.DataFrame:
    """Where levels of `name` rise and fall."""
    up = spans.select(pl.col("begin").alias("at"), pl.col("gpus").alias(name))
    down = spans.select(pl.col("end").alias("at"), (-pl.col("gpus")).alias(name))
    return pl.concat([up, down])


def _most_held(held: pl.DataFrame) -> int:
    levels = _edges(held, "held").group_by("at").agg(pl.col("held").sum()).sort("at")
    return int(levels.select(pl.col("held").cum_sum().max()).item() or 0)


def _micros(spans: pl.DataFrame) -> dict[str, int]:
    return dict(spans.group_by("bucket").agg(gpu_micros().sum()).rows())


def _share_of(spans: pl.DataFrame, run: str, buckets: set[Bucket]) -> float | None:
    lengths = {
        bucket: micros / SECOND
        for bucket, micros in _micros(spans.filter(run=run).with_columns(gpus=1)).items()
    }
    total = math.fsum(lengths.values())
    if not total:
        return None
    return math.fsum(lengths.get(bucket.value, 0.0) for bucket in buckets) / total
