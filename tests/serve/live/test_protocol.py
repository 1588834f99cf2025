"""Heads of requests that have no end: over real connections, with limits of our own."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import uvicorn

from relume.serve.live.protocol import HeadLimits

PATIENCE = 120.0
FINE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
HALF = b"GET / HTTP/1.1\r\nHost: x\r\nX-Half: "


class Quick(HeadLimits):
    """Impatient, and with little room."""

    head_seconds = 0.1
    max_head_bytes = 4096


class Roomy(Quick):
    """With little room only."""

    head_seconds = PATIENCE


async def app(_: Any, receive: Any, send: Any) -> None:
    """Answer with the length of the body."""
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    body = str(size).encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def served(protocol: type[HeadLimits] = Quick) -> Iterator[int]:
    """A server of this app; gives its port."""
    config = uvicorn.Config(
        app, http=protocol, log_config=None, lifespan="off", ws="none", timeout_keep_alive=600
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(PATIENCE)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with served() as found:
        yield found


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        yield connection


def to_its_end(connection: socket.socket) -> tuple[int, Any]:
    """Read until the server closes; the status, and the problem that it tells."""
    found = b""
    try:
        while piece := connection.recv(65536):
            found += piece
    except ConnectionResetError:  # we were still sending
        pass
    head, _, body = found.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    return int(head.split(b" ")[1]), json.loads(body)


def answer(connection: socket.socket) -> bytes:
    """Read one answer of the app, of one digit."""
    found = b""
    while b"\r\n\r\n" not in found or found.endswith(b"\r\n\r\n"):
        piece = connection.recv(65536)
        assert piece, found
        found += piece
    assert found.startswith(b"HTTP/1.1 200"), found
    return found.rpartition(b"\r\n\r\n")[2]


@pytest.mark.parametrize("start", [b"G", b"GET / HT", HALF, FINE[:-1]])
def test_a_head_without_an_end_is_ended(port: int, start: bytes) -> None:
    with connected(port) as slow:
        slow.sendall(start)
        status, problem = to_its_end(slow)
    assert (status, problem["status"], problem["title"]) == (408, 408, "Request Timeout")
    assert "0.1 s" in problem["detail"]


def test_one_that_comes_drop_by_drop_is_ended(port: int) -> None:
    with connected(port) as slow:
        slow.sendall(HALF)
        slow.settimeout(0.005)
        found = b""
        while not found:
            try:
                slow.sendall(b"x")
                found = slow.recv(65536)
            except TimeoutError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                return
        assert found.startswith(b"HTTP/1.1 408"), found


def test_who_says_nothing_or_waits_between_requests_is_left_alone(port: int) -> None:
    with connected(port) as silent, connected(port) as between:
        between.sendall(FINE)
        assert answer(between) == b"0"
        for _ in range(3):  # as long as it takes for others to be ended
            with connected(port) as other:
                other.sendall(HALF)
                to_its_end(other)
        for one in (silent, between):
            one.sendall(FINE)
        assert [answer(one) for one in (silent, between)] == [b"0"] * 2


def test_a_body_has_its_own_patience(port: int) -> None:
    with connected(port) as upload, connected(port) as slow:
        upload.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na")
        slow.sendall(HALF)
        to_its_end(slow)
        # Half of the next head is there while this request is being answered.
        upload.sendall(b"bc")
        assert answer(upload) == b"3"


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"a" * 5000,
        b"GET / HTTP/1.1\r\nX: " + b"a" * 5000,
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 1000,
    ],
)
def test_a_head_that_is_too_large_is_ended(head: bytes) -> None:
    with served(Roomy) as port, connected(port) as large:
        large.sendall(head)
        status, problem = to_its_end(large)
    assert (status, "4096 bytes" in problem["detail"]) == (431, True)


def test_lines_behind_a_body_have_an_end_too() -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    with served(Roomy) as port, connected(port) as large:
        large.sendall(head + b"Tail: x\r\n" * 1000)
        with suppress(ConnectionResetError):
            while large.recv(65536):  # whether or not the answer came first, it closes
                continue


def test_requests_in_a_row_are_answered_in_their_order(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(FINE * 3)
        found = b""
        while found.count(b"\r\n\r\n0") < 3:
            found += connection.recv(65536)
    assert found.count(b"HTTP/1.1 200") == 3


def test_the_limits_of_the_service_are_wider_than_those_of_the_gate() -> None:
    assert HeadLimits.max_head_bytes > 32 * 1024
    assert HeadLimits.head_seconds >= 10


def test_what_wants_to_be_a_websocket_is_a_request_as_any_other(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    with connected(port) as connection:
        wish = b"Host: x\r\nConnection: upgrade\r\nUpgrade: websocket"
        connection.sendall(FINE.replace(b"Host: x", wish))
        assert answer(connection) == b"0"
    assert caplog.text == ""
