"""Routes that read: attempts, Advice, and how the service itself is."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from msgspec.json import encode
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from relume.advice import Advice
from relume.errors import InputError
from relume.serve.api.bodies import AdviceList, Alive, AttemptList, Ready
from relume.serve.api.metrics import ApiMetrics
from relume.serve.api.paging import MAX_NAME, OfAttempt, OfCluster, written
from relume.serve.api.ports import AttemptsView, AttemptView, Readiness
from relume.serve.api.probe import LEDGER, LedgerProbe
from relume.serve.api.problems import documented
from relume.serve.api.waiting import MAX_WAIT_SECONDS, ActiveAdvice, unless_gone
from relume.serve.ledger import Ledger, NotFoundError
from relume.verdict import Health

IfNoneMatch = Annotated[
    str | None, Header(alias="If-None-Match", max_length=1000, include_in_schema=False)
]


class AttemptsQuery(OfCluster):
    """Which attempts are listed; their time is that of the job's first submit."""

    active: bool | None = None
    """Those that go on, or those that have ended."""
    job_id: Annotated[str | None, Field(max_length=MAX_NAME)] = None
    """Of this job id, whenever it was given."""
    run: Annotated[str | None, Field(max_length=MAX_NAME)] = None
    """Of this run."""


class AdviceQuery(OfAttempt):
    """Which Advice is listed."""

    active: bool = False
    """True: what is to be carried out, all of it, of one cluster or of all."""
    wait: Annotated[float, Field(ge=0, le=MAX_WAIT_SECONDS, allow_inf_nan=False)] = 0.0
    """With `active`: wait so many seconds for another list than `If-None-Match` names."""

    def require_all(self) -> None:
        """Refuse what active Advice isn't chosen by: a part of it would be carried out.

        Raises
        ------
        InputError
            When it is.
        """
        others = self.model_fields_set - {"active", "cluster", "wait"}
        if others:
            raise InputError(
                "active Advice",
                found=f"{', '.join(sorted(others))} beside active=true",
                expected="cluster and wait at most: all of it is listed",
            )


def attempt_routes(ledger: Ledger, view: AttemptsView) -> APIRouter:
    """Return the routes under which attempts are read."""
    router = APIRouter(prefix="/v1/attempts", tags=["attempts"])

    @router.get("", responses=given(AttemptList) | documented(422))
    def list_attempts(query: Annotated[AttemptsQuery, Query()]) -> Response:
        """Return attempts, oldest first."""
        behind = query.behind("attempts", (int, str, int, str))
        page = ledger.page_attempts(query.wanted(), behind, query.limit)
        found = tuple(view(record) for record in page.records)
        return as_json(AttemptList(found, written("attempts", page.end)))

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


def advice_routes(ledger: Ledger, active: ActiveAdvice) -> APIRouter:
    """Return the routes under which Advice is read."""
    router = APIRouter(prefix="/v1/advice", tags=["advice"])

    @router.get("", responses=given(AdviceList) | documented(422, 429, 503))
    async def list_advice(
        request: Request, query: Annotated[AdviceQuery, Query()], known: IfNoneMatch = None
    ) -> Response:
        """Return Advice whatever became of it, newest first.

        Active is what is to be carried out: per attempt the newest, PENDING and not expired.
        """
        if not query.active:
            return await run_in_threadpool(history, query)
        query.require_all()
        if not query.wait:
            return json_of((await run_in_threadpool(active.read, query.cluster)).body)
        waiting = asyncio.create_task(active.changed(query.cluster, known, query.wait))
        body = await unless_gone(request, waiting)
        return Response(status_code=204) if body is None else json_of(body)

    def history(query: AdviceQuery) -> Response:
        if query.wait:
            raise InputError("wait", found="no active=true", expected="it beside wait")
        behind = query.behind("advice", (int, str))
        page = ledger.page_advice(query.wanted(), behind, query.limit)
        return as_json(AdviceList(page.records, written("advice", page.end)))

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
    return json_of(encode(value), status)


def json_of(body: bytes, status: int = 200) -> Response:
    """Return an answer with this body, which is JSON."""
    return Response(body, status, media_type="application/json")


def given(model: Any) -> dict[int | str, dict[str, Any]]:  # noqa: ANN401 - any type
    """Return the OpenAPI description of an answer that `as_json` makes."""
    return {200: {"model": model}}
