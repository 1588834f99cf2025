"""Routes about what happened after Advice: incidents, labels, and who did what."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from relume.clock import Clock
from relume.serve.api.bodies import AuditList, IncidentList, LabelList, LabelReport
from relume.serve.api.keys import IdempotencyKey, request_key
from relume.serve.api.paging import MAX_NAME, OfAttempt, Within, written
from relume.serve.api.problems import documented
from relume.serve.api.reading import as_json, given
from relume.serve.ledger import IncidentRecord, Ledger, NotFoundError, Standing


class IncidentsQuery(OfAttempt):
    """Which incidents are listed."""

    active: Annotated[bool | None, Field(alias="open")] = None
    """Those that go on, or are over."""


class AuditQuery(Within):
    """Which rows of the audit are listed."""

    after: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Rows behind this number; a cursor counts more."""
    who: Annotated[str | None, Field(max_length=MAX_NAME)] = None
    """By whom, exactly so."""
    what: Annotated[str | None, Field(max_length=MAX_NAME)] = None
    """What was done, exactly so."""
    about: Annotated[str | None, Field(max_length=MAX_NAME)] = None
    """The `advice_id`, or the cluster of a lease."""


def happened_routes(ledger: Ledger, clock: Clock) -> APIRouter:
    """Return the routes; labelling needs role label (`relume.serve.api.access` says so)."""
    router = APIRouter(prefix="/v1")

    @router.get("/incidents", tags=["incidents"], responses=given(IncidentList) | documented(422))
    def list_incidents(query: Annotated[IncidentsQuery, Query()]) -> Response:
        """Return incidents, newest first."""
        behind = query.behind("incidents", (int, str))
        page = ledger.page_incidents(query.wanted(), behind, query.limit)
        return as_json(IncidentList(page.records, written("incidents", page.end)))

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

    @router.get("/labels", tags=["labels"], responses=given(LabelList) | documented(422))
    def list_labels(query: Annotated[OfAttempt, Query()]) -> Response:
        """Return what people said of Advice, newest first; times are those of the Advice."""
        behind = query.behind("labels", (int,))
        page = ledger.page_labels(query.wanted(), behind, query.limit)
        return as_json(LabelList(page.records, written("labels", page.end)))

    @router.get("/audit", tags=["audit"], responses=given(AuditList) | documented(422))
    def list_audit(query: Annotated[AuditQuery, Query()]) -> Response:
        """Return who did what, in order; each row holds the hash of the one before."""
        behind = query.behind("audit", (int,)) or (query.after,)
        page = ledger.page_audit(query.wanted(), behind, query.limit)
        return as_json(AuditList(page.records, written("audit", page.end)))

    return router
