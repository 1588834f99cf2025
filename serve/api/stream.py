"""The stream of events: what became known of Advice, as it becomes durable (text/event-stream)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import StreamingResponse

from relume.errors import RelumeError
from relume.serve.api.feed import Listener, NewsFeed, Told
from relume.serve.api.problems import documented
from relume.serve.ledger import MAX_NEWS

log = logging.getLogger(__name__)
HEARTBEAT_SECONDS = 15.0
STREAM_SECONDS = 3600.0
"""After so long a stream ends: its client comes again, and is let in anew or not."""
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

    @router.get(
        "/events", response_class=Response, responses={**_GIVEN, **documented(422, 429, 503)}
    )
    async def events(after: After = None, last_event_id: LastEventId = None) -> StreamingResponse:
        """Tell what becomes known of Advice, each after it is durable, in order.

        An event is named by what became known (advice, answer, reconciliation, closed, label), its
        id is a number that rises by one, and its data is the Advice as it is then. A client that
        sends the last id it saw misses nothing; one that is too slow is cut off. An id above the
        newest one, of another ledger, begins from now on.
        """
        feed.require_room()
        begin = last_event_id if last_event_id is not None else after
        newest = await feed.newest()  # before it listens: nothing falls between
        begin = None if begin is None else min(begin, newest)
        return StreamingResponse(
            _events(feed, begin, HEARTBEAT_SECONDS),
            media_type=MEDIA_TYPE,
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    return router


async def _events(feed: NewsFeed, after: int | None, heartbeat: float) -> AsyncGenerator[bytes]:
    end = asyncio.get_running_loop().time() + STREAM_SECONDS
    try:
        async with feed.listening() as listener:
            yield b": listening\n\n"
            seen = after or 0
            if after is not None:
                async for told in _earlier(feed, after):
                    seen = told.number
                    yield told.event
            async for one in _later(listener, heartbeat, end):
                if one is None:
                    yield b": still here\n\n"
                elif one.number > seen:
                    yield one.event
    except RelumeError as error:  # the answer has begun: all that is left is to end it
        log.warning("a stream of events ends: %s", error)


async def _earlier(feed: NewsFeed, after: int) -> AsyncIterator[Told]:
    while found := await feed.after(after):
        for told in found:
            yield told
        after = found[-1].number
        if len(found) < MAX_NEWS:
            return


async def _later(listener: Listener, heartbeat: float, end: float) -> AsyncIterator[Told | None]:
    clock = asyncio.get_running_loop().time
    while not listener.is_dropped and clock() < end:
        yield await listener.next(heartbeat)
