"""Where the time of runs went: each GPU-microsecond of a run in exactly one bucket.

A run is all attempts of one logical job. Its wall clock, from when it was first eligible to its
last end, is cut into spans that neither overlap nor leave a gap (metrics section 8). What can't be
told from what was recorded is estimated by the published rule, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import polars as pl

from relume.errors import InputError

SECOND = 1_000_000
"""In microseconds."""


class Bucket(StrEnum):
    """What a GPU did for its run."""

    PRODUCTIVE = "productive"
    """Steps that were done for the first time, as long as they take when nothing is slow."""
    SLOW = "slow"
    """What such steps took longer than that."""
    PAUSE = "pause"
    """Checkpoints, evaluations and other legal silences between steps."""
    RECOMPUTE = "recompute"
    """Steps that were done before, or that were lost before they were saved."""
    RESTART = "restart"
    """From the start of an attempt to its first step, and from the last step of one that ended
    well to its end."""
    DETECTION = "detection"
    """From the onset of a failure to the alarm about it."""
    DECISION = "decision"
    """From the alarm to the end of the attempt, and until the next one is in the queue."""
    QUEUE = "queue"
    """In the queue."""


ATTEMPTS = pl.Schema(
    {
        "run": pl.String(),
        "attempt": pl.String(),
        "gpus": pl.Int64(),
        "eligible": pl.Int64(),
        "start": pl.Int64(),
        "end": pl.Int64(),
        "failed": pl.Boolean(),
    }
)
"""One row an attempt; `eligible` null where nobody knows: then it is the end of the one before."""
STEPS = pl.Schema(
    {"attempt": pl.String(), "at": pl.Int64(), "step": pl.Int64(), "pause": pl.Int64()}
)
"""The steps done by `at`; `pause`: microseconds since the row before that were no work."""
INCIDENTS = pl.Schema({"attempt": pl.String(), "onset": pl.Int64(), "alarm": pl.Int64()})
"""What ended attempts: when it began, and when somebody noticed (null: not before the end)."""
SPANS = pl.Schema(
    {
        "run": pl.String(),
        "attempt": pl.String(),
        "gpus": pl.Int64(),
        "begin": pl.Int64(),
        "end": pl.Int64(),
        "bucket": pl.Enum([bucket.value for bucket in Bucket]),
        "held": pl.Boolean(),
        "estimated": pl.Boolean(),
    }
)
"""`held`: whether the run had its GPUs, or waited for them."""


@dataclass(frozen=True, slots=True)
class GoodputSettings:
    """What is assumed where records don't say.

    Attributes
    ----------
    checkpoint_seconds
        Between two checkpoints, where no step was recorded: half of it is lost by a failure.
    effect
        A step that takes longer than usual by less than this share isn't slow.
    """

    checkpoint_seconds: float = 3_600.0
    effect: float = 0.05


def spans_of(
    attempts: pl.DataFrame,
    steps: pl.DataFrame,
    incidents: pl.DataFrame | None = None,
    settings: GoodputSettings | None = None,
) -> pl.DataFrame:
    """Cut the wall clock of every run into spans of one bucket each.

    Parameters
    ----------
    attempts, steps, incidents
        As `ATTEMPTS`, `STEPS` and `INCIDENTS`, in any order. Times are microseconds. Steps of no
        attempt, or out of its time, are left out.

    Returns
    -------
    As `SPANS`, by run and begin. The spans of a run cover its wall clock once. `estimated` marks
    those of attempts that recorded no step.

    Raises
    ------
    InputError
        For attempts of one run that overlap or end before they start, or GPUs below one.

    Examples
    --------
    >>> attempts = pl.DataFrame(
    ...     [("job", "job.0", 8, 0, 10 * SECOND, 100 * SECOND, False)], ATTEMPTS, orient="row"
    ... )
    >>> steps = pl.DataFrame(
    ...     [("job.0", at * SECOND, at // 10, 0) for at in range(30, 91, 10)], STEPS, orient="row"
    ... )
    >>> spans = spans_of(attempts, steps)
    >>> gpu_seconds(spans).rows()
    [('productive', 480.0), ('restart', 240.0), ('queue', 80.0)]
    """
    settings = settings or GoodputSettings()
    ordered = _checked(attempts)
    if incidents is None:
        incidents = INCIDENTS.to_frame()
    moved = _steps_within(steps, ordered)
    told = ordered.join(
        moved.group_by("attempt").agg(first=pl.col("at").min(), last=pl.col("at").max()),
        on="attempt",
        how="left",
        maintain_order="left",
    )
    parts = [
        _waiting(ordered),
        _starting(told),
        _stepping(moved, settings),
        _ending(told, incidents),
        _unrecorded(told, settings),
    ]
    whole = [part if "held" in part.columns else part.with_columns(held=True) for part in parts]
    spans = pl.concat([part.select(SPANS.names()).cast(SPANS) for part in whole])
    return spans.filter(pl.col("end") > pl.col("begin")).sort("run", "begin")


def gpu_seconds(spans: pl.DataFrame) -> pl.DataFrame:
    """Add up spans: GPU-seconds of every bucket that is there, in the order of `Bucket`."""
    return spans.group_by("bucket").agg(gpu_seconds=gpu_micros().sum() / SECOND).sort("bucket")


def gpu_micros() -> pl.Expr:
    """Return the GPU-microseconds of a span.

    In 128 bits: 64 are full after three years of 100,000 GPUs.
    """
    return (pl.col("end") - pl.col("begin")).cast(pl.Int128) * pl.col("gpus")


def _checked(attempts: pl.DataFrame) -> pl.DataFrame:
    ordered = attempts.select(ATTEMPTS.names()).cast(ATTEMPTS).sort("run", "start", "end")
    before = pl.col("end").shift().over("run")
    ordered = ordered.with_columns(
        before=before,
        eligible=pl.min_horizontal(
            "start", pl.max_horizontal(pl.coalesce("eligible", before, "start"), before)
        ),
    )
    wrong = ordered.filter(
        (pl.col("end") < pl.col("start"))
        | (pl.col("before") > pl.col("start"))
        | (pl.col("gpus") < 1)
    )
    if len(wrong):
        row = wrong.row(0, named=True)
        raise InputError(
            f"attempt {row['attempt']} of run {row['run']}",
            found=f"{row['gpus']} GPUs, start {row['start']}, end {row['end']}, "
            f"end of the one before {row['before']}",
            expected="one GPU or more, and attempts one after the other",
        )
    return ordered


def _steps_within(steps: pl.DataFrame, attempts: pl.DataFrame) -> pl.DataFrame:
    """Steps in the order of their time, joined with their attempts."""
    rows = steps.select(STEPS.names()).cast(STEPS)
    joined = rows.join(attempts.drop("eligible", "before"), on="attempt", how="inner")
    return joined.filter(pl.col("at").is_between("start", "end")).sort("run", "at", "step")


def _waiting(attempts: pl.DataFrame) -> pl.DataFrame:
    """Until an attempt is in the queue again somebody has to decide; then it waits."""
    again = attempts.drop_nulls("before")
    deciding = _cut(again, pl.col("before"), pl.col("eligible"), Bucket.DECISION)
    queueing = _cut(attempts, pl.col("eligible"), pl.col("start"), Bucket.QUEUE)
    return pl.concat([deciding, queueing]).with_columns(held=False, estimated=False)


def _starting(told: pl.DataFrame) -> pl.DataFrame:
    rows = told.drop_nulls("first")
    return _cut(rows, pl.col("start"), pl.col("first"), Bucket.RESTART).with_columns(
        estimated=False
    )


def _stepping(steps: pl.DataFrame, settings: GoodputSettings) -> pl.DataFrame:
    """Cut what lies between two rows of steps: what was done before, new work, slowness, pauses."""
    known = pl.col("step").cum_max().shift().over("run").fill_null(-1)
    rows = (
        steps.with_columns(known=known)
        .with_columns(
            begin=pl.col("at").shift().over("attempt"),
            from_step=pl.col("step").shift().over("attempt"),
        )
        .drop_nulls("begin")
        .with_columns(
            done=(pl.col("step") - pl.col("from_step")).clip(0),
            new=(pl.col("step") - pl.max_horizontal("known", "from_step")).clip(0),
            took=pl.col("at") - pl.col("begin"),
        )
        .with_columns(pause=pl.col("pause").fill_null(0).clip(0, pl.col("took")))
        .with_columns(worked=pl.col("took") - pl.col("pause"))
        .with_columns(
            fresh=(pl.col("worked") * (pl.col("new") / pl.col("done").clip(1)))
            .round()
            .cast(pl.Int64)
        )
    )
    pace = pl.col("fresh") / pl.col("new")
    usual = pace.filter(pl.col("new") > 0).median().over("run")
    enough = (pl.col("new") * usual).round().cast(pl.Int64).fill_null(0)
    is_slow = pace > usual * (1 + settings.effect)
    rows = rows.with_columns(
        redone=pl.col("worked") - pl.col("fresh"),
        slow=pl.when((pl.col("new") > 0) & is_slow)
        .then(pl.col("fresh") - enough)
        .otherwise(0)
        .clip(0, pl.col("fresh")),
    )
    cuts = [
        (Bucket.RECOMPUTE, pl.col("redone")),
        (Bucket.PRODUCTIVE, pl.col("fresh") - pl.col("slow")),
        (Bucket.SLOW, pl.col("slow")),
        (Bucket.PAUSE, pl.col("pause")),
    ]
    spans, start = [], pl.col("begin")
    for bucket, length in cuts:
        spans.append(_cut(rows, start, start + length, bucket))
        start = start + length
    return pl.concat(spans).with_columns(estimated=False)


def _ending(told: pl.DataFrame, incidents: pl.DataFrame) -> pl.DataFrame:
    """Cut what comes after the last step: lost work, and how long it took to see and to act."""
    last, end = pl.col("last"), pl.col("end")
    found = incidents.select(INCIDENTS.names()).cast(INCIDENTS).unique("attempt", keep="any")
    rows = told.drop_nulls("last").join(found, on="attempt", how="left")
    rows = rows.with_columns(onset=pl.coalesce("onset", "last").clip(last, end)).with_columns(
        alarm=pl.coalesce("alarm", "end").clip(pl.col("onset"), end)
    )
    well = rows.filter(~pl.col("failed"))
    failed = rows.filter("failed")
    return pl.concat(
        [
            _cut(well, last, end, Bucket.RESTART),
            _cut(failed, last, pl.col("onset"), Bucket.RECOMPUTE),
            _cut(failed, pl.col("onset"), pl.col("alarm"), Bucket.DETECTION),
            _cut(failed, pl.col("alarm"), end, Bucket.DECISION),
        ]
    ).with_columns(estimated=False)


def _unrecorded(told: pl.DataFrame, settings: GoodputSettings) -> pl.DataFrame:
    """Attempts without a step: half a checkpoint interval is lost by a failure, as published."""
    rows = told.filter(pl.col("first").is_null())
    lost = round(settings.checkpoint_seconds / 2 * SECOND)
    kept = pl.max_horizontal("start", pl.col("end") - pl.when("failed").then(lost).otherwise(0))
    return pl.concat(
        [
            _cut(rows, pl.col("start"), kept, Bucket.PRODUCTIVE),
            _cut(rows, kept, pl.col("end"), Bucket.RECOMPUTE),
        ]
    ).with_columns(estimated=True)


def _cut(rows: pl.DataFrame, begin: pl.Expr, end: pl.Expr, bucket: Bucket) -> pl.DataFrame:
    name = pl.lit(bucket.value)
    return rows.select("run", "attempt", "gpus", begin=begin, end=end, bucket=name)
