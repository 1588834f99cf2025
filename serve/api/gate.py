"""The gate in front of every route: changes need a token, and bodies have a limit."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from relume.serve.api.problems import problem
from relume.serve.api.tokens import Role, Tokens

if TYPE_CHECKING:
    from fastapi import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 64 * 1024 * 1024
"""The largest body that is taken: a snapshot of about 100,000 jobs on 8 nodes each."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Read only; open to whoever reaches the service, which is the machine itself by default."""
_TOO_LARGE = f"the body is larger than {MAX_BODY_BYTES} bytes, the most that is taken"


class Gate:
    """ASGI middleware that turns requests away before their body is read.

    It goes by method, not by route: a new route that changes something is closed until it is
    opened on purpose.
    """

    def __init__(self, app: ASGIApp, tokens: Tokens) -> None:
        self._app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = self._refuse(scope) or self._app
        await answer(scope, _limited(receive), send)

    def _refuse(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if scope["method"] not in SAFE_METHODS and not self._may_control(headers):
            return problem(
                HTTPStatus.UNAUTHORIZED,
                "this needs a token of role control; send Authorization: Bearer TOKEN",
                headers={"WWW-Authenticate": "Bearer"},
            )
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > MAX_BODY_BYTES:
            return problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _TOO_LARGE)
        return None

    def _may_control(self, headers: Headers) -> bool:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and Role.CONTROL in self._tokens.roles(token.strip())


def _limited(receive: Receive) -> Receive:
    """Count what comes in, for bodies that don't say their length (and those that lie)."""
    total = 0

    async def receive_counted() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > MAX_BODY_BYTES:  # raised where the route reads its body
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _TOO_LARGE)
        return message

    return receive_counted
