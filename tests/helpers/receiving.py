"""A receiver of alerts on loopback that keeps what came and answers as a test says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class Receiver:
    """What came: `bodies` in order, with `paths`, `methods` and `tokens`; `status` is answered."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.status = 200
        self.refuses: str | None = None
        self.bodies: list[Any] = []
        self.paths: list[str] = []
        self.methods: list[str] = []
        self.tokens: list[str | None] = []

    def take(self, method: str, path: str, token: str | None, body: bytes) -> int:
        """Keep a request and return the status of its answer."""
        if self.refuses is not None and self.refuses.encode() in body:
            return 400
        if self.status != 200:
            return self.status
        self.methods.append(method)
        self.paths.append(path)
        self.tokens.append(token)
        self.bodies.append(json.loads(body) if body else None)
        return 200

    @property
    def events(self) -> list[tuple[str, int]]:
        """What happened, by the webhook's form, and the number of each message."""
        return [(one["event"], one["sequence"]) for one in self.bodies]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver on a port that the kernel gives."""
    receiver = Receiver("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            status = receiver.take(self.command, self.path, self.headers["Authorization"], body)
            self.send_response(status)
            if status == 302:
                self.send_header("Location", f"{receiver.url}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
