"""Routes of the controller: its lease, what it saw, and what became of Advice."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Path, Response
from msgspec.json import encode

from relume.advice import Advice
from relume.clock import Clock
from relume.errors import InputError, shown
from relume.serve.api.bodies import (
    Assigned,
    LeaseRequest,
    MilestoneReport,
    ReconciliationReport,
)
from relume.serve.api.metrics import ApiMetrics
from relume.serve.api.ports import OnScheduler
from relume.serve.api.problems import documented
from relume.serve.api.reading import as_json, given
from relume.serve.ledger import Lease, Ledger
from relume.slurm.job import SlurmSnapshot

FENCING_HEADER = "X-Relume-Fencing-Token"
MAX_TIME = 2**62
"""UTC microseconds; no clock is wrong by that much."""

ClusterName = Annotated[str, Path(pattern=r"^[^/@\s]{1,200}$")]
FencingToken = Annotated[int, Header(alias=FENCING_HEADER, ge=1, lt=2**63)]


def control_routes(
    ledger: Ledger, clock: Clock, on_scheduler: OnScheduler, metrics: ApiMetrics
) -> APIRouter:
    """Return the routes that need role control (`relume.serve.api.access` says so)."""
    router = APIRouter(prefix="/v1", tags=["control"], responses=documented(422, 503))

    @router.put("/controllers/{cluster}", responses=given(Lease) | documented(409))
    def put_controller(cluster: ClusterName, body: LeaseRequest) -> Response:
        """Take or renew the lease of a cluster. 409: another controller is alive."""
        lease = ledger.take_lease(cluster, body.holder, body.ttl_seconds, clock.now())
        return as_json(lease)

    @router.post("/scheduler", responses=given(Assigned))
    def post_scheduler(snapshot: SlurmSnapshot) -> Response:
        """Take in what Slurm says, and say which attempt each job is."""
        _require_fit(snapshot)
        attempts = on_scheduler(snapshot)
        metrics.note_snapshot(snapshot.cluster, snapshot.taken_at)
        return as_json(Assigned(dict(attempts)))

    @router.put(
        "/advice/{advice_id}/reconciliation", responses=given(Advice) | documented(404, 409)
    )
    def put_reconciliation(
        advice_id: str, body: ReconciliationReport, fencing_token: FencingToken
    ) -> Response:
        """Write down what became of an Advice. 409: ignored, for the reason in `type`."""
        advice = ledger.reconcile(advice_id, body.to_reconciliation(), fencing_token, clock.now())
        metrics.reports.labels(body.disposition.value).inc()
        return as_json(advice)

    @router.post("/milestones", status_code=204, responses=documented(404))
    def post_milestone(body: MilestoneReport) -> Response:
        """Write down how far an attempt got; the first report of each milestone stands."""
        ledger.put_milestone(
            body.attempt, body.milestone, event_time=body.event_time, advice_id=body.advice_id
        )
        return Response(status_code=204)

    return router


def _require_fit(snapshot: SlurmSnapshot) -> None:
    """Refuse what can't be kept before anything is done with the rest of it."""
    taken_at = snapshot.taken_at
    if not 0 <= taken_at < MAX_TIME:
        raise InputError(
            "taken_at of the snapshot", found=shown(taken_at), expected=f"0 to {MAX_TIME - 1}"
        )
    try:
        encode(snapshot)
    except UnicodeEncodeError as error:  # half a surrogate pair, which JSON can escape
        raise InputError("the snapshot", found=str(error), expected="valid Unicode") from error
