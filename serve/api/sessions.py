"""People who logged in with a token: what stands behind the cookie of their browser."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from threading import Lock

from relume.clock import from_seconds
from relume.serve.api.tokens import Role

SESSION_SECONDS = 12 * 3600.0
"""How long a login is good for: a shift, and a bit."""
MAX_SESSIONS = 1000
"""The oldest one ends when there are more."""


@dataclass(frozen=True, slots=True)
class Session:
    """One login.

    Attributes
    ----------
    roles
        Of the token that was given.
    csrf
        What each change must carry beside the cookie, which a browser sends by itself.
    expires_at
        UTC microseconds.
    """

    roles: frozenset[Role]
    csrf: str
    expires_at: int


class Sessions:
    """The logins of one service, in memory: whoever is logged in logs in again after a restart.

    Thread-safe. Of the cookies only digests are kept.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[bytes, Session] = OrderedDict()

    def begin(self, roles: frozenset[Role], now: int) -> tuple[str, Session]:
        """Return a new cookie and what stands behind it."""
        cookie = secrets.token_urlsafe(32)
        session = Session(roles, secrets.token_urlsafe(32), now + from_seconds(SESSION_SECONDS))
        with self._lock:
            self._known[_digest(cookie)] = session
            while len(self._known) > MAX_SESSIONS:
                self._known.popitem(last=False)
        return cookie, session

    def find(self, cookie: str, now: int) -> Session | None:
        """Return what stands behind a cookie; null for none, and for one that is over."""
        with self._lock:
            session = self._known.get(_digest(cookie))
            if session is not None and session.expires_at <= now:
                del self._known[_digest(cookie)]
                return None
            return session

    def end(self, cookie: str) -> None:
        """Forget a login."""
        with self._lock:
            self._known.pop(_digest(cookie), None)


def is_of(session: Session, csrf: str) -> bool:
    """Whether a change comes from the page of the session, not from another site."""
    return compare_digest(session.csrf.encode(), csrf.encode("utf-8", "surrogateescape"))


def _digest(cookie: str) -> bytes:
    return sha256(cookie.encode("utf-8", "surrogateescape")).digest()
