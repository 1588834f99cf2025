"""Routes through which telemetry is pushed; answered when all of it is durable.

Bodies are read and decoded here, beside the runner, which lands what several bring in one commit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Annotated, Protocol

from fastapi import APIRouter, Query, Request, Response
from google.protobuf.json_format import MessageToJson  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from relume.errors import UnreachableError
from relume.ingest.dumps.flight import MAX_WORLD
from relume.ingest.metrics.raw import Naming
from relume.ingest.push.bodies import unpacked
from relume.ingest.push.loki import loki_json, loki_protobuf
from relume.ingest.push.otlp import otlp_json, otlp_protobuf
from relume.serve.api.problems import documented, problem
from relume.serve.api.reading import as_json, given
from relume.serve.intake.bodies import Body, Outcome
from relume.serve.intake.eventbodies import (
    body_of_dump,
    body_of_lines,
    body_of_stream,
    body_of_streams,
)
from relume.serve.intake.queue import Ticket
from relume.serve.intake.receivers import SampleReceiver

SENDER_HEADER = "X-Relume-Sender"
"""What a sender calls itself; its address else. One that stops is told by it."""
MAX_SENDER = 100
READ_SECONDS = 30.0
"""How long a body may take to come: it holds its place meanwhile."""
PATIENCE_SECONDS = 30.0
"""How long an answer waits for the commit; agents wait about as long."""

MAX_UNPACKED_BYTES = 64 << 20
"""Of one request, without its compression."""
JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"

Decode = Callable[[bytes, str], Body]
Attempt = Annotated[str, Query(description="Text form of the attempt.", max_length=300)]
Rank = Annotated[int, Query(description="Global rank.", ge=0, lt=MAX_WORLD)]


class Door(Protocol):
    """What takes requests in."""

    def admit(self, size: int) -> Ticket:
        """Give a place to a request of `size` bytes.

        Raises
        ------
        BusyError
            When there is none, which becomes 429.
        """
        ...


def push_routes(door: Door, naming: Naming) -> APIRouter:
    """Return the routes that take telemetry in (`relume.serve.api.gate` asks for the token).

    `naming` says what series of Prometheus are to Relume.
    """
    samples = SampleReceiver(naming)
    router = APIRouter(
        tags=["ingest"], responses=documented(400, 401, 403, 408, 413, 422, 429, 503)
    )

    @router.post("/v1/events", responses=given(Outcome))
    async def post_events(request: Request) -> Response:
        """Take events, one a line as JSON, or as a stream of Arrow IPC by its content type.

        A line or row that is none is refused, not the others.
        """
        decode = body_of_stream if media_type(request) == ARROW else body_of_lines
        return as_json(await take(request, door, decode))

    @router.post("/loki/api/v1/push", status_code=204)
    async def post_loki(request: Request) -> Response:
        """Take lines as Loki does: JSON, or protocol buffers by snappy. 400: some were refused."""
        decode = loki_json if media_type(request) == JSON else loki_protobuf
        encoding = None if decode is loki_json else "snappy"
        outcome = await take(request, door, partial(body_of_streams, decode), encoding)
        return answered(outcome)

    @router.post("/v1/logs")
    async def post_logs(request: Request) -> Response:
        """Take lines as OTLP/HTTP does: JSON, or protocol buffers; what is refused is told."""
        is_json = media_type(request) == JSON
        decode = otlp_json if is_json else otlp_protobuf
        outcome = await take(request, door, partial(body_of_streams, decode))
        answer = ExportLogsServiceResponse()
        if outcome.refused:
            answer.partial_success.rejected_log_records = outcome.refused
            answer.partial_success.error_message = "; ".join(outcome.reasons)
        if is_json:
            return Response(MessageToJson(answer), media_type=JSON)
        return Response(answer.SerializeToString(), media_type="application/x-protobuf")

    @router.post("/api/v1/write", status_code=204, responses=documented(415))
    async def post_write(request: Request) -> Response:
        """Take samples by Prometheus' remote-write 1.0; what has no name here is passed over."""
        if _is_version_2(request):
            words = "remote-write 2.0 isn't read; let it send prometheus.WriteRequest (1.0)"
            raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, words)
        return answered(await take(request, door, samples.decode, "snappy"))

    @router.post("/v1/dumps", responses=given(Outcome))
    async def post_dump(request: Request, attempt: Attempt, rank: Rank) -> Response:
        """Take the flight-recorder dump of one rank: a pickle of plain data, or JSON."""

        def decode(data: bytes, sender: str) -> Body:
            return body_of_dump(data, attempt, rank, sender)

        return as_json(await take(request, door, decode))

    return router


async def take(
    request: Request, door: Door, decode: Decode, encoding: str | None = None
) -> Outcome:
    """Read, decode and hand in the body of a request; return when it is durable.

    `encoding` is how it is compressed where its header doesn't say.

    Raises
    ------
    RelumeError
        Which becomes the answer: `InputError` 422, `BusyError` 429, `UnreachableError` 503.
    """
    declared = request.headers.get("content-length", "")
    ticket = door.admit(int(declared) if declared.isdecimal() else 0)
    try:
        data = await asyncio.wait_for(request.body(), READ_SECONDS)
        ticket = _resized(door, ticket, len(data))
        encoding = request.headers.get("content-encoding", encoding)
        data = await run_in_threadpool(unpacked, data, encoding, MAX_UNPACKED_BYTES)
        ticket = _resized(door, ticket, len(data))
        body = await run_in_threadpool(decode, data, sender_of(request))
    except TimeoutError as error:
        ticket.drop()
        words = f"the body didn't come within {READ_SECONDS:.0f} s"
        raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, words) from error
    except BaseException:
        ticket.drop()
        raise
    future = asyncio.wrap_future(ticket.put(body))
    try:
        return await asyncio.wait_for(asyncio.shield(future), PATIENCE_SECONDS)
    except TimeoutError as error:
        raise UnreachableError(
            "what was pushed",
            found=f"no commit within {PATIENCE_SECONDS:.0f} s",
            hint="send it again: what landed meanwhile is not landed twice",
        ) from error


def answered(outcome: Outcome) -> Response:
    """Return the answer of protocols that say it by the status: 204, 400 when some was refused."""
    if not outcome.refused:
        return Response(status_code=HTTPStatus.NO_CONTENT)
    words = f"{outcome.refused} refused, {outcome.accepted} taken: {'; '.join(outcome.reasons)}"
    return problem(HTTPStatus.BAD_REQUEST, words, slug="input")


def media_type(request: Request) -> str:
    """Return the content type without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _is_version_2(request: Request) -> bool:
    parameters = request.headers.get("content-type", "").lower()
    version = request.headers.get("x-prometheus-remote-write-version", "0.1")
    return "write.v2" in parameters or version.startswith("2")


def sender_of(request: Request) -> str:
    """Return who sends, in a form that names of sources can hold."""
    address = "unknown" if request.client is None else request.client.host
    name = request.headers.get(SENDER_HEADER, "").strip() or address
    return "_".join(name.split())[:MAX_SENDER]


def _resized(door: Door, ticket: Ticket, size: int) -> Ticket:
    """Take a place for what came, where that is more than was announced."""
    if size <= ticket.size:
        return ticket
    ticket.drop()
    return door.admit(size)
