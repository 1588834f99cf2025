"""The HTTP server of the service: it ends streams of events, and lets go of who doesn't read."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterable
from dataclasses import dataclass

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from relume.serve.api.feed import NewsFeed

log = logging.getLogger(__name__)
LOOK_TICKS = 50
"""Ticks of the server, of a tenth of a second, between two looks at who reads."""
STALLED_SECONDS = 30.0
MOVED_BYTES = 16 << 10
"""What a client has to take in `STALLED_SECONDS`, while more than a buffer waits for it."""
_Http = H11Protocol | HttpToolsProtocol


class Server(uvicorn.Server):
    """Uvicorn's server for an app with a feed."""

    def __init__(self, config: uvicorn.Config, feed: NewsFeed) -> None:
        super().__init__(config)
        self._feed = feed
        self._stalled = Stalled()

    async def on_tick(self, counter: int) -> bool:
        """Look at who doesn't read, besides what uvicorn does."""
        if counter % LOOK_TICKS == 0:
            now = asyncio.get_running_loop().time()
            self._stalled.cut_off(self.server_state.connections, now)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then wait for the requests that are left."""
        self._feed.close()
        await super().shutdown(sockets)


@dataclass(slots=True)
class _Waiting:
    size: int
    since: float


class Stalled:
    """Finds connections whose client takes nothing, and ends them with what waits for it.

    Without this an answer stays in memory for as long as a client keeps its connection open: TCP
    knows no end of patience.
    """

    def __init__(self) -> None:
        self._waiting: dict[_Http, _Waiting] = {}

    def cut_off(self, connections: Iterable[object], now: float) -> None:
        """Look at all connections at `now` (seconds)."""
        waiting: dict[_Http, _Waiting] = {}
        for one in connections:
            if not isinstance(one, _Http):
                continue
            transport = one.transport
            size = transport.get_write_buffer_size()
            if not size or not (one.flow.write_paused or transport.is_closing()):
                continue
            known = self._waiting.get(one)
            if known is None or size <= known.size - MOVED_BYTES:
                known = _Waiting(size, now)
            if now - known.since < STALLED_SECONDS:
                waiting[one] = known
                continue
            log.warning("a client that takes nothing of its answer is cut off: %s", one.client)
            transport.abort()
        self._waiting = waiting
