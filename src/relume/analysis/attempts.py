"""Every attempt of a lake, judged: one row each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from relume.config import load_config
from relume.serve.backtest.run import Judging
from relume.serve.live.history import RunKey
from relume.serve.scan.run import scan_recorded
from relume.serve.scan.scanned import Scanned
from relume.serve.scan.summary import by_age, streak_numbers
from relume.serve.scan.window import Window

_TIME = pl.Datetime("us", "UTC")
_EVIDENCE = pl.Struct(
    {
        "rule": pl.String(),
        "role": pl.String(),
        "file": pl.String(),
        "line": pl.Int64(),
        "event_time": _TIME,
        "text": pl.String(),
    }
)
SCHEMA = pl.Schema(
    {
        "attempt": pl.String(),
        "run": pl.String(),
        "user": pl.String(),
        "state": pl.String(),
        "nodes": pl.List(pl.String()),
        "start": _TIME,
        "end": _TIME,
        "first_step": pl.Int64(),
        "last_step": pl.Int64(),
        "failed": pl.Boolean(),
        "kind": pl.String(),
        "cause": pl.String(),
        "domain": pl.String(),
        "rule": pl.String(),
        "confidence": pl.Float64(),
        "node": pl.String(),
        "rank": pl.Int64(),
        "gpu": pl.String(),
        "fingerprint": pl.String(),
        "in_a_row": pl.Int64(),
        "operation": pl.String(),
        "exclude_nodes": pl.List(pl.String()),
        "advised_at": _TIME,
        "logs": pl.List(pl.String()),
        "missing": pl.List(pl.String()),
        "why": pl.List(pl.String()),
        "evidence": pl.List(_EVIDENCE),
    }
)
"""The columns of `attempts`, in their order. Null is not known, or not so."""


def attempts(lake: Path | str, *, config: Path | None = None) -> pl.DataFrame:
    """Judge every attempt of a lake, as `relume scan` does; one row each, by start.

    Takes about as long as `relume backtest` of it. `node`, `rank` and `gpu` are whom the verdict
    blames; `operation`, `exclude_nodes` and `advised_at` the newest Advice that there would have
    been; `in_a_row` counts from 1 how often the failure has come in its run without progress.

    Parameters
    ----------
    lake
        Its folder.
    config
        Configuration file; null looks in the usual places.

    Raises
    ------
    RelumeError
        When lake or configuration can't be read.
    """
    judging = Judging.of(load_config(config).settings, lake=Path(lake))
    return frame_of(scan_recorded(Path(lake), Window(), judging).attempts)


def frame_of(scanned: Iterable[Scanned]) -> pl.DataFrame:
    """Return scanned attempts as a frame of `SCHEMA`, by start; those without one come last."""
    runs: dict[RunKey, list[Scanned]] = defaultdict(list)
    for one in scanned:
        runs[one.run].append(one)
    rows = [
        _row(one, number)
        for tries in runs.values()
        for one, number in zip(by_age(tries), streak_numbers(tries), strict=True)
    ]
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    return frame.sort("start", "attempt", nulls_last=True)


def _row(one: Scanned, in_a_row: int | None) -> dict[str, Any]:
    entry, verdict, advice = one.entry, one.verdict, one.advice
    told: dict[str, Any] = {}
    if verdict is not None:
        told = {
            "kind": verdict.kind.value,
            "cause": verdict.cause,
            "domain": verdict.domain.value,
            "rule": verdict.rule,
            "confidence": verdict.confidence,
            "node": verdict.culprit.node,
            "rank": verdict.culprit.rank,
            "gpu": verdict.culprit.gpu,
            "why": list(verdict.why),
            "evidence": [
                {name: getattr(line, name) for name in _EVIDENCE.to_schema()}
                for line in verdict.evidence
            ],
        }
    advised: dict[str, Any] = {}
    if advice is not None:
        advised = {
            "operation": advice.operation.value,
            "exclude_nodes": list(advice.exclude_nodes),
            "advised_at": advice.created_at,
        }
    return {
        **dict.fromkeys(SCHEMA),
        "attempt": entry.attempt,
        "run": one.run.name,
        "user": entry.user,
        "state": entry.state,
        "nodes": list(entry.nodes),
        "start": one.start,
        "end": one.end,
        "first_step": one.first_step,
        "last_step": one.last_step,
        "failed": one.is_finding,
        "fingerprint": one.fingerprint,
        "in_a_row": in_a_row,
        "logs": list(one.logs),
        "missing": list(one.missing),
        **told,
        **advised,
    }
