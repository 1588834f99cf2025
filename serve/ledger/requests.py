"""Requests that carried a key of their own: what was answered, so that none is done twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar

import msgspec
from sqlalchemy import Connection, delete, insert, select

from relume.clock import from_seconds
from relume.serve.ledger.errors import KeyUsedError
from relume.serve.ledger.tables import REQUESTS

KEPT_SECONDS = 24 * 3600.0
Asked = ParamSpec("Asked")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class RequestKey:
    """A request by which it is known again.

    Attributes
    ----------
    request, body
        SHA-256, in hexadecimal, of what is asked by which key, and of all that it says.
    at
        When it came, UTC microseconds.
    """

    request: str
    body: str
    at: int


def once(
    kind: type[Result], work: Callable[Concatenate[Connection, Asked], Result]
) -> Callable[Concatenate[Connection, RequestKey | None, Asked], Result]:
    """Return `work` so that a request with a key is done once: again it gets the same answer.

    Raises
    ------
    KeyUsedError
        When the key has been used for something else.
    """

    def done(
        connection: Connection, key: RequestKey | None, /, *args: Asked.args, **kwargs: Asked.kwargs
    ) -> Result:
        if key is None:
            return work(connection, *args, **kwargs)
        before = _find(connection, key)
        if before is not None:
            return msgspec.json.decode(before, type=kind)
        result = work(connection, *args, **kwargs)
        _put(connection, key, msgspec.json.encode(result).decode())
        return result

    return done


def _find(connection: Connection, key: RequestKey) -> str | None:
    query = select(REQUESTS).where(REQUESTS.c.request == key.request)
    row = connection.execute(query).one_or_none()
    if row is None or row.at <= key.at - from_seconds(KEPT_SECONDS):
        return None
    if row.body != key.body:
        raise KeyUsedError(
            "Idempotency-Key",
            found="one that came with another body in the last 24 hours",
            expected="a new key for a new request",
        )
    return str(row.document)


def _put(connection: Connection, key: RequestKey, document: str) -> None:
    old = REQUESTS.c.at <= key.at - from_seconds(KEPT_SECONDS)
    connection.execute(delete(REQUESTS).where(old))
    values = {"request": key.request, "body": key.body, "at": key.at, "document": document}
    connection.execute(insert(REQUESTS).values(**values))
