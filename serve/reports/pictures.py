"""Pictures of a backtest's goodput as SVG: Altair draws, vl-convert renders, nothing is fetched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

if TYPE_CHECKING:
    import altair as alt

Document = Mapping[str, Any]
MAX_BARS = 20
"""Rules in one picture; the table beside it has all of them."""
WIDTH = 480


class Picture(NamedTuple):
    """A picture with its title."""

    title: str
    svg: str


def pictures(document: Document) -> Iterator[Picture]:
    """Yield the pictures of a goodput document (`relume.serve.reports.goodput.to_document`).

    Those that would be empty are left out.
    """
    charts = {
        "Where the time of GPUs went": _buckets(document["shares"]),
        "GPU-hours lost under each hand": _hands(document["counterfactual"]),
        "What each rule would have saved and wasted": _rules(document["counterfactual"]["rules"]),
    }
    for title, frame in charts.items():
        if frame is not None:
            yield Picture(title, _svg(frame))


def _buckets(shares: Mapping[str, float]) -> alt.Chart | None:
    frame = pl.DataFrame({"bucket": list(shares), "value": list(shares.values())})
    return _bars(frame.filter(pl.col("value") > 0), "bucket", "share of the GPU time")


def _hands(worth: Document) -> alt.Chart | None:
    lost = worth["lost_gpu_hours"]
    if not worth["failures"]:
        return None
    return _bars(pl.DataFrame({"hand": list(lost), "value": list(lost.values())}), "hand", "hours")


def _rules(rules: list[Document]) -> alt.Chart | None:
    rows = [
        (str(rule["rule"] or "no Advice"), sign * rule[name])
        for rule in sorted(rules, key=lambda one: -abs(one["net_gpu_hours"]))[:MAX_BARS]
        for sign, name in ((1, "saved_gpu_hours"), (-1, "wasted_gpu_hours"))
        if rule[name] > 0
    ]
    frame = pl.DataFrame(rows, {"rule": pl.String, "value": pl.Float64}, orient="row")
    return _bars(frame, "rule", "GPU-hours")


def _bars(frame: pl.DataFrame, name: str, unit: str) -> alt.Chart | None:
    import altair as alt  # noqa: PLC0415 - an extra, and a second to load

    if frame.is_empty():
        return None
    colour = alt.condition(alt.datum.value < 0, alt.value("#e45756"), alt.value("#4c78a8"))
    chart: alt.Chart = (
        alt.Chart(frame, width=WIDTH)
        .mark_bar()
        .encode(
            x=alt.X("value:Q", title=unit),
            y=alt.Y(f"{name}:N", sort=None, title=None),
            color=colour,
        )
    )
    return chart


def _svg(chart: alt.Chart) -> str:
    import vl_convert  # noqa: PLC0415 - an extra

    svg: str = vl_convert.vegalite_to_svg(chart.to_json(), allowed_base_urls=[])
    return svg
