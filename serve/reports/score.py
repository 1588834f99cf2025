"""Tables of a score report for a terminal, from its JSON form (`docs/formats/score.md`).

Every table prints what metrics section 14 asks for below itself: tables are cut out and sent around
one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from relume.errors import counted
from relume.serve.reports.titled import NOTHING, TitledTable

if TYPE_CHECKING:
    from rich.console import Group

Document = Mapping[str, Any]


_MEASURES = {
    "time_to_detect": "onset to alarm",
    "floor": "onset to first sign",
    "detector_latency": "first sign to alarm",
    "time_to_advice": "onset to Advice",
}
_MAX_SLOWDOWNS = 20


def render(document: Document) -> list[Group]:
    """Return the tables of a report, all that have something in them, each with its caption."""
    sheets = [_detection(document), _false_alarms(document), *_latency(document)]
    sheets += [*_attribution(document), *_exclusions(document)]
    sheets += [*_calibration(document), *_rules(document), *_across_jobs(document)]
    origin = caption(document)
    return [sheet.under(origin) for sheet in sheets]


def caption(document: Document) -> str:
    """Return what a table was counted from, in one sentence.

    A report without its provenance says so.
    """
    counts, false = document["counts"], document["false_alarms"]
    made = document["provenance"]
    kinds = ", ".join(f"{n} {kind}" for kind, n in counts["incidents_by_kind"].items())
    lacking = counts["nodes_unknown"]
    unknown = f" without {counted(lacking, 'attempt')} of unknown size" if lacking else ""
    parts = [
        f"{made['corpus']} ({made['corpus_hash']})" if made else "provenance not given",
        document["origin"] or "no attempts",
        f"{counts['labelled']} of {counts['attempts']} attempts labelled",
        f"incidents: {kinds or 'none'}",
        f"{_number(false['job_days'])} job-days",
        f"{_number(false['node_days'])} node-days{unknown}",
        f"intervals {document['intervals']}",
    ]
    if made:
        parts += [
            f"seeds: {', '.join(map(str, made['seeds'])) or 'none'}",
            f"inputs: {made['sampling']}",
            f"relume {made['version']}",
            f"{made['wall_seconds']:.1f} s on {made['cores']} core{'s' * (made['cores'] != 1)}",
        ]
    return "; ".join(parts)


def _detection(document: Document) -> TitledTable:
    detection = document["detection"]
    sheet = TitledTable(
        "Incidents found, and alarms that were true",
        ("", "incidents", "found", "missed", "false alarms", "precision", "recall", "F1"),
    )
    rows = [
        *(("kind", name, counts) for name, counts in detection["by_kind"].items()),
        *(("domain", name, counts) for name, counts in detection["by_domain"].items()),
        ("", "all (micro-average)", detection["micro"]),
    ]
    for group, name, counts in rows:
        found, missed = counts["true_positives"], counts["misses"]
        numbers = (found + missed, found, missed, counts["false_positives"])
        shares = (_share(counts["precision"]), _share(counts["recall"]), _number(counts["f1"]))
        sheet.add(f"{group} {name}".strip(), *map(str, numbers), *shares)
    macro = (_number(detection["macro"][name]) for name in ("precision", "recall", "f1"))
    sheet.add("mean of the kinds (macro-average)", "", "", "", "", *macro)
    counts = document["counts"]
    for words, count in (
        ("repeats, neither true nor false", counts["repeats"]),
        ("known from the scheduler's word alone", counts["told_by_scheduler"]),
        ("alarms in ignore intervals", counts["ignored"]),
        ("transient incidents, not counted", counts["transient"]),
        ("incidents without a clock", counts["without_clock"]),
        ("alarms on unlabelled attempts", counts["unscored_alarms"]),
    ):
        if count:
            sheet.add(words, str(count))
    return sheet


def _false_alarms(document: Document) -> TitledTable:
    false = document["false_alarms"]
    sheet = TitledTable(
        "False alarms", ("", "count", "exposure", "rate", "95 % interval", "surely below")
    )
    for words, key, unit in (
        ("per job-day", "per_job_day", "quiet job-days"),
        ("per 1000 node-days", "per_1000_node_days", "thousand quiet node-days"),
        ("incidents per job-day", "incidents_per_job_day", "job-days"),
    ):
        rate = false[key]
        sheet.add(
            words,
            str(rate["count"]),
            f"{_number(rate['exposure'])} {unit}",
            _number(rate["value"]),
            _interval(rate),
            _number(rate["upper"]),
        )
    sheet.add("in ignore intervals", "", f"{_number(false['ignored_job_days'])} job-days")
    if false["without_exposure"]:
        sheet.add("where the exposure isn't known", str(false["without_exposure"]))
    return sheet


def _latency(document: Document) -> Iterable[TitledTable]:
    if not document["latency_seconds"]:
        return
    sheet = TitledTable(
        "Latency in seconds",
        ("kind", "", "n", "missed", "p50", "p90", "p99", "mean", "max", "median with misses"),
    )
    for kind, measures in document["latency_seconds"].items():
        for name, words in _MEASURES.items():
            one = measures[name]
            if one["n"] or (one["missed"] and name == "time_to_detect"):
                values = ("p50", "p90", "p99", "mean", "largest", "median_with_missed")
                numbers = (_number(one[value]) for value in values)
                sheet.add(kind, words, str(one["n"]), str(one["missed"]), *numbers)
        if measures["without_clock"]:
            sheet.add(kind, "found, without a clock", str(measures["without_clock"]))
    yield sheet


def _attribution(document: Document) -> Iterable[TitledTable]:
    attribution = document["attribution"]
    sheet = TitledTable(
        "Attribution of incidents that were found",
        ("", "asked", "answered", "right of all", "right of answered", "macro F1", "ECE"),
    )
    for name in ("cause", "domain", "nodes", "ranks"):
        one = attribution[name]
        if one["accuracy"]["total"]:
            words = {"nodes": "node, first suspect", "ranks": "rank, first suspect"}.get(name, name)
            sheet.add(
                words,
                str(one["accuracy"]["total"]),
                _share(one["coverage"]),
                _share(one["accuracy"]),
                _share(one["selective_accuracy"]),
                _number(one.get("macro_f1")),
                _number(one["calibration"]["expected_calibration_error"]),
            )
            for key, more in (("top_5", "among the first five"), ("exact_set", "exactly these")):
                if key in one:
                    asked = str(one[key]["total"])
                    sheet.add(f"{name}, {more}", asked, "", _share(one[key]))
    if sheet.table.row_count:
        yield sheet


def _exclusions(document: Document) -> Iterable[TitledTable]:
    exclusions = document["attribution"]["exclusions"]
    lists = exclusions["lists"] + exclusions["unjudged_lists"]
    if lists or exclusions["wrong_exclusion"]["total"]:
        sheet = TitledTable("Nodes that would have been excluded", ("", "value"))
        sheet.add("lists, of which the innocent are known", str(exclusions["lists"]))
        sheet.add("lists, of which they are not", str(exclusions["unjudged_lists"]))
        sheet.add("innocent nodes in a list (mean)", _number(exclusions["over_exclusion"]))
        sheet.add("on incidents of the workload", _share(exclusions["wrong_exclusion"]))
        yield sheet


def _calibration(document: Document) -> Iterable[TitledTable]:
    calibration = document["alarm_calibration"]
    if calibration["n"]:
        error = _number(calibration["expected_calibration_error"])
        sheet = TitledTable(
            f"How far the confidence of alarms can be believed (ECE {error})",
            ("confidence", "true", "alarms"),
        )
        for part in calibration["bins"]:
            sheet.add(_number(part["confidence"]), _number(part["right"]), str(part["n"]))
        yield sheet


def _rules(document: Document) -> Iterable[TitledTable]:
    if not document["rules"]:
        return
    sheet = TitledTable(
        "Rules",
        (
            "rule",
            "alarms",
            "true",
            "false",
            "repeats",
            "precision",
            "median s",
            "exclusions",
            "wrong",
        ),
    )
    ordered = sorted(document["rules"].items(), key=lambda rule: (-rule[1]["alarms"], rule[0]))
    for name, rule in ordered:
        numbers = (rule[key] for key in ("alarms", "true_positives", "false_positives", "repeats"))
        sheet.add(
            name,
            *map(str, numbers),
            _share(rule["precision"]),
            _number(rule["median_latency_seconds"]),
            str(rule["exclusions"]),
            str(rule["wrong_exclusions"]),
        )
    yield sheet


def _across_jobs(document: Document) -> Iterable[TitledTable]:
    """The slowdowns that a backtest told, the first ones of many."""
    across = document.get("across_jobs")
    if not across or not across["alarms"]:
        return
    title = (
        f"Slowdowns across jobs: {across['held']} of {across['alarms']} hold, of which "
        f"{100 * across['false_share']:g} % may be false ({across['windows']} windows)"
    )
    sheet = TitledTable(title, ("attempt", "told at", "e-value", "needed", ""))
    for slow in across["slowdowns"][:_MAX_SLOWDOWNS]:
        numbers = _number(slow["e_value"]), _number(slow["needed"])
        words = "holds across jobs" if slow["holds"] else "does not"
        sheet.add(slow["attempt"], slow["told_at"], *numbers, words)
    if across["alarms"] > _MAX_SLOWDOWNS:
        sheet.add(f"and {across['alarms'] - _MAX_SLOWDOWNS} more, see --json")
    yield sheet


def _share(share: Document) -> str:
    if share["value"] is None:
        return NOTHING
    return f"{share['value']:.3f} {_interval(share)}"


def _interval(measure: Document) -> str:
    if measure["low"] is None:
        return NOTHING
    return f"[{_number(measure['low'])}, {_number(measure['high'])}]"


def _number(value: float | None) -> str:
    """Three digits, never in powers of ten."""
    if value is None:
        return NOTHING
    if value == 0 or abs(value) >= 1000:  # noqa: PLR2004 - whole from there on
        return f"{value:,.0f}"
    if abs(value) < 0.001:  # noqa: PLR2004 - more digits below
        return f"{value:.6f}"
    return f"{value:.3g}" if abs(value) >= 1 else f"{value:.3f}"
