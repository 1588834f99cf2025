"""Routes about what happened after Advice: incidents, labels, and who did what."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from relume.clock import Clock
from relume.serve.api.bodies import AuditList, IncidentList, LabelReport
from relume.serve.api.keys import IdempotencyKey, request_key
from relume.serve.api.problems import documented
from relume.serve.api.reading import Cluster, as_json, given
from relume.serve.ledger import (
    MAX_PAGE,
    IncidentRecord,
    Ledger,
    NotFoundError,
    Standing,
)

DEFAULT_PAGE = 100
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Records of a page.")]
Open = Annotated[bool | None, Query(alias="open", description="Those that go on, or are over.")]
Before = Annotated[str, Query(max_length=36, description="Field `before` of the page before.")]
After = Annotated[int, Query(ge=0, lt=2**63, description="Field `after` of the page before.")]


def happened_routes(ledger: Ledger, clock: Clock) -> APIRouter:
    """Return the routes; labelling needs role label (`relume.serve.api.access` says so)."""
    router = APIRouter(prefix="/v1")

    @router.get("/incidents", tags=["incidents"], responses=given(IncidentList) | documented(422))
    def list_incidents(
        is_open: Open = None,
        cluster: Cluster = None,
        before: Before = "",
        limit: Limit = DEFAULT_PAGE,
    ) -> Response:
        """Return incidents, newest first."""
        found = ledger.incidents(is_open=is_open, cluster=cluster, before=before, limit=limit)
        last = found[-1].incident_id if len(found) == limit else None
        return as_json(IncidentList(tuple(found), last))

    @router.get(
        "/incidents/{incident_id}",
        tags=["incidents"],
        responses=given(IncidentRecord) | documented(404, 422),
    )
    def get_incident(incident_id: str) -> Response:
        """Return one incident with the Advice that belongs to it."""
        found = ledger.get_incident(incident_id)
        if found is None:
            raise NotFoundError(
                f"incident {incident_id[:80]!r}",
                found="no such incident in the ledger",
                expected="the incident_id of one",
            )
        return as_json(found)

    @router.get(
        "/advice/{advice_id}/labels",
        tags=["labels"],
        responses=given(Standing) | documented(404, 422),
    )
    def get_labels(advice_id: str) -> Response:
        """Return whether an Advice was right: what became of it, and what people say."""
        return as_json(ledger.standing(advice_id))

    @router.post(
        "/advice/{advice_id}/labels",
        tags=["labels"],
        responses=given(Standing) | documented(404, 422, 503),
    )
    def post_label(advice_id: str, body: LabelReport, key: IdempotencyKey = None) -> Response:
        """Say whether an Advice was right; the newest label stands, all are kept."""
        label = body.to_record(advice_id, clock.now())
        known = request_key(key, f"label {advice_id}", body, label.at)
        return as_json(ledger.put_label(label, known))

    @router.get("/audit", tags=["audit"], responses=given(AuditList) | documented(422))
    def list_audit(after: After = 0, limit: Limit = DEFAULT_PAGE) -> Response:
        """Return who did what, in order; each row holds the hash of the one before."""
        rows = ledger.audit(after, limit)
        last = rows[-1].number if len(rows) == limit else None
        return as_json(AuditList(tuple(rows), last))

    return router
