"""JSON form of a score report (`docs/formats/score.md`), with what metrics section 14 asks for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from relume.models.scoring.answers import Answers, calibration_error, reliability
from relume.models.scoring.attribution import Attribution, Classes, Suspects
from relume.models.scoring.detection import Detection
from relume.models.scoring.intervals import Proportion, Rate
from relume.models.scoring.score import FalseAlarms, ScoreReport
from relume.models.scoring.scoreboard import RuleScore

SCHEMA_VERSION = 1
INTERVALS = "95 %: proportions Wilson, rates exact Poisson"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What a number came from; every table prints it.

    Attributes
    ----------
    corpus, corpus_hash
        Name of the data set and the hash of its attempts, labels and logs.
    version
        Of Relume.
    wall_seconds, cores
        How long the replay took, and on how many cores.
    sampling
        How often each input was sampled: a latency can't be shorter.
    seeds
        Of what was drawn at random; empty for recordings.
    """

    corpus: str
    corpus_hash: str
    version: str
    wall_seconds: float
    cores: int
    sampling: str = "log lines as they were written"
    seeds: tuple[int, ...] = ()


def to_document(report: ScoreReport, provenance: Provenance | None = None) -> dict[str, Any]:
    """Return the JSON form of a report; null where nothing was counted. Order changes nothing."""
    return {
        "schema_version": SCHEMA_VERSION,
        "provenance": None if provenance is None else asdict(provenance),
        "origin": None if report.origin is None else report.origin.value,
        "intervals": INTERVALS,
        "settings": asdict(report.settings),
        "counts": _counts(report),
        "detection": _detection(report),
        "false_alarms": _false_alarms(report.false_alarms),
        "latency_seconds": {
            kind.value: {
                "without_clock": one.without_clock,
                **{name: asdict(spread) for name, spread in one.spreads().items()},
            }
            for kind, one in sorted(report.latency.by_kind.items())
        },
        "attribution": _attribution(report.attribution),
        "alarm_calibration": calibration(report.sure),
        "rules": {name: _rule(one) for name, one in sorted(report.scoreboard.rules.items())},
    }


def proportion(share: Proportion) -> dict[str, Any]:
    """JSON form of a proportion."""
    low, high = share.interval
    return {
        "value": share.value,
        "low": low,
        "high": high,
        "right": share.right,
        "total": share.total,
    }


def rate(events: Rate) -> dict[str, Any]:
    """JSON form of a rate; `upper` is what it may be claimed to be below."""
    low, high = events.interval or (None, None)
    return {
        "value": events.value,
        "low": low,
        "high": high,
        "upper": events.upper,
        "count": events.count,
        "exposure": events.exposure,
    }


def calibration(answers: list[tuple[float, bool]]) -> dict[str, Any]:
    """JSON form of how far confidence can be believed: the error and the table behind it."""
    table = reliability(answers)
    return {
        "n": len(answers),
        "expected_calibration_error": calibration_error(table) if table else None,
        "bins": [asdict(part) for part in table],
    }


def _counts(report: ScoreReport) -> dict[str, Any]:
    document = asdict(report.counts)
    by_kind = report.counts.incidents_by_kind
    document["incidents_by_kind"] = {kind.value: by_kind[kind] for kind in sorted(by_kind)}
    return document


def _detection(report: ScoreReport) -> dict[str, Any]:
    table = report.detection
    return {
        "micro": _detected(table.all),
        "macro": asdict(table.macro()),
        "by_kind": {kind.value: _detected(one) for kind, one in sorted(table.by_kind.items())},
        "by_domain": {
            domain.value: _detected(one) for domain, one in sorted(table.by_domain.items())
        },
    }


def _detected(counts: Detection) -> dict[str, Any]:
    return {
        "true_positives": counts.true_positives,
        "false_positives": counts.false_positives,
        "misses": counts.misses,
        "precision": proportion(counts.precision),
        "recall": proportion(counts.recall),
        "f1": counts.f1,
    }


def _false_alarms(false: FalseAlarms) -> dict[str, Any]:
    return {
        "job_days": false.jobs.days,
        "quiet_job_days": false.jobs.quiet_days,
        "ignored_job_days": false.jobs.ignored_days,
        "node_days": false.nodes.days,
        "quiet_node_days": false.nodes.quiet_days,
        "per_job_day": rate(false.per_job_day),
        "per_1000_node_days": rate(false.per_1000_node_days),
        "without_exposure": false.elsewhere,
        "incidents_per_job_day": rate(false.incidents_per_job_day),
    }


def _attribution(attribution: Attribution) -> dict[str, Any]:
    exclusions = attribution.exclusions
    return {
        "cause": _classes(attribution.cause),
        "domain": _classes(attribution.domain),
        "nodes": _suspects(attribution.nodes),
        "ranks": _suspects(attribution.ranks),
        "exclusions": {
            "lists": exclusions.lists,
            "unjudged_lists": exclusions.unjudged,
            "innocent_nodes": exclusions.innocent,
            "over_exclusion": exclusions.over_exclusion,
            "wrong_exclusion": proportion(exclusions.wrong),
        },
    }


def _classes(classes: Classes) -> dict[str, Any]:
    return _answers(classes.answers) | {"macro_f1": classes.macro_f1()}


def _suspects(suspects: Suspects) -> dict[str, Any]:
    return _answers(suspects.first) | {
        "top_1": proportion(suspects.top_1),
        "top_5": proportion(suspects.top_5),
        "exact_set": proportion(suspects.exact_set),
    }


def _answers(answers: Answers) -> dict[str, Any]:
    return {
        "accuracy": proportion(answers.accuracy),
        "coverage": proportion(answers.coverage),
        "selective_accuracy": proportion(answers.selective_accuracy),
        "abstained": answers.abstained,
        "curve": [asdict(point) for point in answers.curve()],
        "calibration": calibration(answers.given),
    }


def _rule(score: RuleScore) -> dict[str, Any]:
    return {
        "alarms": score.alarms,
        "true_positives": score.true_positives,
        "false_positives": score.false_positives,
        "repeats": score.repeats,
        "transient": score.transient,
        "ignored": score.ignored,
        "precision": proportion(score.precision),
        "median_latency_seconds": score.median_latency,
        "exclusions": score.exclusions,
        "wrong_exclusions": score.wrong_exclusions,
    }
