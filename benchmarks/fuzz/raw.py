"""Sends what is no HTTP, or hardly: broken heads, and bodies that lie about their length."""

from __future__ import annotations

import socket
from contextlib import suppress
from random import Random

from relume.benchmarks.fuzz.mutations import CHANGES
from relume.benchmarks.fuzz.scene import Scene
from relume.benchmarks.fuzz.tally import Tally
from relume.serve.api import Role

PATIENCE_SECONDS = 60.0
HEARD_SECONDS = 0.3
_LINES = (
    b"GET /v1/advice?active=true HTTP/1.1",
    b"HEAD /v1/attempts HTTP/1.1",
    b"POST /v1/events HTTP/1.1",
    b"POST /v1/session HTTP/1.0",
    b"GET http://127.0.0.1/healthz HTTP/1.1",
    b"OPTIONS * HTTP/1.1",
    b"CONNECT x:1 HTTP/1.1",
    b"GET //v1//..//advice HTTP/1.1",
    b"GET /\xff\xfe HTTP/1.1",
    b"GET /%zz%00 HTTP/1.1",
    b"PRI * HTTP/2.0",
)
_BODIES = (
    b"Content-Length: 2\r\n\r\n{}",
    b"Content-Length: 99\r\n\r\n{}",
    b"Content-Length: -1\r\n\r\n{}",
    b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}}",
    b"Content-Length: 99999999999999999999\r\n\r\n{}",
    b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}\r\n",
    b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}",
    b"Transfer-Encoding: chunked\r\n\r\n0\r\nAuthorization: Bearer x\r\n\r\n",
    b"Upgrade: websocket\r\nConnection: upgrade\r\n\r\n",
    b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n",
    b"\r\n",
)


def send_raw(scene: Scene, tally: Tally, dice: Random, count: int) -> None:
    """Send so many requests, each over a connection of its own, and hear what is answered.

    No answer at all is one, too: the connection is closed, by them or by us.
    """
    host, _, port = scene.service.url.removeprefix("http://").rpartition(":")
    tokens = [scene.headers(role).get("Authorization", "") for role in Role]
    for _ in range(count):
        data = _request(dice, dice.choice(tokens))
        answer = b""
        address = (host, int(port))
        with (
            socket.create_connection(address, timeout=PATIENCE_SECONDS) as connection,
            suppress(OSError),
        ):
            connection.sendall(data)
            connection.settimeout(HEARD_SECONDS)  # what is no whole request isn't answered soon
            answer = connection.recv(1 << 16)
        status = answer.split(b" ", 2)[1:2]
        if status and status[0].isdigit():
            tally.answered(int(status[0]), f"raw {data[:300]!r}")


def _request(dice: Random, token: str) -> bytes:
    head = b"%s\r\nHost: 127.0.0.1\r\nAuthorization: %s\r\n" % (dice.choice(_LINES), token.encode())
    data = head + b"Content-Type: application/json\r\n" + dice.choice(_BODIES)
    for _ in range(dice.randrange(3)):
        data = dice.choice(CHANGES)(dice, data)
    return data
