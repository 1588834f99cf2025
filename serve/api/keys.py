"""Keys of requests (Idempotency-Key): the same request again is done once."""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated

from fastapi import Header

from relume.serve.api.bodies import Body
from relume.serve.ledger import RequestKey

HEADER = "Idempotency-Key"
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias=HEADER,
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        description="Any new text: the same request with it again is done once, for a day.",
    ),
]


def request_key(key: str | None, what: str, body: Body, at: int) -> RequestKey | None:
    """Return how a request is known again; null for one without a key.

    Parameters
    ----------
    key
        As it came.
    what
        Is asked; a key says nothing of other things.
    body
        What the request says. How it is written doesn't count.
    at
        Now, UTC microseconds.
    """
    if key is None:
        return None
    request = sha256(f"{what}\n{key}".encode()).hexdigest()
    return RequestKey(request, sha256(body.model_dump_json().encode()).hexdigest(), at)
