"""Goodput and what Advice would have been worth: as one document, and as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from relume.errors import counted
from relume.features.goodput.cluster import IDLE
from relume.models.scoring.intervals import Proportion
from relume.models.worth.counterfactual import Hand
from relume.models.worth.mttf import FailureRate
from relume.models.worth.outcomes import Label
from relume.serve.backtest.hindsight import Hindsight
from relume.serve.backtest.runs import HOUR
from relume.serve.backtest.worth import Worth
from relume.serve.reports.presets import presets_table
from relume.serve.reports.titled import NOTHING, TitledTable, number

if TYPE_CHECKING:
    from rich.console import Group

Document = Mapping[str, Any]
MAX_SHOWN_RUNS = 10
NO_RULE = "(no Advice)"


def to_document(worth: Worth) -> dict[str, Any]:
    """Return the JSON form, described in `docs/goodput.md`; null where not known."""
    goodput, lives = worth.goodput, worth.lives
    return {
        "attempts": goodput.attempts,
        "runs": goodput.runs,
        "failures": goodput.failures,
        "shares": goodput.shares,
        "cluster_shares": None if worth.cluster is None else dict(worth.cluster),
        "gpu_hours": goodput.gpu_hours,
        "held_gpu_hours": goodput.held,
        "estimated_gpu_hours": goodput.estimated,
        "lost_work_gpu_hours": goodput.lost,
        "measured": {
            "restart_seconds": goodput.measured.restart,
            "queue_seconds": goodput.measured.queue,
            "detection_seconds": goodput.measured.detection,
        },
        "assumed": {
            "checkpoint_seconds": goodput.checkpoint_seconds,
            "stall_seconds": goodput.stall_seconds,
        },
        "failure_rate": _rate(goodput.rate, goodput.unknown_failures),
        "futile_restarts": {
            "count": goodput.futile.count,
            "restarts": goodput.futile.restarts,
            "held_gpu_hours": goodput.futile.held,
            "queued_gpu_hours": goodput.futile.queued,
        },
        "largest_runs": [asdict(one) for one in goodput.largest],
        "notes": dict(lives.notes),
        "left_out": dict(lives.left_out),
        **_hindsight(worth.hindsight),
    }


def _rate(rate: FailureRate, unknown: int) -> dict[str, Any]:
    interval = rate.rate.interval or (None, None)
    per = 1000
    return {
        "failures": rate.rate.count,
        "unknown_failures": unknown,
        "node_days": rate.rate.exposure,
        "days": rate.days,
        "per_1000_node_days": None if rate.rate.value is None else per * rate.rate.value,
        "low": None if interval[0] is None else per * interval[0],
        "high": None if interval[1] is None else per * interval[1],
        "bootstrap": None if rate.bootstrap is None else [per * end for end in rate.bootstrap],
        "dispersion": rate.dispersion,
        "negative_binomial_size": rate.size,
    }


def _hindsight(hindsight: Hindsight) -> dict[str, Any]:
    worth, agreement = hindsight.counterfactual, hindsight.agreement
    rules = sorted(worth.by_rule.items(), key=lambda rule: -rule[1].net)
    return {
        "counterfactual": {
            "failures": worth.failures,
            "without_onset": worth.without_onset,
            "untried": worth.untried,
            "lost_gpu_hours": {hand.value: worth.lost[hand] / HOUR for hand in Hand},
            "goodput": {hand.value: worth.goodput[hand] for hand in Hand},
            "oracle_fraction": worth.oracle_fraction,
            "rules": [
                {
                    "rule": rule,
                    "failures": one.failures,
                    "false_alarms": one.false_alarms,
                    "saved_gpu_hours": one.saved / HOUR,
                    "wasted_gpu_hours": one.wasted / HOUR,
                    "net_gpu_hours": one.net / HOUR,
                }
                for rule, one in rules
            ],
        },
        "hang_alarms": [
            {"rule": one.rule, **{label.value: one.labels.get(label, 0) for label in Label}}
            for one in hindsight.outcomes
        ],
        "agreement": {
            "as_advised": _proportion(agreement.agreed),
            "without_the_nodes": _proportion(agreement.avoided),
            "pairs": [
                {"advised": None if op is None else op.value, "done": act.value, "attempts": count}
                for (op, act), count in sorted(agreement.pairs.items(), key=str)
            ],
        },
    }


def _proportion(share: Proportion) -> dict[str, Any]:
    low, high = share.interval
    return {
        "count": share.right,
        "total": share.total,
        "value": share.value,
        "low": low,
        "high": high,
    }


def render(document: Document) -> Iterator[Group]:
    """Yield the tables of a document, each with its title; those that have something in them."""
    if not document["attempts"]:
        return
    yield _buckets(document)
    yield _runs(document["largest_runs"])
    if document["counterfactual"]["failures"]:
        yield _hands(document["counterfactual"])
    if document["counterfactual"]["rules"]:
        yield _rules(document["counterfactual"]["rules"])
    if document.get("presets"):
        yield presets_table(document["presets"])
    if document["hang_alarms"]:
        yield _alarms(document["hang_alarms"])
    if document["agreement"]["pairs"]:
        yield _agreement(document["agreement"])


def sentences(document: Document) -> Iterator[str]:
    """Yield what a reader has to know beside the tables: rates, and what is not known."""
    if not document["attempts"]:
        yield "no attempt of which the time is known: nothing can be said of goodput"
    else:
        yield from _rate_words(document["failure_rate"])
        futile = document["futile_restarts"]
        yield (
            f"{futile['count']} of {counted(futile['restarts'], 'restart')} failed as before and "
            f"got no further: {futile['held_gpu_hours']:,.1f} GPU-hours held, "
            f"{futile['queued_gpu_hours']:,.1f} waited for"
        )
    for words, count in document["notes"].items():
        yield f"{counted(count, 'attempt')}: {words}"
    for words, count in document["left_out"].items():
        yield f"{counted(count, 'attempt')} left out: {words}"


def _rate_words(rate: Document) -> Iterator[str]:
    if rate["per_1000_node_days"] is None:
        return
    unknown = rate["unknown_failures"]
    yield (
        f"{counted(rate['failures'], 'failure')} of what jobs run on in {rate['node_days']:,.2f} "
        f"node-days: {rate['per_1000_node_days']:.2f} per 1000 "
        f"[{rate['low']:.2f}, {rate['high']:.2f}]"
        + (f"; {unknown} more of unknown cause are not counted" if unknown else "")
    )


def _buckets(document: Document) -> Group:
    cluster = document["cluster_shares"]
    table = TitledTable(
        "Where the time of GPUs went",
        ("bucket", "GPU-hours", "share", *(["of the cluster"] if cluster else [])),
    )
    for bucket, share in document["shares"].items():
        of_all = [f"{cluster[bucket]:.4f}"] if cluster else []
        table.add(bucket, f"{document['gpu_hours'][bucket]:,.2f}", f"{share:.4f}", *of_all)
    if cluster:
        table.add(IDLE, "", "", f"{cluster[IDLE]:.4f}")
    split = document["estimated_gpu_hours"]
    below = f"{document['held_gpu_hours']:,.2f} GPU-hours were held, the rest waited for"
    if split:
        below += f"; {split:,.2f} of them show no steps and are split by the published rule"
    return table.under(below)


def _runs(runs: Iterable[Document]) -> Group:
    shown = list(runs)
    table = TitledTable(
        "The largest runs",
        ("run", "nodes", "attempts", "GPU-hours", "ETTR", "speed", "expected", "save every"),
    )
    for run in shown[:MAX_SHOWN_RUNS]:
        table.add(
            str(run["run"])[:60],
            str(run["nodes"]),
            str(run["attempts"]),
            f"{run['gpu_hours']:,.2f}",
            *(number(run[name]) for name in ("ettr", "ettr_speed", "expected")),
            _time(run["young_seconds"]),
        )
    return table.under("save every: Young's interval for the measured MTTF")


def _hands(worth: Document) -> Group:
    table = TitledTable("The same failures under other hands", ("", "lost GPU-hours", "goodput"))
    for hand, lost in worth["lost_gpu_hours"].items():
        table.add(hand, f"{lost:,.2f}", number(worth["goodput"][hand]))
    fraction = worth["oracle_fraction"]
    below = f"of {counted(worth['failures'], 'failure')}; oracle fraction {number(fraction)}"
    if worth["without_onset"]:
        below += f"; of {worth['without_onset']} more nobody knows when they began"
    if worth["untried"]:
        below += (
            f"; {worth['untried']} more were to be held back or left alone, and nobody tried them"
        )
    return table.under(below)


def _rules(rules: Iterable[Document]) -> Group:
    table = TitledTable(
        "What each rule would have saved and wasted",
        ("rule", "failures", "false alarms", "saved", "wasted", "net GPU-hours"),
    )
    for rule in rules:
        table.add(
            rule["rule"] or NO_RULE,
            str(rule["failures"]),
            str(rule["false_alarms"]),
            *(f"{rule[name]:,.2f}" for name in _OF_RULES),
        )
    return table.under("against the baseline")


_OF_RULES = ("saved_gpu_hours", "wasted_gpu_hours", "net_gpu_hours")


def _alarms(alarms: Iterable[Document]) -> Group:
    table = TitledTable(
        "What became of alarms about hangs", ("rule", *(label.value for label in Label))
    )
    for one in alarms:
        table.add(one["rule"] or NO_RULE, *(str(one[label.value]) for label in Label))
    return table.under("by what the attempt did next")


def _agreement(agreement: Document) -> Group:
    table = TitledTable("What people did by hand", ("advised", "done", "attempts"))
    for pair in agreement["pairs"]:
        table.add(pair["advised"] or "nothing", pair["done"], str(pair["attempts"]))
    share = agreement["as_advised"]
    return table.under(f"as advised: {share['count']} of {share['total']} that can be compared")


def _time(seconds: float | None) -> str:
    return NOTHING if seconds is None else f"{seconds / 60:,.0f} min"
