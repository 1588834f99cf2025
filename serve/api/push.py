"""Routes through which telemetry is pushed; answered when all of it is durable.

Bodies are read and decoded here, beside the runner, which lands what several bring in one commit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Protocol

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from relume.errors import UnreachableError
from relume.serve.api.problems import documented
from relume.serve.api.reading import as_json, given
from relume.serve.intake.bodies import Body, Outcome
from relume.serve.intake.eventbodies import body_of_dump, body_of_lines
from relume.serve.intake.queue import Ticket

SENDER_HEADER = "X-Relume-Sender"
"""What a sender calls itself; its address else. One that stops is told by it."""
MAX_SENDER = 100
READ_SECONDS = 30.0
"""How long a body may take to come: it holds its place meanwhile."""
PATIENCE_SECONDS = 30.0
"""How long an answer waits for the commit; agents wait about as long."""

Decode = Callable[[bytes, str], Body]
Attempt = Annotated[str, Query(description="Text form of the attempt.", max_length=300)]
Rank = Annotated[int, Query(description="Global rank.", ge=0, lt=2**31)]


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


def push_routes(door: Door) -> APIRouter:
    """Return the routes that take telemetry in (`relume.serve.api.gate` asks for the token)."""
    router = APIRouter(tags=["ingest"], responses=documented(401, 403, 408, 413, 422, 429, 503))

    @router.post("/v1/events", responses=given(Outcome))
    async def post_events(request: Request) -> Response:
        """Take events, one a line as JSON; a line that is none is refused, not the others."""
        return as_json(await take(request, door, body_of_lines))

    @router.post("/v1/dumps", responses=given(Outcome))
    async def post_dump(request: Request, attempt: Attempt, rank: Rank) -> Response:
        """Take the flight-recorder dump of one rank: a pickle of plain data, or JSON."""

        def decode(data: bytes, sender: str) -> Body:
            return body_of_dump(data, attempt, rank, sender)

        return as_json(await take(request, door, decode))

    return router


async def take(request: Request, door: Door, decode: Decode) -> Outcome:
    """Read, decode and hand in the body of a request; return when it is durable.

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
