"""Counts over the frame of `relume.analysis.attempts.attempts`: each returns a frame."""

from __future__ import annotations

import polars as pl


def failures(attempts: pl.DataFrame) -> pl.DataFrame:
    """Return the attempts that failed, the newest first."""
    return attempts.filter("failed").sort("end", "attempt", descending=True, nulls_last=True)


def per_day(attempts: pl.DataFrame) -> pl.DataFrame:
    """Count failures by the UTC day on which they ended, and by domain.

    Returns
    -------
    pl.DataFrame
        ``day``, ``domain``, ``failures``, by day; days without a failure have no row, failures
        without a time a null day.
    """
    return (
        attempts.filter("failed")
        .group_by(pl.col("end").dt.date().alias("day"), pl.col("domain").fill_null("unknown"))
        .agg(failures=pl.len())
        .sort("day", "domain")
    )


def per_cause(attempts: pl.DataFrame) -> pl.DataFrame:
    """Count failures by what happened, the most frequent first.

    Returns
    -------
    pl.DataFrame
        ``kind``, ``cause`` (null where nobody knows), ``domain``, ``failures``, ``runs``, and
        ``advised``, the operation that would have been advised most often.
    """
    return (
        attempts.filter("failed")
        .group_by("kind", "cause", "domain")
        .agg(
            failures=pl.len(),
            runs=pl.col("run").n_unique(),
            advised=pl.col("operation").drop_nulls().mode().sort().first(),
        )
        .sort("failures", "cause", descending=[True, False], nulls_last=True)
    )


def per_rule(attempts: pl.DataFrame) -> pl.DataFrame:
    """Count failures by the rule that decided, the most frequent first.

    Returns
    -------
    pl.DataFrame
        ``rule`` (null where only the scheduler says that it failed), ``failures`` and
        ``confidence``, the mean.
    """
    return (
        attempts.filter("failed")
        .group_by("rule")
        .agg(failures=pl.len(), confidence=pl.col("confidence").mean())
        .sort("failures", "rule", descending=[True, False], nulls_last=True)
    )


def per_node(attempts: pl.DataFrame) -> pl.DataFrame:
    """Count attempts by node, the most blamed first.

    A failure is blamed on the node that its verdict names; to have run there is no blame: most
    nodes of a failed job are victims.

    Returns
    -------
    pl.DataFrame
        ``node``, ``attempts``, ``failed``, ``blamed``, and ``share``: failed of all, 0 to 1.
    """
    ran = (
        attempts.explode("nodes", empty_as_null=True)
        .drop_nulls("nodes")
        .group_by(node="nodes")
        .agg(attempts=pl.len(), failed=pl.col("failed").sum())
    )
    blamed = attempts.filter("failed").drop_nulls("node").group_by("node").agg(blamed=pl.len())
    return (
        ran.join(blamed, on="node", how="full", coalesce=True)
        .with_columns(pl.col("attempts", "failed", "blamed").fill_null(0).cast(pl.Int64))
        .with_columns(share=pl.col("failed") / pl.max_horizontal("attempts", 1))
        .sort("blamed", "failed", "node", descending=[True, True, False])
    )


def repeats(attempts: pl.DataFrame) -> pl.DataFrame:
    """Return the failures that came more than once, the most frequent first.

    Returns
    -------
    pl.DataFrame
        ``fingerprint``, ``cause``, ``domain``, ``failures``, ``runs``, ``in_a_row``: the longest
        series in one run without progress, and ``last``: when it came last.
    """
    return (
        attempts.filter("failed")
        .drop_nulls("fingerprint")
        .group_by("fingerprint")
        .agg(
            pl.col("cause", "domain").first(),
            failures=pl.len(),
            runs=pl.col("run").n_unique(),
            in_a_row=pl.col("in_a_row").max(),
            last=pl.col("end").max(),
        )
        .filter(pl.col("failures") > 1)
        .sort("failures", "fingerprint", descending=[True, False])
    )
