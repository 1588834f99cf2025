"""Routes that read: attempts, Advice, and how the service itself is."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from msgspec.json import encode
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from relume.advice import Advice
from relume.clock import Clock
from relume.errors import InputError
from relume.serve.api.bodies import AdviceList, Alive, AttemptList, Ready
from relume.serve.api.metrics import ApiMetrics
from relume.serve.api.ports import AttemptsView, AttemptView, Readiness
from relume.serve.api.probe import LEDGER, LedgerProbe
from relume.serve.api.problems import documented
from relume.serve.ledger import Ledger, NotFoundError
from relume.verdict import Health

Active = Annotated[bool | None, Query(description="Those that go on, or those that have ended.")]
OnlyActive = Annotated[bool, Query(description="True: nothing else can be listed.")]
Cluster = Annotated[str | None, Query(description="Of this cluster only.")]


def attempt_routes(ledger: Ledger, view: AttemptsView) -> APIRouter:
    """Return the routes under which attempts are read."""
    router = APIRouter(prefix="/v1/attempts", tags=["attempts"])

    @router.get("", responses=given(AttemptList) | documented(422))
    def list_attempts(active: Active = None) -> Response:
        """Return attempts, oldest first."""
        records = ledger.attempts(active=active)
        return as_json(AttemptList(tuple(view(record) for record in records)))

    # A path: the text form of an attempt has a slash in it, which clients send as %2F.
    @router.get("/{attempt:path}", responses=given(AttemptView) | documented(404, 422))
    def get_attempt(attempt: str) -> Response:
        """Return one attempt, by its text form or as `job_id-restart_count` of the newest job."""
        record = ledger.get_attempt(attempt)
        if record is None:
            raise NotFoundError(
                f"attempt {attempt!r}",
                found="no such attempt in the ledger",
                expected="one that this service has seen",
            )
        return as_json(view(record))

    return router


def advice_routes(ledger: Ledger, clock: Clock) -> APIRouter:
    """Return the routes under which Advice is read."""
    router = APIRouter(prefix="/v1/advice", tags=["advice"])

    @router.get("", responses=given(AdviceList) | documented(422))
    def list_advice(active: OnlyActive, cluster: Cluster = None) -> Response:
        """Return what is to be carried out: per attempt the newest, PENDING and not expired."""
        if not active:
            raise InputError("advice", found="active=false", expected="active=true")
        return as_json(AdviceList(tuple(ledger.active(clock.now(), cluster))))

    @router.get("/{advice_id}", responses=given(Advice) | documented(404, 422))
    def get_advice(advice_id: str) -> Response:
        """Return one Advice, whatever became of it."""
        advice = ledger.get(advice_id)
        if advice is None:
            raise NotFoundError(
                f"advice {advice_id!r}",
                found="no such Advice in the ledger",
                expected="the advice_id of one",
            )
        return as_json(advice)

    return router


def health_routes(probe: LedgerProbe, readiness: Readiness, metrics: ApiMetrics) -> APIRouter:
    """Return the routes that tell how the service is."""
    router = APIRouter(tags=["health"])

    @router.get("/healthz")
    async def healthz() -> Alive:  # async: answers even when all worker threads are busy
        """Say that the process answers; nothing else is looked at."""
        return Alive()

    @router.get("/readyz", responses=given(Ready) | {503: {"model": Ready}})
    async def readyz() -> Response:  # async: see above
        """Say which part of the service fails. What is unknown doesn't count as healthy."""
        parts = {LEDGER: await probe.status_soon(), **readiness()}
        ready = all(part.status is Health.HEALTHY for part in parts.values())
        return as_json(Ready(ready, parts), 200 if ready else 503)

    @router.get("/metrics", response_class=Response)
    def get_metrics() -> Response:
        """Return the metrics in Prometheus' text format."""
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    return router


def as_json(value: object, status: int = 200) -> Response:
    """Return an answer whose body is the plain JSON form of `value`."""
    return Response(encode(value), status, media_type="application/json")


def given(model: Any) -> dict[int | str, dict[str, Any]]:  # noqa: ANN401 - any type
    """Return the OpenAPI description of an answer that `as_json` makes."""
    return {200: {"model": model}}
