"""Pictures of the frames, in Altair: each function takes a frame and returns one chart."""

from __future__ import annotations

import altair as alt
import polars as pl

from relume.analysis.counts import per_cause, per_day, per_node

MAX_BARS = 20
"""Causes and nodes in one picture; the frames have all of them."""
_DOMAINS = {
    "workload": "#4c78a8",
    "platform": "#f58518",
    "hardware": "#e45756",
    "network": "#72b7b2",
    "facility": "#b279a2",
    "scheduler": "#9d9d9d",
    "unknown": "#d8d8d8",
}
_COLOUR = alt.Color(
    "domain:N", scale=alt.Scale(domain=list(_DOMAINS), range=list(_DOMAINS.values()))
)
"""The same colour for a domain in every picture."""


def failures_per_day(attempts: pl.DataFrame) -> alt.Chart:
    """Draw failures by the day on which they ended, coloured by domain."""
    days = per_day(attempts).drop_nulls("day")
    chart: alt.Chart = (
        alt.Chart(days, title="Failures by day")
        .mark_bar()
        .encode(
            x=alt.X("yearmonthdate(day):O", title="day (UTC)"),
            y=alt.Y("sum(failures):Q", title="failures"),
            color=_COLOUR,
            tooltip=["day:T", "domain:N", "failures:Q"],
        )
    )
    return chart


def top_causes(attempts: pl.DataFrame) -> alt.Chart:
    """Draw the most frequent causes."""
    causes = per_cause(attempts).head(MAX_BARS)
    named = causes.with_columns(
        what=pl.col("cause").fill_null(pl.format("{}, cause unknown", "kind")),
    )
    chart: alt.Chart = (
        alt.Chart(named, title="What failed most")
        .mark_bar()
        .encode(
            x=alt.X("failures:Q", title="failures"),
            y=alt.Y("what:N", sort="-x", title=None),
            color=_COLOUR,
            tooltip=["kind:N", "what:N", "domain:N", "failures:Q", "runs:Q", "advised:N"],
        )
    )
    return chart


def blamed_nodes(attempts: pl.DataFrame) -> alt.Chart:
    """Draw the nodes that failures are blamed on; most jobs that failed there had other reasons."""
    nodes = per_node(attempts).filter(pl.col("blamed") > 0).head(MAX_BARS)
    chart: alt.Chart = (
        alt.Chart(nodes, title="Nodes that failures are blamed on")
        .mark_bar(color=_DOMAINS["hardware"])
        .encode(
            x=alt.X("blamed:Q", title="failures blamed on it", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("node:N", sort="-x", title=None),
            tooltip=["node:N", "blamed:Q", "failed:Q", "attempts:Q"],
        )
    )
    return chart


def restart_chains(attempts: pl.DataFrame) -> alt.Chart:
    """Draw the attempts of the runs that failed more than once, one run a row, by time."""
    chains = attempts.filter(pl.col("failed").sum().over("run") > 1).drop_nulls("start")
    drawn = chains.with_columns(
        pl.col("domain").fill_null("unknown"),
        number=pl.col("attempt").cum_count().over("run"),
        outcome=pl.when("failed")
        .then(pl.col("cause").fill_null("cause unknown"))
        .otherwise("kind"),
    ).select("run", "attempt", "number", "start", "last_step", "outcome", "domain", "operation")
    chart: alt.Chart = (
        alt.Chart(drawn, title="Runs that failed more than once")
        .mark_point(filled=True, size=80)
        .encode(
            x=alt.X("start:T", title="start (UTC)"),
            y=alt.Y("run:N", title=None),
            color=_COLOUR,
            shape=alt.Shape("operation:N", title="advised"),
            tooltip=["attempt:N", "number:Q", "outcome:N", "last_step:Q", "operation:N"],
        )
    )
    return chart


def silence(progress: pl.DataFrame) -> alt.Chart:
    """Draw the time from one progress line to the next: a hang is what towers above the others."""
    return _over_time(progress, "gap_seconds", "Silence between progress lines", "seconds")


def step_time(progress: pl.DataFrame) -> alt.Chart:
    """Draw the printed time of each step, or the silence where no time is printed."""
    if progress["step_seconds"].null_count() == progress.height:
        return silence(progress)
    return _over_time(progress, "step_seconds", "Step time", "seconds a step")


def _over_time(progress: pl.DataFrame, column: str, title: str, unit: str) -> alt.Chart:
    dated = progress["event_time"].null_count() < progress.height
    axis = alt.X("event_time:T", title="time (UTC)") if dated else alt.X("line:Q", title="line")
    chart: alt.Chart = (
        alt.Chart(progress.drop_nulls(column), title=title)
        .mark_line(point=True)
        .encode(
            x=axis,
            y=alt.Y(f"{column}:Q", title=unit),
            tooltip=["step:Q", "event_time:T", f"{column}:Q", "line:Q"],
        )
    )
    return chart
