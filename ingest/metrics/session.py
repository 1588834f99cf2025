"""HTTP for a server that may be slow, lie or be somebody else: bounded bytes, bounded time.

prometheus-api-client makes the requests; this is the session that it makes them with.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import requests
from requests.auth import AuthBase
from urllib3.util.retry import Retry

from relume.errors import ConfigError
from relume.files import small_text

MAX_ANSWER_BYTES = 64 << 20
"""An answer that is larger, decompressed, is given up; one of 200,000 values has 6 MB."""
_CHUNK_BYTES = 64 << 10
RETRIED = (408, 429, 500, 502, 504)
"""And 503 where it says when to try again: Prometheus answers it to queries that take too long."""
_MAX_RETRY_AFTER = 30
_MAX_BACKOFF = 10.0
_SHOWN = 300


class AnswerTooLargeError(Exception):
    """The server answers more than is taken in at once."""


class AnswerTooSlowError(Exception):
    """The server sends, but for too long."""


class FailedAnswerError(Exception):
    """The server answers that it won't.

    Attributes
    ----------
    status, words
        Of HTTP, and what the server says about it.
    """

    def __init__(self, status: int, words: str) -> None:
        super().__init__(f"status {status}: {words}")
        self.status, self.words = status, words


@dataclass(frozen=True, slots=True)
class Access:
    """How a server is reached.

    Attributes
    ----------
    token_file
        Holds a bearer token; null sends none. It is read for each connection, so it may change.
    ca_file
        Certificates (PEM) that the server's is checked against; null takes the system's.
    timeout_seconds
        How long to wait for a connection, for an answer to begin, and for all of it to come.
    tries
        How often a request is made that fails without an answer, or with one that passes.
    backoff_seconds
        The first wait between tries; each further one is twice as long.
    """

    token_file: Path | None = None
    ca_file: Path | None = None
    timeout_seconds: float = 60.0
    tries: int = 4
    backoff_seconds: float = 0.5

    def retry(self) -> Retry:
        """How urllib3 tries again."""
        return Retry(
            total=self.tries - 1,
            read=1,  # each may take the whole time
            backoff_factor=self.backoff_seconds,
            backoff_max=_MAX_BACKOFF,
            backoff_jitter=self.backoff_seconds / 2,
            status_forcelist=RETRIED,
            retry_after_max=_MAX_RETRY_AFTER,
            raise_on_status=False,
        )


class BoundedSession(requests.Session):
    """A session whose answers end: at `MAX_ANSWER_BYTES`, and after `timeout_seconds`.

    It follows no redirect: a query API has none, and a token must not go elsewhere.
    """

    def __init__(self, access: Access, max_bytes: int = MAX_ANSWER_BYTES) -> None:
        super().__init__()
        self._seconds, self._max_bytes = access.timeout_seconds, max_bytes
        self.verify = True if access.ca_file is None else str(access.ca_file)

    def request(self, *args: Any, **options: Any) -> requests.Response:  # noqa: ANN401 - as there
        """Make a request; the body of a good answer is read when somebody asks for it.

        Raises
        ------
        FailedAnswerError
            For any status but 200.
        """
        response = super().request(*args, **options | {"stream": True, "allow_redirects": False})
        response.raw = _Bounded(response.raw, self._max_bytes, time.monotonic() + self._seconds)
        if response.status_code != requests.codes.ok:
            raise FailedAnswerError(response.status_code, _words(response.content))
        return response


class _Bounded:
    """A body that isn't read on for ever; everything else is the body's own."""

    def __init__(self, raw: Any, max_bytes: int, deadline: float) -> None:  # noqa: ANN401 - urllib3's
        self._raw, self._left, self._deadline = raw, max_bytes, deadline

    def stream(self, _: int, *, decode_content: bool = True) -> Iterator[bytes]:
        """Yield the body, decompressed."""
        for chunk in self._raw.stream(_CHUNK_BYTES, decode_content=decode_content):
            self._left -= len(chunk)
            if self._left < 0:
                self._raw.close()
                raise AnswerTooLargeError
            if time.monotonic() > self._deadline:
                self._raw.close()
                raise AnswerTooSlowError
            yield chunk

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever it is there
        return getattr(self._raw, name)


def _words(body: bytes) -> str:
    """What Prometheus says of an error, else how the body begins."""
    with suppress(msgspec.DecodeError):
        found = msgspec.json.decode(body, type=_Failure)
        return found.error[:_SHOWN]
    return body[:_SHOWN].decode("utf-8", "replace")


class _Failure(msgspec.Struct):
    error: str


class BearerAuth(AuthBase):
    """Sends a token, and nothing else: no password of a `.netrc` in its place."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Put the token into a request."""
        if self._token is not None:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request


def read_token(file: Path) -> str:
    """Return the token in a file: its only line.

    Raises
    ------
    ConfigError
        When it can't be read, or holds no token. The message shows nothing of it.
    """
    expected = "a file with one token, printable ASCII without spaces"
    try:
        text = small_text(file, "ascii").strip()
    except (OSError, UnicodeError) as error:
        found = error.strerror if isinstance(error, OSError) else "bytes that are no ASCII"
        raise ConfigError(f"token file {file}", found=found, expected=expected) from error
    if not text or not all(" " < character < "\x7f" for character in text):
        found = "nothing" if not text else "spaces, or what can't be printed"
        raise ConfigError(f"token file {file}", found=found, expected=expected)
    return text


def checked_url(url: str) -> str:
    """Return a URL of a server without a slash at its end.

    Raises
    ------
    ConfigError
        When it is none, or holds a password, which would stand in messages and lists of processes.

    Examples
    --------
    >>> checked_url("http://127.0.0.1:9090/")
    'http://127.0.0.1:9090'
    """
    try:
        parts = urlsplit(url)
        is_fit = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_fit = False
    if not is_fit or parts.query or parts.fragment:
        expected = "a URL such as http://127.0.0.1:9090"
        found = repr(url.rsplit("@", 1)[-1])[:80]
        raise ConfigError("address of Prometheus", found=found, expected=expected)
    if parts.username is not None or parts.password is not None:
        raise ConfigError(
            f"address of Prometheus {parts.hostname}",
            found="a user or password in the URL",
            expected="none",
            hint="put a token into a file",
        )
    return url.rstrip("/")
