"""What the doctor says of services that answer, answer something else, or don't answer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from bad_server import Visit, serving
from relume.clock import SystemClock, to_datetime
from relume.errors import UnreachableError
from relume.serve.doctor import network
from relume.serve.doctor.finding import Finding

HEALTHY = {"status": "healthy", "reason": None}
READY = json.dumps({"ready": True, "parts": {"ledger": HEALTHY}}).encode()


def statuses(found: Iterable[Finding]) -> list[tuple[str, str]]:
    return [(one.check, one.status.value) for one in found]


def ask(status: int, body: bytes, token: str | None = None) -> list[Finding]:
    def behave(visit: Visit) -> None:
        assert visit.path == "/readyz"
        assert visit.headers["Authorization"] == (f"Bearer {token}" if token else None)
        visit.answer(status, body)

    with serving(behave) as url:
        return list(network.service(url, SystemClock(), ca_file=None, token=token))


def test_a_service_that_is_ready_is_fine() -> None:
    assert ("service", "ok") in statuses(ask(200, READY, "a token"))


def test_each_part_that_fails_has_a_line_of_its_own() -> None:
    bad = {"status": "unknown", "reason": "no snapshot yet"}
    parts = {"scheduler": bad, "ledger": HEALTHY, "new": {"status": "unhealthy", "reason": "x"}}
    found = ask(503, json.dumps({"ready": False, "parts": parts}).encode())
    lines = [one for one in found if one.check == "service"]
    assert [one.status for one in lines] == ["failing", "failing"]
    assert "no snapshot yet" in lines[0].words
    assert "relume control" in (lines[0].fix or "")
    assert not any(one.is_unreachable for one in lines)


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, b"", "unknown"),
        (403, b"", "unknown"),
        (404, b"", "failing"),
        (200, b"<html>", "failing"),
        (200, b"[]", "failing"),
        (503, b'{"parts": {"a": 1}}', "failing"),
    ],
)
def test_what_answers_something_else_is_told(status: int, body: bytes, expected: str) -> None:
    assert ("service", expected) in statuses(ask(status, body))


def test_what_does_not_answer_is_unreachable() -> None:
    with serving(lambda _: None) as url:
        gone = url
    with pytest.raises(UnreachableError):
        list(network.service(gone, SystemClock(), ca_file=None, token=None))
    with pytest.raises(UnreachableError):
        list(network.ready("prometheus", gone))


@pytest.mark.parametrize(
    ("seconds", "status"),
    [(0, "ok"), (2.9, "ok"), (-2.9, "ok"), (4, "warning"), (-4, "warning"), (40, "failing")],
)
def test_a_clock_that_is_off_is_told(seconds: float, status: str) -> None:
    now = 1_767_323_100_000_000
    theirs: datetime = to_datetime(now) + timedelta(seconds=seconds)
    found = network.skew("clock", "slurmctld", theirs, (now, now))
    assert found.status == status
    if status != "ok":
        assert ("ahead of" if seconds > 0 else "behind") in found.words


def test_an_answer_that_took_long_is_no_clock_that_is_off() -> None:
    now = 1_767_323_100_000_000
    theirs = to_datetime(now)
    found = network.skew("clock", "slurmctld", theirs, (now - 60_000_000, now + 60_000_000))
    assert found.status == "ok"


def test_the_clock_of_the_service_is_that_of_its_answers() -> None:
    def behave(visit: Visit) -> None:
        visit.send_response_only(200)
        visit.send_header("Date", format_datetime(to_datetime(0), usegmt=True))
        visit.send_header("Content-Length", str(len(READY)))
        visit.end_headers()
        visit.wfile.write(READY)

    with serving(behave) as url:
        found = statuses(network.service(url, SystemClock(), ca_file=None, token=None))
    assert ("clock", "failing") in found


@pytest.mark.parametrize(("status", "expected"), [(200, "ok"), (503, "failing")])
def test_a_prometheus_says_whether_it_is_ready(status: int, expected: str) -> None:
    paths: list[str] = []

    def behave(visit: Visit) -> None:
        paths.append(visit.path)
        visit.answer(status, b"")

    with serving(behave) as url:
        [found] = network.ready("prometheus", f"{url}/", "a token")
    assert (found.status, found.is_unreachable) == (expected, expected == "failing")
    assert paths == ["/-/ready"]


def test_a_service_that_speaks_https_is_known_by_its_certificate(tmp_path: Path) -> None:
    import subprocess  # noqa: PLC0415

    pem = tmp_path / "both.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-subj", "/CN=relume", "-days", "9", "-out", str(tmp_path / "cert")]
    subprocess.run([*command, "-keyout", str(tmp_path / "key")], check=True, capture_output=True)
    pem.write_text((tmp_path / "key").read_text() + (tmp_path / "cert").read_text())
    with serving(lambda visit: visit.answer(200, READY), pem) as url:
        found = network.service(url, SystemClock(), ca_file=tmp_path / "cert", token=None)
        assert ("service", "ok") in statuses(found)
        with pytest.raises(UnreachableError):
            list(network.service(url, SystemClock(), ca_file=None, token=None))
