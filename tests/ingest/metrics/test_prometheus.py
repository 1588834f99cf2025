"""Servers that are down, slow, endless, wrong or somebody else; the real one is in tests/e2e."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from bad_server import Visit, serving
from relume.errors import ConfigError, InputError, RelumeError, UnreachableError
from relume.ingest.metrics.prometheus import SECOND, Prometheus, RangeQuery
from relume.ingest.metrics.raw import RawSeries
from relume.ingest.metrics.session import Access
from relume.ingest.skips import SkipCounts

START = 1_750_000_000
QUICK = Access(timeout_seconds=0.5, backoff_seconds=0.001)
SERIES = {"metric": {"__name__": "up", "job": "x"}, "values": [[START, "1"]]}
GOOD = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [SERIES]}})


def read(url: str, access: Access = QUICK, *, steps: int = 1, **sizes: int) -> list[RawSeries]:
    end = (START + 15 * (steps - 1)) * SECOND
    query = RangeQuery("up", START * SECOND, end, 15)
    with Prometheus(url, access, **sizes) as server:
        return [series for piece in server.pieces(query, SkipCounts()) for series in piece]


def good(visit: Visit) -> None:
    visit.answer(200, GOOD.encode())


def test_a_good_answer_is_read() -> None:
    with serving(good) as url:
        [series] = read(url + "/")
    assert (series.name, series.labels, series.values) == ("up", {"job": "x"}, [1.0])


@pytest.mark.parametrize("status", [429, 500, 502, 504])
def test_a_failure_that_passes_is_tried_again(status: int) -> None:
    visits: list[str] = []

    def behave(visit: Visit) -> None:
        visits.append(visit.path)
        if len(visits) < 4:
            visit.answer(status, b"later")
        else:
            good(visit)

    with serving(behave) as url:
        assert len(read(url)) == 1
    assert len(visits) == 4
    assert len(set(visits)) == 1


@pytest.mark.parametrize("status", [408, 500, 503])
def test_a_failure_that_stays_is_a_server_that_cannot_be_reached(status: int) -> None:
    body = b'{"status":"error","error":"the disk is full"}'
    with (
        serving(lambda visit: visit.answer(status, body)) as url,
        pytest.raises(UnreachableError, match=rf"status {status}: the disk is full"),
    ):
        read(url)


def test_a_server_that_is_down_cannot_be_reached() -> None:
    with serving(good) as url:
        pass
    with pytest.raises(UnreachableError, match="Connection refused") as caught:
        read(url)
    assert caught.value.exit_code == 3


def test_a_server_that_says_nothing_is_not_waited_for() -> None:
    def wait(visit: Visit) -> None:
        visit.over.wait()

    with (
        serving(wait) as url,
        pytest.raises(UnreachableError, match=r"[Rr]ead timed out"),
    ):
        read(url, Access(timeout_seconds=0.2, backoff_seconds=0.001))


def test_an_answer_that_never_ends_is_given_up() -> None:
    def trickle(visit: Visit) -> None:
        visit.stream(byte for byte in repeat(b" " * 100_000) if not visit.over.wait(0.01))

    with serving(trickle) as url, pytest.raises(InputError, match=r"longer than 0\.5 s to come"):
        read(url)


def test_an_answer_that_is_too_large_is_not_taken_in() -> None:
    """Its size is bounded after decompression, and what was read by then is let go."""
    with (
        serving(lambda visit: visit.stream(repeat(b" " * 100_000))) as url,
        pytest.raises(InputError, match="more than 1 MiB"),
    ):
        read(url, Access(timeout_seconds=60), max_answer_bytes=1 << 20)


def test_a_piece_that_is_too_much_for_the_server_is_asked_for_in_parts() -> None:
    asked: list[int] = []

    def behave(visit: Visit) -> None:
        about = parse_qs(urlsplit(visit.path).query)
        steps = (int(about["end"][0]) - int(about["start"][0])) // 15 + 1
        asked.append(steps)
        if steps > 4:
            visit.answer(503, b'{"status":"error","error":"query timed out in evaluation"}')
            return
        values = [[int(about["start"][0]) + 15 * step, "1"] for step in range(steps)]
        result = [{"metric": {}, "values": values}]
        data = {"resultType": "matrix", "result": result}
        visit.answer(200, json.dumps({"status": "success", "data": data}).encode())

    with serving(behave) as url:
        found = read(url, steps=20)
    assert sum(len(series.times) for series in found) == 20
    assert max(asked) == 16
    assert sum(steps for steps in asked if steps <= 4) == 20


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>sign in</html>", "no JSON"),
        (b"", "no JSON"),
        (b"[]", "no JSON of Prometheus"),
        (b'{"status":"success"}', "no JSON of Prometheus"),
        (b'{"data":{"result":null}}', "Expected `array`"),
        (b'{"data":{"result":[{"metric":{"a":1}}]}}', "Expected `str`"),
        (b'{"data":{"result":[{"metric":{},"values":[["x","1"]]}]}}', "Expected `float`"),
        (b"\x1f\x8b\x08 no gzip", "no JSON"),
        (b"[" * 100_000, "no JSON"),
    ],
)
def test_what_is_no_answer_of_prometheus_is_refused(body: bytes, words: str) -> None:
    with (
        serving(lambda visit: visit.answer(200, body)) as url,
        pytest.raises(InputError, match=words),
    ):
        read(url)


def test_a_token_is_sent_and_never_shown(tmp_path: Path) -> None:
    sent: list[str | None] = []

    def behave(visit: Visit) -> None:
        sent.append(visit.headers["Authorization"])
        visit.answer(403, b"no")

    file = tmp_path / "token"
    file.write_text("s3cret-t0ken\n")
    with serving(behave) as url, pytest.raises(ConfigError, match="status 403") as caught:
        read(url, Access(token_file=file))
    assert sent == ["Bearer s3cret-t0ken"]
    assert "s3cret" not in str(caught.value)


def test_a_redirect_is_not_followed() -> None:
    """The token would go wherever the server says."""
    visits: list[str] = []
    with serving(lambda visit: visits.append(visit.path)) as elsewhere:

        def behave(visit: Visit) -> None:
            visit.answer(302, b"", Location=elsewhere)

        with serving(behave) as url, pytest.raises(InputError, match="status 302"):
            read(url)
    assert visits == []


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "No such file"), ("", "nothing"), ("two words", "spaces"), ("é", "no ASCII")],
)
def test_a_token_file_that_holds_none_is_refused(
    tmp_path: Path, content: str | None, words: str
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=words):
        Prometheus("http://127.0.0.1:9", Access(token_file=file))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("127.0.0.1:9090", "expected a URL"),
        ("ftp://host", "expected a URL"),
        ("http://", "expected a URL"),
        ("http://host:99999999", "expected a URL"),
        ("http://host/?x=1", "expected a URL"),
        ("http://user:pa55@host:9090", "a user or password"),
    ],
)
def test_an_address_that_is_none_or_holds_a_password_is_refused(url: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        Prometheus(url)
    assert "pa55" not in str(caught.value)


@pytest.mark.parametrize(
    ("start", "end", "step"), [(5, 0, 15), (0, 10, 0), (0, 10, -1), (0.5, 10, 15), (0, 1.5, 15)]
)
def test_a_range_that_cannot_be_asked_for_is_refused(start: float, end: float, step: int) -> None:
    with pytest.raises(InputError, match="whole seconds"):
        RangeQuery("up", int(start * SECOND), int(end * SECOND), step)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A key with a certificate for 127.0.0.1 that nobody signed."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl not found (apt-get install openssl)")
    file = tmp_path / "server.pem"
    names = "subjectAltName=IP:127.0.0.1"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x"]
    command += ["-addext", names, "-keyout", str(file), "-out", str(tmp_path / "ca.pem")]
    subprocess.run(command, check=True, capture_output=True)
    file.write_text(file.read_text() + (tmp_path / "ca.pem").read_text())
    return file


def test_a_certificate_is_checked_against_the_file_of_the_site(certificate: Path) -> None:
    trusted = Access(ca_file=certificate.with_name("ca.pem"), backoff_seconds=0.001)
    with serving(good, certificate) as url:
        assert len(read(url, trusted)) == 1
        with pytest.raises(UnreachableError, match=r"certificate"):
            read(url, Access(backoff_seconds=0.001))
    with pytest.raises(ConfigError, match="no file"):
        Prometheus(url, Access(ca_file=certificate.with_name("none.pem")))


def test_nothing_but_errors_of_ours_comes_out() -> None:
    """Whatever a server does, whoever asks can catch it."""

    def broken_length(visit: Visit) -> None:
        visit.send_response(200)
        visit.send_header("Content-Length", "1000")
        visit.end_headers()
        visit.wfile.write(b"{")
        visit.close_connection = True

    def hang_up(visit: Visit) -> None:
        visit.close_connection = True

    def lies_about_encoding(visit: Visit) -> None:
        visit.answer(200, b"plain", Content_Encoding="gzip")

    behaviours: list[Callable[[Visit], None]] = [broken_length, hang_up, lies_about_encoding]
    for behave in behaviours:
        with serving(behave) as url, pytest.raises(RelumeError):
            read(url)
