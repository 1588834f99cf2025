"""Clients that mean no good, or don't know better: slow, idle, and bodies that blow up."""

from __future__ import annotations

import gzip
import random
import socket
from contextlib import ExitStack, suppress

import httpx2

from relume.benchmarks.faults.found import Found
from relume.benchmarks.faults.pushing import FINE, TOO_LARGE, Sender, ingest
from relume.benchmarks.machine import status_bytes
from relume.benchmarks.serving.service import ServiceProcess
from relume.benchmarks.slurm.ports import HOST
from relume.serve.api.access import MAX_PUSH_BYTES
from relume.serve.descriptors import allow_many_files

ROUTES = ("/v1/events", "/loki/api/v1/push", "/api/v1/write", "/v1/logs")
_PIECE = 64 << 10
_SPARE = 500
"""Files that a process needs beside its connections."""


def slow_clients(service: ServiceProcess, count: int = 200) -> Found:
    """Let clients send half of a head, or of a body, and wait; ask for other things meanwhile."""
    found = Found("slow_clients")
    token = ingest(service)["Authorization"]
    body = f"POST /v1/events HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: {token}\r\n"
    starts = (b"GET /healthz HTTP/1.1\r\nHost: x", f"{body}Content-Length: 1000\r\n\r\n{{".encode())
    sender = Sender(service)
    with ExitStack() as stack:
        for number in range(count):
            slow = stack.enter_context(_connected(service))
            slow.sendall(starts[number % 2])
        found.note("connections", count)
        found.note("served", _is_served(service, sender))
    return found


def idle_connections(service: ServiceProcess, count: int = 10_000) -> Found:
    """Open connections and send nothing; ask for other things meanwhile, and push."""
    found = Found("idle_connections")
    allow_many_files()
    count = min(count, _most_files() - _SPARE)
    with ExitStack() as stack:
        opened = 0
        for _ in range(count):
            with suppress(OSError):
                stack.enter_context(_connected(service))
                opened += 1
        found.note("connections", opened)
        found.note("served", _is_served(service, Sender(service)))
        found.note("memory_mib", service.anonymous_bytes() / (1 << 20))
    return found


def _most_files() -> int:
    import resource  # noqa: PLC0415 - where it is used

    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _is_served(service: ServiceProcess, sender: Sender) -> bool:
    """Whether others get their answers, each within the patience of its client."""
    is_alive = service.answers("/healthz") and service.answers("/v1/attempts")
    return is_alive and sender.push(10) == FINE


def _connected(service: ServiceProcess) -> socket.socket:
    host, _, port = service.url.removeprefix("http://").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=60.0)


def bombs(service: ServiceProcess, gib: float = 1.0) -> Found:
    """Push a body that unpacks to a thousand times its size; it is to be refused at little cost."""
    found = Found("zip_bomb")
    packed = _zeros(int(gib * 1024))
    before = _peak(service)
    statuses = []
    for route in ROUTES[:2]:
        headers = ingest(service) | {
            "Content-Encoding": "gzip",
            "Content-Type": "application/json",
        }
        answer = service.client.post(route, content=packed, headers=headers)
        statuses.append(int(answer.status_code))
    found.note("refused", all(status == TOO_LARGE for status in statuses))
    found.note("memory_mib", max(0, _peak(service) - before) / (1 << 20))
    found.say(f"{len(packed)} bytes that unpack to {gib} GiB: {statuses}")
    return found


def _zeros(mib: int) -> bytes:
    one = gzip.compress(bytes(1 << 20))
    return one * mib  # members of a gzip file follow each other


def _peak(service: ServiceProcess) -> int:
    return status_bytes(service.process.pid or 0).get("VmHWM", 0)


def large_bodies(service: ServiceProcess) -> Found:
    """Send a body without an end; count how much of it is taken before the answer is 413."""
    found = Found("large_body")
    head = (
        f"POST /v1/events HTTP/1.1\r\nHost: {HOST}\r\n"
        f"Authorization: {ingest(service)['Authorization']}\r\nTransfer-Encoding: chunked\r\n\r\n"
    ).encode()
    piece = b"%x\r\n%s\r\n" % (_PIECE, bytes(_PIECE))
    sent, answer = 0, b""
    with _connected(service) as connection:
        connection.sendall(head)
        while sent < 4 * MAX_PUSH_BYTES and not answer:
            connection.settimeout(60.0)
            with suppress(OSError):
                connection.sendall(piece)
                sent += _PIECE
            connection.settimeout(0.0)
            with suppress(OSError):
                answer = connection.recv(4096)
        connection.settimeout(60.0)
        with suppress(OSError):
            answer = answer or connection.recv(4096)
    found.note("refused", answer.split(b" ")[1:2] == [b"413"])
    found.note("taken_of_limit", sent / MAX_PUSH_BYTES)
    return found


def malformed_bodies(service: ServiceProcess, count: int = 200, seed: int = 1) -> Found:
    """Push bytes that are no protocol buffers, no JSON and no compression."""
    found = Found("malformed")
    dice = random.Random(seed)
    kinds = ("application/x-protobuf", "application/json", "application/octet-stream")
    encodings = (None, "gzip", "snappy", "zstd", "nonsense")
    errors = gone = 0
    for number in range(count):
        headers = ingest(service) | {"Content-Type": kinds[number % len(kinds)]}
        encoding = encodings[number % len(encodings)]
        if encoding is not None:
            headers["Content-Encoding"] = encoding
        try:
            answer = service.client.post(
                ROUTES[number % len(ROUTES)],
                content=dice.randbytes(dice.randrange(2000)),
                headers=headers,
            )
        except httpx2.TransportError:
            gone += 1
        else:
            errors += answer.status_code == httpx2.codes.INTERNAL_SERVER_ERROR
    found.note("bodies", count)
    found.note("status_500", errors)
    found.note("no_answer", gone)
    found.note("served", _is_served(service, Sender(service)))
    return found
