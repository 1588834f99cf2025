"""Who is let in, and how much they may send."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest

from relume.serve.api import gate
from relume.serve.api.access import MAX_BODY_BYTES
from serving import TOKEN, Service

Message = MutableMapping[str, Any]
CHANGES = (
    ("PUT", "/v1/controllers/lab"),
    ("POST", "/v1/scheduler"),
    ("PUT", "/v1/advice/x/reconciliation"),
    ("POST", "/v1/milestones"),
    ("DELETE", "/v1/advice/x"),
    ("PATCH", "/v1/nothing"),
)
WRONG = (
    None,
    "",
    "Bearer",
    "Bearer ",
    f"Basic {TOKEN}",
    f"Bearer {TOKEN[:-1]}",
    f"Bearer {TOKEN} x",
    f"Bearer {TOKEN.upper()}",
    TOKEN,
    "Bearer \xe9\xff",
)
SCHEDULER = {"cluster": "lab", "taken_at": 1, "jobs": [], "nodes": []}


@pytest.mark.parametrize(("method", "path"), CHANGES)
def test_whatever_changes_something_needs_a_token(service: Service, method: str, path: str) -> None:
    response = service.open.request(method, path, json=SCHEDULER)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.headers["content-type"] == "application/problem+json"
    assert service.snapshots == []
    assert service.control.request(method, path, json=SCHEDULER).status_code != 401


@pytest.mark.parametrize("authorization", WRONG)
def test_only_the_token_itself_lets_in(service: Service, authorization: str | None) -> None:
    # As bytes, since texts with other letters can't be sent at all.
    value = b"" if authorization is None else authorization.encode("latin-1")
    headers = [] if authorization is None else [(b"Authorization", value)]
    response = service.open.post("/v1/scheduler", json=SCHEDULER, headers=headers)
    assert response.status_code == 401
    assert TOKEN not in response.text


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER  "])
def test_the_scheme_may_be_written_in_any_case(service: Service, scheme: str) -> None:
    headers = {"Authorization": f"{scheme} {TOKEN}"}
    assert service.open.post("/v1/scheduler", json=SCHEDULER, headers=headers).status_code == 200


def test_without_tokens_nobody_may_change_anything(service: Service) -> None:
    closed = Service(service.ledger, tokens=())
    assert closed.control.post("/v1/scheduler", json=SCHEDULER).status_code == 401
    assert closed.open.get("/v1/attempts").status_code == 200


def padded(length: int) -> bytes:
    """A snapshot of exactly so many bytes."""
    text = b'{"cluster": "lab", "taken_at": 1, "jobs": [], "nodes": []'
    return text + b" " * (length - len(text) - 1) + b"}"


def in_pieces(body: bytes) -> Iterator[bytes]:
    """The same without a length that is known before."""
    for start in range(0, len(body), 65536):
        yield body[start : start + 65536]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_at_the_limit_is_taken_and_one_above_it_is_not(
    service: Service, *, chunked: bool
) -> None:
    headers = {"Content-Type": "application/json"}
    for length, status in ((MAX_BODY_BYTES, 200), (MAX_BODY_BYTES + 1, 413)):
        content = in_pieces(padded(length)) if chunked else padded(length)
        response = service.control.post("/v1/scheduler", content=content, headers=headers)
        assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert len(service.snapshots) == 1


@pytest.mark.parametrize(
    ("headers", "status", "pieces_read"),
    [
        ([], 401, 0),
        (
            [(b"authorization", f"Bearer {TOKEN}".encode()), (b"content-length", b"99999999")],
            413,
            0,
        ),
        ([(b"authorization", f"Bearer {TOKEN}".encode())], 413, MAX_BODY_BYTES // 2**20 + 1),
    ],
)
def test_what_is_refused_is_not_read_to_its_end(
    service: Service, headers: list[tuple[bytes, bytes]], status: int, pieces_read: int
) -> None:
    read: list[Message] = []
    sent: list[Message] = []

    async def receive() -> Message:
        read.append({"type": "http.request", "body": b" " * 2**20, "more_body": True})
        return read[-1]

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/scheduler",
        "raw_path": b"/v1/scheduler",
        "query_string": b"",
        "root_path": "",
        "headers": [*headers, (b"content-type", b"application/json")],
    }

    async def answer() -> None:
        await service.open.app(scope, receive, send)

    asyncio.run(answer())
    assert sent[0]["status"] == status
    assert len(read) == pieces_read


@pytest.mark.parametrize("pieces", [0, 3])
def test_a_body_without_an_end_is_given_up(
    service: Service, monkeypatch: pytest.MonkeyPatch, pieces: int
) -> None:
    monkeypatch.setattr(gate, "BODY_SECONDS", 0.01)
    sent: list[Message] = []
    left = [{"type": "http.request", "body": b" ", "more_body": True} for _ in range(pieces)]

    async def receive() -> Message:
        if not left:
            await asyncio.Event().wait()  # nothing more ever comes
        return left.pop()

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/session",
        "raw_path": b"/v1/session",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"content-type", b"application/json")],
    }

    async def answer() -> None:
        await service.open.app(scope, receive, send)

    asyncio.run(answer())
    assert sent[0]["status"] == 408
