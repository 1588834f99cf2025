"""What a connection may cost before a request stands on it: time and memory of its head.

Uvicorn waits for the head of a request for ever, and keeps all of it. A connection on which nothing
was sent yet costs nothing, and is left alone; one between two requests has uvicorn's own patience.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from relume.serve.api.problems import MEDIA_TYPE, problem

if TYPE_CHECKING:
    from asyncio import TimerHandle

HEAD_SECONDS = 20.0
"""From the first byte of a request to the end of its headers."""
MAX_HEAD_BYTES = 64 << 10
"""Of all of it; twice what the gate takes, which says so in words."""


class HeadLimits(HttpToolsProtocol):
    """Uvicorn's protocol, which ends connections whose request has no end of its headers in sight.

    Attributes
    ----------
    head_seconds, max_head_bytes
        As above. Lines behind a body count as well.
    """

    head_seconds: ClassVar[float] = HEAD_SECONDS
    max_head_bytes: ClassVar[int] = MAX_HEAD_BYTES

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - uvicorn's own
        super().__init__(*args, **kwargs)
        self._in_head = False
        self._head_bytes = 0
        self._timer: TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        """Take bytes from the client."""
        super().data_received(data)
        if self.transport.is_closing():
            self._stop_timer()
        elif self._in_head:
            self._head_bytes += len(data)
            if self._timer is None:
                self._timer = self.loop.call_later(self.head_seconds, self._end_late)
            self._end_if_large()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, or a line behind a body in pieces."""
        super().on_header(name, value)
        if not self._in_head:
            self._head_bytes += len(name) + len(value)
            self._end_if_large()

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self._in_head, self._head_bytes = False, 0
        self._stop_timer()
        super().on_headers_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: what wants to be a WebSocket is answered as any other request."""

    def _end_if_large(self) -> None:
        if self._head_bytes > self.max_head_bytes:
            words = f"the headers of a request are larger than {self.max_head_bytes} bytes"
            self._end(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, words)

    def _end_late(self) -> None:
        if self._is_answering:  # the one before; its end isn't cut off for the next one
            self._timer = self.loop.call_later(self.head_seconds, self._end_late)
            return
        words = f"the headers of the request didn't come within {self.head_seconds:g} s"
        self._end(HTTPStatus.REQUEST_TIMEOUT, words)

    def _end(self, status: HTTPStatus, words: str) -> None:
        """Say why, unless an earlier request is still being answered, and close."""
        self._stop_timer()
        if self.transport.is_closing():
            return
        if not self._is_answering:
            self.transport.write(_answer(status, words))
        self.transport.close()

    @property
    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # null before the first request
        return cycle is not None and not cycle.response_complete

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _answer(status: HTTPStatus, words: str) -> bytes:
    body = bytes(problem(status, words).body)
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {MEDIA_TYPE}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
