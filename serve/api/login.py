"""Routes by which the page for browsers logs in: a token once, a cookie after that."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field

from relume.clock import MICROSECONDS_PER_SECOND, Clock
from relume.serve.api.access import Access
from relume.serve.api.bodies import Body, SessionView
from relume.serve.api.gate import COOKIE, cookie_of, roles_of
from relume.serve.api.problems import documented, problem
from relume.serve.api.reading import as_json, given
from relume.serve.api.sessions import Session


class Login(Body):
    """A person shows a token."""

    token: Annotated[str, Field(min_length=1, max_length=1000)]
    """Of any role."""


def login_routes(access: Access, clock: Clock) -> APIRouter:
    """Return the routes; they need no token, since one is shown to them."""
    router = APIRouter(prefix="/v1/session", tags=["session"])

    @router.post("", responses=given(SessionView) | documented(401, 413, 422))
    def log_in(body: Login) -> Response:
        """Begin a session: a cookie for the browser, and what its changes must carry beside it."""
        roles = access.tokens.roles(body.token.strip())
        if not roles:
            return problem(HTTPStatus.UNAUTHORIZED, "this token isn't known here")
        cookie, session = access.sessions.begin(roles, clock.now())
        response = as_json(_view(session))
        seconds = (session.expires_at - clock.now()) // MICROSECONDS_PER_SECOND
        response.set_cookie(
            COOKIE, cookie, seconds, secure=access.secure, httponly=True, samesite="strict"
        )
        return response

    @router.get("", responses=given(SessionView))
    def get_session(request: Request) -> Response:
        """Say who asks: roles, and, for a session, what its changes must carry."""
        cookie = cookie_of(request.headers)
        session = None if cookie is None else access.sessions.find(cookie, clock.now())
        if session is not None:
            return as_json(_view(session))
        return as_json(SessionView(tuple(sorted(roles_of(request.scope))), None, None))

    @router.delete("", status_code=204)
    def log_out(request: Request) -> Response:
        """End the session; fine where there is none."""
        cookie = cookie_of(request.headers)
        if cookie is not None:
            access.sessions.end(cookie)
        response = Response(status_code=204)
        response.delete_cookie(COOKIE, secure=access.secure, httponly=True, samesite="strict")
        return response

    return router


def _view(session: Session) -> SessionView:
    return SessionView(tuple(sorted(session.roles)), session.csrf, session.expires_at)
