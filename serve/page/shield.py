"""Headers that keep pages safe in a browser, and the way to the login for a person without one."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Nothing from elsewhere, and nothing that stands in the page itself: log text is hostile."""
SAFE_HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_NO_PAGES = ("/v1/", "/login", "/healthz", "/readyz", "/metrics", "/openapi.json")


class Shield:
    """ASGI middleware, outside of the gate: it sees what is refused, too."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_page = is_for_person(scope)
        to_login = False

        async def send_shielded(message: Message) -> None:
            nonlocal to_login
            if message["type"] == "http.response.start":
                to_login = is_page and message["status"] == HTTPStatus.UNAUTHORIZED
                message = _login(scope, message) if to_login else message
                headers = MutableHeaders(raw=message["headers"])
                for name, value in SAFE_HEADERS.items():
                    headers.setdefault(name, value)
                message = {**message, "headers": headers.raw}
            elif to_login:
                message = {**message, "body": b""}
            await send(message)

        await self._app(scope, receive, send_shielded)


def is_for_person(scope: Scope) -> bool:
    """Whether a browser asks for a page that it will show."""
    accept = Headers(scope=scope).get("accept", "")
    is_get = scope["method"] == "GET" and "text/html" in accept
    return is_get and not scope["path"].startswith(_NO_PAGES)


def _login(scope: Scope, message: Message) -> Message:
    target = f"/login?next={quote(scope['path'])}".encode()
    status = HTTPStatus.SEE_OTHER.value
    return {**message, "status": status, "headers": [(b"location", target)]}
