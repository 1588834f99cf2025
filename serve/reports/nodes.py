"""Faulty nodes for a terminal, and their JSON form (`docs/nodes.md`)."""

from __future__ import annotations

from typing import Any

from relume.clock import to_datetime, to_iso
from relume.errors import counted
from relume.models.lemons.quarantine import DAY, Move, QuarantineSettings
from relume.records import evidence_record
from relume.serve.faultynodes import FaultyNode, NodeReport

COLUMNS = ("node", "faults", "attempts", "excess", "p", "advice", "why")
_WORDS = {
    Move.HOLD: "keep from jobs",
    Move.PAROLE: "let go",
    Move.NO_ROOM: "keep from jobs, no room",
}


def rows_of(report: NodeReport) -> list[tuple[str, ...]]:
    """Return a row of texts for each faulty node, in the order of `COLUMNS`."""
    return [_row(one) for one in report.nodes]


def summary(report: NodeReport) -> str:
    """Return what was looked at and found, in one sentence."""
    held = sum(one.change is not None and one.change.move is Move.HOLD for one in report.nodes)
    words = [
        f"{counted(report.attempts, 'attempt')} on {counted(report.fleet, 'node')}",
        f"{len(report.nodes)} with a fault, {held} to be kept from jobs of at most {report.places}",
    ]
    if report.shared:
        words.append(f"{counted(report.shared, 'fault')} of many nodes at once, or told twice")
    return "; ".join(words)


def node_record(report: NodeReport, settings: QuarantineSettings) -> dict[str, Any]:
    """Return the document of a report; null where not known."""
    return {
        "attempts": report.attempts,
        "fleet_nodes": report.fleet,
        "places": report.places,
        "faults_of_nobody": report.shared,
        "nodes": [_record(one, settings) for one in report.nodes],
    }


def _row(one: FaultyNode) -> tuple[str, ...]:
    score, last = one.score, one.faults[-1] if one.faults else None
    when = "" if last is None else f"{to_datetime(last.at):%Y-%m-%d %H:%M}"
    return (
        one.node,
        str(len(one.faults)),
        str(len({fault.attempt for fault in one.faults if fault.attempt is not None})),
        "?" if score is None else f"{score.excess:.1f}",
        "?" if score is None else f"{score.p_value:.2g}",
        _advice(one),
        "" if last is None else f"{last.words} at {when}",
    )


def _advice(one: FaultyNode) -> str:
    if one.is_out:
        return "out of service"
    return "" if one.change is None else f"{_WORDS[one.change.move]}: {one.change.why}"


def _record(one: FaultyNode, settings: QuarantineSettings) -> dict[str, Any]:
    score, change = one.score, one.change
    return {
        "node": one.node,
        "out_of_service": one.is_out,
        "node_days": None if score is None else score.node_days,
        "excess": None if score is None else score.excess,
        "p_value": None if score is None else score.p_value,
        "is_lemon": None if score is None else score.is_lemon,
        "advice": None if change is None else change.move.value,
        "advised_at": None if change is None else to_iso(change.at),
        "parole_at": to_iso(change.at + round(settings.parole_days * DAY))
        if change is not None and change.move is Move.HOLD
        else None,
        "why": None if change is None else change.why,
        "faults": [
            {
                "at": to_iso(fault.at),
                "attempt": fault.attempt,
                "domain": fault.domain.value,
                "words": fault.words,
                "evidence": [evidence_record(line) for line in fault.evidence],
            }
            for fault in one.faults
        ],
    }
