"""Where messages go: each target posts in its form, with a time-out, and follows no redirect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol

from relume.errors import InputError, UnreachableError
from relume.serve.alerts import forms
from relume.serve.alerts.message import Happened, Level, Message

if TYPE_CHECKING:
    import httpx2

TIMEOUT_SECONDS = 10.0
REPEAT_SECONDS = 60.0
"""How often Alertmanager is told what goes on, and that we are alive."""
HOLD_SECONDS = 4 * REPEAT_SECONDS
"""After so long without a word it takes an alert for resolved."""
_LATER = frozenset({408, 425, 429})


class Target(Protocol):
    """One receiver.

    Attributes
    ----------
    kind
        `alertmanager`, `webhook`, `slack` or `heartbeat`: a label of metrics.
    name
        Under which what was told is kept, and which is shown; never a secret.
    page
        How many messages `send` takes at once.
    repeats
        Whether what goes on must be told again and again.
    """

    kind: str
    name: str
    page: int
    repeats: bool

    def send(self, messages: Sequence[Message], levels: Mapping[str, Level], now: int) -> None:
        """Deliver messages. `levels` are those told before, by incident.

        Raises
        ------
        UnreachableError
            When it may take them later.
        InputError
            When it never will.
        """
        ...

    def beat(self, now: int) -> None:
        """Say that the service is alive; raises as `send`."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


class Post:
    """Posts JSON to one address, which may be a secret: no message of ours has it."""

    def __init__(self, url: str, name: str, token: str | None = None) -> None:
        import httpx2  # noqa: PLC0415 - only a service that sends alerts needs it

        self._url, self._name = url, name
        self._client: httpx2.Client = httpx2.Client(
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=TIMEOUT_SECONDS,
            trust_env=False,
            follow_redirects=False,
        )
        self._failures = (httpx2.HTTPError, httpx2.InvalidURL)

    def __call__(self, body: object, method: str = "POST") -> None:
        """Send a body (null: none); raises as `Target.send`."""
        try:
            with self._client.stream(method, self._url, json=body) as answer:
                status = answer.status_code  # what else it says, nobody reads
        except self._failures as error:
            raise UnreachableError(f"alerts to {self._name}", found=type(error).__name__) from None
        if status in _LATER or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise UnreachableError(f"alerts to {self._name}", found=f"status {status}")
        if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            raise InputError(
                f"alerts to {self._name}",
                found=f"status {status}",
                expected="2xx",
                hint="look at its address and at the token",
            )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class Alertmanager:
    """Alertmanager's API v2: what goes on is repeated, and ends by itself if we are gone."""

    kind, page, repeats = "alertmanager", 200, True

    def __init__(self, url: str, name: str, token: str | None = None) -> None:
        self.name = name
        self._post = Post(f"{url.rstrip('/')}/api/v2/alerts", name, token)

    def send(self, messages: Sequence[Message], levels: Mapping[str, Level], now: int) -> None:
        """Deliver messages. A level is a label: one that rose is a new alert, and the old one ends.

        One that fell stays as it was, or people would be told twice of what got better.
        """
        alerts: list[dict[str, Any]] = []
        for one in messages:
            before = levels.get(one.incident.incident_id)
            alert = forms.alertmanager(one, now=now, holds_seconds=HOLD_SECONDS)
            if before is not None and one.level is not before:
                rose = one.level.rank > before.rank and one.happened is not Happened.RESOLVED
                if rose:
                    alerts.append(forms.levelled(alert, before, ends=now))
                else:
                    alert = forms.levelled(alert, before)
            alerts.append(alert)
        self._post(alerts)

    def beat(self, now: int) -> None:
        """Let the alert fire that always does."""
        self._post([forms.alive(now, holds_seconds=HOLD_SECONDS)])

    def close(self) -> None:
        """Close the connections."""
        self._post.close()


class Webhook:
    """One message a request, in the form that `body` makes."""

    page, repeats = 1, False

    def __init__(self, kind: str, name: str, post: Post, body: Callable[[Message], object]) -> None:
        self.kind, self.name = kind, name
        self._post, self._body = post, body

    def send(self, messages: Sequence[Message], levels: Mapping[str, Level], now: int) -> None:
        """Deliver messages, one after the other."""
        del levels, now
        for one in messages:
            self._post(self._body(one))

    def beat(self, now: int) -> None:
        """Nothing: people read it."""

    def close(self) -> None:
        """Close the connections."""
        self._post.close()


class Heartbeat:
    """An address that is asked for each minute; who runs it calls somebody when that ends."""

    kind, page, repeats = "heartbeat", 0, False

    def __init__(self, name: str, post: Post) -> None:
        self.name, self._post = name, post

    def send(self, messages: Sequence[Message], levels: Mapping[str, Level], now: int) -> None:
        """Nothing: it takes no messages."""

    def beat(self, now: int) -> None:
        """Ask for it."""
        del now
        self._post(None, "GET")

    def close(self) -> None:
        """Close the connections."""
        self._post.close()
