"""What became known of Advice, told to everybody who listens: one reading of the ledger for all.

Whoever listens has a queue of its own and no thread. The ledger rings after each of its commits;
what other processes write to the same ledger is looked for once a second while anybody listens.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from msgspec.json import encode

from relume.advice import Advice
from relume.errors import RelumeError
from relume.serve.intake.queue import BusyError
from relume.serve.ledger import Ledger, NewsRecord

log = logging.getLogger(__name__)
POLL_SECONDS = 1.0
MAX_WAITING = 2000
"""News that a listener may be behind; a slower one is dropped, and may come again."""
MAX_LISTENERS = 1000


@dataclass(frozen=True, slots=True)
class Told:
    """News as they are sent: the number, and the event; one for all who listen."""

    number: int
    event: bytes

    @classmethod
    def of(cls, record: NewsRecord, advice: Advice) -> Told:
        """Write news as an event of `text/event-stream`."""
        fields = record.number, record.what.value.encode(), encode(advice)
        return cls(record.number, b"id: %d\nevent: %s\ndata: %s\n\n" % fields)


@dataclass(eq=False, slots=True)
class Listener:
    """One who listens. `next` gives what comes; `is_dropped`: it was too slow, or all is over."""

    _waiting: asyncio.Queue[Told | None] = field(default_factory=lambda: asyncio.Queue(MAX_WAITING))
    is_dropped: bool = False

    async def next(self, seconds: float) -> Told | None:
        """Return the next news, null when none came for so long."""
        try:
            return await asyncio.wait_for(self._waiting.get(), seconds)
        except TimeoutError:
            return None

    def end(self) -> None:
        """Let nothing come any more."""
        self.is_dropped = True
        with suppress(asyncio.QueueFull):  # then nobody waits
            self._waiting.put_nowait(None)

    def tell(self, told: Told) -> None:
        """Hand news over."""
        try:
            self._waiting.put_nowait(told)
        except asyncio.QueueFull:
            self.is_dropped = True


class NewsFeed:
    """Reads what became known and tells it; works while anybody listens. For one event loop."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._listeners: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._seen = 0

    def __len__(self) -> int:
        return len(self._listeners)

    def require_room(self) -> None:
        """Refuse one who would be too many.

        Raises
        ------
        BusyError
            When as many listen as may.
        """
        if len(self) >= MAX_LISTENERS:
            raise BusyError(
                "the stream of events",
                found=f"{len(self)} who listen",
                expected=f"at most {MAX_LISTENERS}",
                hint="come again later, or ask GET /v1/advice?active=true",
            )

    async def newest(self) -> int:
        """Return the number of what became known last; 0 for nothing yet."""
        return await asyncio.to_thread(self._ledger.last_news)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Listener]:
        """Listen to what becomes known from now on."""
        listener = Listener()
        async with self._starting:  # two that come first at once begin at one place
            if self._task is None or self._task.done():
                self._seen = await self.newest()
                self._task = asyncio.create_task(self._run())
            self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            if not self._listeners and self._task is not None:
                self._task.cancel()
                self._task = None

    def close(self) -> None:
        """End all streams: the service is told to end. Called in the loop."""
        for listener in self._listeners:
            listener.end()

    async def after(self, number: int) -> list[Told]:
        """Return what became known after a number, the first thousand of it."""
        return await asyncio.to_thread(self._read, number)

    def _read(self, number: int) -> list[Told]:
        return [Told.of(*one) for one in self._ledger.news_after(number)]

    async def _run(self) -> None:
        rung = asyncio.Event()
        loop = asyncio.get_running_loop()

        def ring() -> None:  # in the thread that wrote
            loop.call_soon_threadsafe(rung.set)

        end = self._ledger.bell.listen(ring)
        try:
            while True:
                rung.clear()
                await self._tell()
                try:
                    await asyncio.wait_for(rung.wait(), POLL_SECONDS)
                except TimeoutError:
                    continue
        finally:
            end()

    async def _tell(self) -> None:
        try:
            found = await self.after(self._seen)
        except RelumeError as error:  # `/readyz` says so as well; the next second may do
            log.warning("news of Advice can't be read: %s", error)
            return
        for told in found:
            self._seen = told.number
            for listener in self._listeners:
                listener.tell(told)
