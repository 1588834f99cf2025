"""An HTTP server on loopback that answers as a test says: what a real Prometheus never does."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread


class Visit(BaseHTTPRequestHandler):
    """One request: `path` and `headers` are its, `answer` sends."""

    protocol_version = "HTTP/1.1"
    over: Event

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        """Send a whole answer."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, pieces: Iterator[bytes]) -> None:
        """Send a body of which nobody knows the length; ends when the other side has gone."""
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for piece in pieces:
                self.wfile.write(piece)
        except OSError:
            return

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(behave: Callable[[Visit], None], certificate: Path | None = None) -> Iterator[str]:
    """Run a server that lets `behave` deal with each GET and POST; yield its URL.

    `visit.over` is set when the test is over: what waits must wait for that.
    """
    over_now = Event()

    class Handler(Visit):
        over = over_now

        def do_GET(self) -> None:
            behave(self)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            behave(self)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            scheme = "https"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"{scheme}://127.0.0.1:{server.server_port}"
        finally:
            over_now.set()
            server.shutdown()
            thread.join()
