"""The HTTP server of the service: streams of events have no end of their own, so it ends them."""

from __future__ import annotations

import socket

import uvicorn

from relume.serve.api.feed import NewsFeed


class Server(uvicorn.Server):
    """Uvicorn's server for an app with a feed."""

    def __init__(self, config: uvicorn.Config, feed: NewsFeed) -> None:
        super().__init__(config)
        self._feed = feed

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then wait for the requests that are left."""
        self._feed.close()
        await super().shutdown(sockets)
