"""The stream of events: what became known of Advice, as it becomes durable (text/event-stream)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import StreamingResponse
from msgspec.json import encode

from relume.serve.api.feed import Listener, NewsFeed, Told
from relume.serve.api.problems import documented
from relume.serve.ledger import MAX_NEWS

HEARTBEAT_SECONDS = 15.0
MEDIA_TYPE = "text/event-stream"
After = Annotated[
    int | None,
    Query(ge=0, lt=2**63, description="Everything after this number; from now on when left out."),
]
LastEventId = Annotated[
    int | None, Header(alias="Last-Event-ID", ge=0, lt=2**63, description="As `after`.")
]
_GIVEN: dict[int | str, dict[str, Any]] = {
    200: {"description": "A stream without an end.", "content": {MEDIA_TYPE: {}}}
}


def stream_routes(feed: NewsFeed) -> APIRouter:
    """Return the route; it has to come before that of one Advice."""
    router = APIRouter(prefix="/v1/advice", tags=["advice"])

    @router.get("/events", response_class=Response, responses={**_GIVEN, **documented(422, 503)})
    async def events(after: After = None, last_event_id: LastEventId = None) -> StreamingResponse:
        """Tell what becomes known of Advice, each after it is durable, in order.

        An event is named by what became known (advice, answer, reconciliation, closed, label), its
        id is a number that rises by one, and its data is the Advice as it is then. A client that
        sends the last id it saw misses nothing; one that is too slow is cut off.
        """
        begin = last_event_id if last_event_id is not None else after
        return StreamingResponse(
            _events(feed, begin, HEARTBEAT_SECONDS),
            media_type=MEDIA_TYPE,
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    return router


async def _events(feed: NewsFeed, after: int | None, heartbeat: float) -> AsyncGenerator[bytes]:
    async with feed.listening() as listener:
        yield b": listening\n\n"
        seen = after or 0
        if after is not None:
            async for told in _earlier(feed, after):
                seen = told[0].number
                yield _event(told)
        async for one in _later(listener, heartbeat):
            if one is None:
                yield b": still here\n\n"
            elif one[0].number > seen:
                yield _event(one)


async def _earlier(feed: NewsFeed, after: int) -> AsyncIterator[Told]:
    while found := await feed.after(after):
        for told in found:
            yield told
        after = found[-1][0].number
        if len(found) < MAX_NEWS:
            return


async def _later(listener: Listener, heartbeat: float) -> AsyncIterator[Told | None]:
    while not listener.is_dropped:
        yield await listener.next(heartbeat)


def _event(told: Told) -> bytes:
    record, advice = told
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (
        record.number,
        record.what.value.encode(),
        encode(advice),
    )
