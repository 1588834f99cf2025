"""Errors as answers: application/problem+json (RFC 9457)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from msgspec.json import encode
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from relume.errors import InputError, RelumeError, Retryable
from relume.ingest.push.bodies import BodyTooLargeError
from relume.serve.intake.queue import BusyError
from relume.serve.ledger import ConflictError, NotFoundError

MEDIA_TYPE = "application/problem+json"
_TYPE = "urn:relume:problem:"


class Problem(BaseModel):
    """Why a request failed.

    `type` is stable (``about:blank`` where the status says it all), `detail` is for people.
    """

    type: str
    title: str
    status: int
    detail: str


def problem(
    status: int,
    detail: str,
    *,
    slug: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the answer for a failed request; `slug` is the end of its `type`."""
    body = Problem(
        type="about:blank" if slug is None else f"{_TYPE}{slug}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
    )
    return Response(encode(body.model_dump()), status, dict(headers or {}), media_type=MEDIA_TYPE)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of the problems that a route answers with."""
    return {
        status: {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: _SCHEMA}}
        for status in statuses
    }


_SCHEMA = {"schema": Problem.model_json_schema()}


_STATUSES = (
    (NotFoundError, HTTPStatus.NOT_FOUND),
    (ConflictError, HTTPStatus.CONFLICT),
    (BusyError, HTTPStatus.TOO_MANY_REQUESTS),
    (BodyTooLargeError, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (InputError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (Retryable, HTTPStatus.SERVICE_UNAVAILABLE),
)
"""What each error is answered with; the first that it is counts."""


def answer_with_problems(app: FastAPI) -> None:
    """Make every error of `app` a problem."""
    for kind in (RelumeError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _answer)


def status_of(error: RelumeError) -> HTTPStatus:
    """Return the HTTP status that says the same as `error`.

    Examples
    --------
    >>> status_of(InputError("x")).value
    422
    """
    found = (status for kind, status in _STATUSES if isinstance(error, kind))
    return next(found, HTTPStatus.INTERNAL_SERVER_ERROR)


def _answer(_: Request, error: Exception) -> Response:
    if isinstance(error, RelumeError):
        wait = math.ceil(error.after_seconds) if isinstance(error, Retryable) else None
        headers = {} if wait is None else {"Retry-After": str(wait)}
        status = status_of(error)
        slug = None if status is HTTPStatus.INTERNAL_SERVER_ERROR else error.error_type
        return problem(status, str(error), slug=slug, headers=headers)
    if isinstance(error, RequestValidationError):
        details = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "; ".join(details), slug="input")
    if isinstance(error, HTTPException):
        return problem(error.status_code, error.detail, headers=error.headers)
    words = "the service failed to answer; its log says why"
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, words)
