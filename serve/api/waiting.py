"""Active Advice for those who wait until it changes: one reading of the ledger for all of them.

Whoever waits holds no thread. News wake them, as they do streams; and so does the end of an Advice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.json import encode

from relume.clock import MICROSECONDS_PER_SECOND, Clock
from relume.serve.api.bodies import AdviceList
from relume.serve.api.conditional import etag, names
from relume.serve.api.feed import NewsFeed
from relume.serve.intake.queue import BusyError
from relume.serve.ledger import Ledger

if TYPE_CHECKING:
    from fastapi import Request

MAX_WAITERS = 200
MAX_WAIT_SECONDS = 60.0
_FAR = 2**62


@dataclass(frozen=True, slots=True)
class Reading:
    """The list as it is sent.

    Attributes
    ----------
    number
        News up to this one are in it.
    until
        When the first of it expires, UTC microseconds.
    """

    body: bytes
    number: int
    until: int


@dataclass(slots=True)
class _Shared:
    """What those who wait for one cluster share."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    last: Reading | None = None
    waiters: int = 0


class ActiveAdvice:
    """The list of active Advice. For one event loop."""

    def __init__(self, ledger: Ledger, clock: Clock, feed: NewsFeed) -> None:
        self._ledger, self._clock, self._feed = ledger, clock, feed
        self._shared: dict[str | None, _Shared] = {}

    def __len__(self) -> int:
        return sum(one.waiters for one in self._shared.values())

    def read(self, cluster: str | None) -> Reading:
        """Read the list of one cluster, or of all; blocks."""
        number = self._ledger.last_news()  # before it is read: nothing falls between
        advice = self._ledger.active(self._clock.now(), cluster)
        until = min((one.expires_at for one in advice), default=_FAR)
        return Reading(encode(AdviceList(tuple(advice))), number, until)

    async def changed(self, cluster: str | None, known: str | None, seconds: float) -> bytes:
        """Return the list as soon as it is another one than is known, and after so long anyway.

        Parameters
        ----------
        cluster
            Whose Advice; of all clusters when null.
        known
            `If-None-Match`; null for the list as it is now.
        seconds
            How long to wait at most.

        Raises
        ------
        BusyError
            When as many wait as may.
        """
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        async with self._place(cluster) as shared, self._feed.listening() as listener:
            found = shared.last = await asyncio.to_thread(self.read, cluster)
            known, number = known or etag(found.body), found.number
            while names(known, etag(found.body)) and not listener.is_dropped and clock() < end:
                expires = (found.until - self._clock.now()) / MICROSECONDS_PER_SECOND
                told = await listener.next(max(0.0, min(end - clock(), expires)))
                number = number if told is None else told.number
                found = await self._fresh(shared, cluster, number)
            return found.body

    async def _fresh(self, shared: _Shared, cluster: str | None, number: int) -> Reading:
        """Return a reading with the news of a number in it, and nothing that has expired."""
        async with shared.lock:
            last = shared.last
            if last is None or last.number < number or last.until <= self._clock.now():
                last = shared.last = await asyncio.to_thread(self.read, cluster)
            return last

    @asynccontextmanager
    async def _place(self, cluster: str | None) -> AsyncIterator[_Shared]:
        if len(self) >= MAX_WAITERS:
            raise BusyError(
                "active Advice",
                found=f"{len(self)} who wait for news of it",
                expected=f"at most {MAX_WAITERS}",
                hint="ask without wait, or listen to GET /v1/advice/events",
            )
        shared = self._shared.setdefault(cluster, _Shared())
        shared.waiters += 1
        try:
            yield shared
        finally:
            shared.waiters -= 1
            if not shared.waiters:
                self._shared.pop(cluster, None)


async def unless_gone(request: Request, waiting: asyncio.Task[bytes]) -> bytes | None:
    """Return what is waited for; null, and nobody waits any more, when the client has gone."""
    gone = asyncio.create_task(_gone(request))
    try:
        await asyncio.wait({waiting, gone}, return_when=asyncio.FIRST_COMPLETED)
        return waiting.result() if waiting.done() else None
    finally:
        for task in (waiting, gone):
            task.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
