"""What every reading route has without knowing: HEAD, and an ETag by which nothing is sent twice.

ASGI middleware inside of the gate.
"""

from __future__ import annotations

from contextlib import suppress
from hashlib import blake2b
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

JSON = "application/json"


class Conditional:
    """Answers HEAD as GET without a body, and 304 where `If-None-Match` names the answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] not in {"GET", "HEAD"}:
            await self._app(scope, receive, send)
            return
        is_head = scope["method"] == "HEAD"
        answer = _Answer(send, scope, is_head=is_head)
        # The server looks at its own scope, where HEAD means that no body follows.
        inner = {**scope, "method": "GET"} if is_head else scope
        try:
            with suppress(_HeadOnlyError, ClientDisconnect):
                await self._app(inner, receive, answer.send)
        finally:
            scope["route"] = inner.get("route")  # for who counts requests


class _HeadOnlyError(OSError):
    """Nobody takes a body: a stream ends by it, as when its client has gone."""


class _Answer:
    """What is sent of an answer."""

    def __init__(self, send: Send, scope: Scope, *, is_head: bool) -> None:
        self._send, self._is_head = send, is_head
        self._known = Headers(scope=scope).get("if-none-match")
        self._may_tag = is_tagged(scope["path"])
        self._start: Message | None = None

    async def send(self, message: Message) -> None:
        """Take a message of the app."""
        if message["type"] == "http.response.start" and self._may_tag and _is_whole(message):
            self._start = message  # the tag follows from the body
            return
        if message["type"] == "http.response.body" and self._start is not None:
            start, self._start = self._start, None
            message = self._tagged(start, message)
            await self._send(start)
        if message["type"] == "http.response.body" and self._is_head:
            await self._send({"type": "http.response.body", "body": b""})
            if message.get("more_body", False):
                raise _HeadOnlyError
            return
        await self._send(message)

    def _tagged(self, start: Message, message: Message) -> Message:
        """Add the tag to `start`, and return the body to send after it."""
        if message.get("more_body", False):
            return message
        headers = MutableHeaders(raw=start["headers"])
        tag = etag(message.get("body", b""))
        headers["ETag"] = tag
        headers["Cache-Control"] = "private, no-cache"  # kept, and asked for each time
        headers["Vary"] = "Authorization, Cookie"
        if not names(self._known, tag):
            return message
        start["status"] = int(HTTPStatus.NOT_MODIFIED)
        del headers["Content-Length"], headers["Content-Type"]
        return {**message, "body": b""}


def etag(body: bytes) -> str:
    """Return the tag of an answer: equal for equal bytes.

    >>> etag(b"{}") == etag(b"{}"), etag(b"{}") == etag(b"[]"), etag(b"")[:1]
    (True, False, '"')
    """
    return f'"{blake2b(body, digest_size=16).hexdigest()}"'


def names(known: str | None, tag: str) -> bool:
    """Whether `If-None-Match` names a tag.

    >>> names('"a", W/"b"', '"b"'), names("*", '"b"'), names(None, '"b"'), names('"ab"', '"b"')
    (True, True, False, False)
    """
    if known is None:
        return False
    tags = {one.strip().removeprefix("W/") for one in known.split(",")}
    return tag in tags or "*" in tags


def is_tagged(path: str) -> bool:
    """Whether answers of a route have a tag: what is read again and again, and no secret.

    >>> is_tagged("/v1/advice"), is_tagged("/v1/session"), is_tagged("/readyz")
    (True, False, False)
    """
    return path.startswith("/v1/") and not path.startswith("/v1/session")


def _is_whole(start: Message) -> bool:
    kind = Headers(raw=start["headers"]).get("content-type", "").partition(";")[0]
    return start["status"] == HTTPStatus.OK and kind == JSON
