"""Routes of reports: how right each rule was, and the false alarms one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Response

from relume.clock import MICROSECONDS_PER_SECOND, Clock
from relume.serve.api.problems import documented
from relume.serve.api.reading import as_json, given
from relume.serve.ledger import Ledger
from relume.serve.reports.falsepositives import FalsePositive, false_positives
from relume.serve.reports.kept import KeptRecord
from relume.serve.reports.scoreboard import Scoreboard
from relume.serve.scan.window import parse_span

Since = Annotated[
    str, Query(max_length=20, description="How far back: a number and s, m, h, d or w.")
]
GpusPerNode = Annotated[
    int | None, Query(ge=1, le=1024, description="To tell hours of GPUs from those of nodes.")
]


MINUTE = 60 * MICROSECONDS_PER_SECOND


@dataclass(frozen=True, slots=True)
class FalsePositiveList:
    """False alarms, newest first."""

    false_positives: tuple[FalsePositive, ...]


def report_routes(ledger: Ledger, clock: Clock, kept: KeptRecord) -> APIRouter:
    """Return the routes under which reports are read; each is computed when it is asked for."""
    router = APIRouter(prefix="/v1/reports", tags=["reports"])

    @router.get("/scoreboard", responses=given(Scoreboard) | documented(422))
    def get_scoreboard(since: Since = "30d") -> Response:
        """Return how right each rule was, with intervals, and how often it was wrong a job-day.

        As of the last whole minute, so that who asks again gets the same answer.
        """
        now = clock.now() // MINUTE * MINUTE
        begin = max(0, now - parse_span(since))
        return as_json(kept.rightness(begin, now).board)

    @router.get("/false-positives", responses=given(FalsePositiveList) | documented(422))
    def get_false_positives(since: Since = "7d", gpus_per_node: GpusPerNode = None) -> Response:
        """Return the false alarms: evidence, cost, and the setting that would have avoided each."""
        found = false_positives(
            ledger.told(max(0, clock.now() - parse_span(since))),
            ledger.attempts(),
            ledger.milestones,
            gpus_per_node=gpus_per_node,
        )
        return as_json(FalsePositiveList(tuple(found)))

    return router
