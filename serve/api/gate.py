"""The gate in front of every route: who asks, by which name, and how much is sent."""

from __future__ import annotations

import asyncio
import time
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from relume.clock import Clock
from relume.serve.api.access import SAFE_METHODS, Access, Rule, rule_of
from relume.serve.api.problems import problem
from relume.serve.api.sessions import is_of
from relume.serve.api.tokens import Role

if TYPE_CHECKING:
    from fastapi import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "relume_session"
CSRF_HEADER = "X-Relume-CSRF"
MAX_TARGET_BYTES = 8192
"""Of path and query together."""
MAX_HEADERS, MAX_HEADER_BYTES = 100, 32 * 1024
BODY_SECONDS = 60.0
"""How long a body may take that isn't pushed."""
_ROLES = "relume.roles"


class Gate:
    """ASGI middleware that turns requests away before their body is read."""

    def __init__(self, app: ASGIApp, access: Access, clock: Clock) -> None:
        self._app, self._access, self._clock = app, access, clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        rule = rule_of(scope["method"], scope["path"])
        headers = Headers(scope=scope)
        answer = (
            _unfit(scope)
            or self._misnamed(headers)
            or self._unknown(scope, headers, rule)
            or _too_long(headers, rule)
            or self._app
        )
        await answer(scope, _limited(receive, rule), send)

    def _misnamed(self, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        if self._access.knows_host(host):
            return None
        words = (
            f"this service doesn't answer to the name {host[:200]!r}; "
            "ask for localhost, or name it in serve.host_names"
        )
        return problem(HTTPStatus.MISDIRECTED_REQUEST, words)

    def _unknown(self, scope: Scope, headers: Headers, rule: Rule) -> Response | None:
        """Find out who asks, and refuse whoever isn't known or may not."""
        roles, problem_with_it = self._presented(scope, headers)
        scope[_ROLES] = roles
        if rule.role is None:
            return None
        if problem_with_it is not None:
            return problem_with_it
        if rule.role in roles or (rule.role is Role.READ and self._access.open_reads):
            return None
        if not roles:
            return _unauthorized(f"this needs a token of role {rule.role}")
        words = (
            f"this needs a token of role {rule.role}; yours is of role {', '.join(sorted(roles))}"
        )
        return problem(HTTPStatus.FORBIDDEN, words)

    def _presented(self, scope: Scope, headers: Headers) -> tuple[frozenset[Role], Response | None]:
        """Return the roles of who asks, and what is wrong with what was shown."""
        if "authorization" in headers:
            scheme, _, token = headers["authorization"].partition(" ")
            roles = self._access.tokens.roles(token.strip())
            if scheme.lower() != "bearer" or not roles:
                return frozenset(), _unauthorized("this token isn't known here")
            return roles, None
        cookie = cookie_of(headers)
        session = None if cookie is None else self._access.sessions.find(cookie, self._clock.now())
        if session is None:
            return frozenset(), None
        forged = scope["method"] not in SAFE_METHODS and not (
            is_of(session, headers.get(CSRF_HEADER, "")) and _same_origin(headers)
        )
        words = f"a change by cookie needs the header {CSRF_HEADER} of its session"
        return session.roles, problem(HTTPStatus.FORBIDDEN, words) if forged else None


def roles_of(scope: Scope) -> frozenset[Role]:
    """Return the roles of who asks, as the gate found them; none for nobody known."""
    roles: frozenset[Role] = scope.get(_ROLES, frozenset())
    return roles


def cookie_of(headers: Headers) -> str | None:
    """Return the cookie of a session; null for none."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return None if found is None else found.value


def _same_origin(headers: Headers) -> bool:
    origin = headers.get("origin")
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
    except ValueError:  # no address, such as one with half a bracket
        return False


def _unauthorized(words: str) -> Response:
    return problem(
        HTTPStatus.UNAUTHORIZED,
        f"{words}; send Authorization: Bearer TOKEN",
        headers={"WWW-Authenticate": "Bearer"},
    )


def _unfit(scope: Scope) -> Response | None:
    """Refuse addresses and headers that no client of ours has any use for."""
    target = len(scope.get("raw_path") or b"") + len(scope["query_string"])
    if target > MAX_TARGET_BYTES:
        words = f"path and query have {target} bytes, {MAX_TARGET_BYTES} are taken"
        return problem(HTTPStatus.REQUEST_URI_TOO_LONG, words)
    headers = scope["headers"]
    size = sum(len(name) + len(value) for name, value in headers)
    if len(headers) > MAX_HEADERS or size > MAX_HEADER_BYTES:
        words = f"at most {MAX_HEADERS} headers of {MAX_HEADER_BYTES} bytes together are taken"
        return problem(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, words)
    return None


def _too_long(headers: Headers, rule: Rule) -> Response | None:
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > rule.max_body_bytes:
        return problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _too_large(rule.max_body_bytes))
    return None


def _too_large(limit: int) -> str:
    return f"the body is larger than {limit} bytes, the most that is taken"


def _limited(receive: Receive, rule: Rule) -> Receive:
    """Count what comes in, for bodies that don't say their length (and those that lie).

    One that doesn't come to its end in time is given up; what is pushed has a patience of its own,
    since it holds a place meanwhile.
    """
    total, is_whole = 0, rule.role is Role.INGEST
    end = time.monotonic() + BODY_SECONDS

    async def receive_counted() -> Message:
        nonlocal total, is_whole
        if is_whole:  # what comes then is that the client goes, which may take long
            message = await receive()
        else:
            message = await _in_time(receive, end)
            is_whole = not message.get("more_body", False)
        total += len(message.get("body", b""))
        if total > rule.max_body_bytes:  # raised where the route reads its body
            words = _too_large(rule.max_body_bytes)
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, words)
        return message

    return receive_counted


async def _in_time(receive: Receive, end: float) -> Message:
    try:
        return await asyncio.wait_for(receive(), max(0.0, end - time.monotonic()))
    except TimeoutError as error:
        words = f"the body didn't come within {BODY_SECONDS:g} s"
        raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, words) from error
