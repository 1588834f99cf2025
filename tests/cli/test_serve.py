"""`relume serve` as a process: what it refuses, what it makes, and how it ends."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx2
import pytest
from typer.testing import CliRunner

from relume.cli import app
from relume.controller.service import ServiceClient
from relume.errors import UnreachableError

RELUME = (sys.executable, "-m", "relume")


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["serve", *arguments])
    assert result.exception is not None
    return str(result.exception)


def test_a_kernel_log_without_a_node_is_refused(tmp_path: Path) -> None:
    words = refused("--folder", str(tmp_path), "--log-root", "/x", "--kernel-log", "/var/log/kern")
    assert "{node}" in words


@pytest.mark.parametrize("address", ["0.0.0.0:8470", "[::]:8470", "gateway:8470"])
def test_an_open_address_needs_a_token_file(tmp_path: Path, address: str) -> None:
    words = refused("--folder", str(tmp_path), "--log-root", "/x", "--listen", address)
    assert "serve.control_token_file" in words


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    words = refused("--folder", str(tmp_path / "file" / "data"), "--log-root", "/x")
    assert "serve.folder" in words


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def service(folder: Path, port: int, *more: str) -> Iterator[subprocess.Popen[str]]:
    address = f"127.0.0.1:{port}"
    arguments = ["serve", "--folder", str(folder), "--log-root", str(folder)]
    arguments += ["--listen", address, *more]
    with subprocess.Popen([*RELUME, *arguments], stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_start(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if "startup complete" in line:
            return said
    pytest.fail(f"it ended: {said}")


def test_it_makes_its_token_answers_and_ends_when_told_to(tmp_path: Path) -> None:
    port = free_port()
    with service(tmp_path, port) as process:
        said = wait_for_start(process)
        token = tmp_path / "control.token"
        assert str(token) in said
        for made in (token, tmp_path / "ingest.token"):
            assert made.stat().st_mode & 0o777 == 0o600
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
            assert client.get("/healthz").json() == {"status": "ok"}
            ready = client.get("/readyz")
            assert ready.status_code == 503
            assert "relume control" in ready.json()["parts"]["scheduler"]["reason"]
            body = {"holder": "me", "ttl_seconds": 5}
            assert client.put("/v1/controllers/lab", json=body).status_code == 401
            headers = {"Authorization": f"Bearer {token.read_text().strip()}"}
            assert client.put("/v1/controllers/lab", json=body, headers=headers).is_success
            metrics = client.get("/metrics").text
            assert re.search(r"^relume_tick_timestamp_seconds \d", metrics, re.MULTILINE)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0


def test_with_a_certificate_it_speaks_https_only(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl not found (apt-get install openssl)")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    port = free_port()
    flags = ("--tls-cert", str(certificate), "--tls-key", str(key))
    with service(tmp_path, port, *flags) as process:
        wait_for_start(process)
        url, token = f"https://127.0.0.1:{port}", (tmp_path / "control.token").read_text().strip()
        with closing(ServiceClient(url, token, ca_file=str(certificate))) as client:
            assert client.take_lease("lab", "me", 5) == 1
        with closing(ServiceClient(url, token)) as distrustful, pytest.raises(UnreachableError):
            distrustful.take_lease("lab", "me", 5)
        http = url.replace("https", "http")
        with closing(ServiceClient(http)) as plain, pytest.raises(UnreachableError):
            plain.take_lease("lab", "me", 5)
    key.chmod(0o644)
    words = refused("--folder", str(tmp_path), "--log-root", "/x", *flags)
    assert "lets everybody read it" in words


def test_a_second_one_says_that_the_address_is_taken(tmp_path: Path) -> None:
    port = free_port()
    with service(tmp_path, port) as process:
        wait_for_start(process)
        arguments = ("serve", "--folder", str(tmp_path / "b"), "--log-root", "/x")
        command = [*RELUME, *arguments, "--listen", f"127.0.0.1:{port}"]
        second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert second.returncode == 3
        assert "running already" in second.stderr


def test_a_second_one_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    with service(tmp_path, free_port()) as process:
        wait_for_start(process)
        arguments = ("serve", "--folder", str(tmp_path), "--log-root", "/x")
        command = [*RELUME, *arguments, "--listen", f"127.0.0.1:{free_port()}"]
        second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert second.returncode in {2, 3}
        assert "another process that writes to it" in second.stderr


@pytest.mark.parametrize("polls", [False, True])
def test_slurm_is_asked_where_the_configuration_says_so(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    polls: bool,  # noqa: FBT001
) -> None:
    asked: list[object] = []
    place = "relume.serve.live.service.run_service"
    monkeypatch.setattr(place, lambda _, *ask: asked.extend(ask))
    config = tmp_path / "relume.toml"
    config.write_text(f"[serve]\npoll_slurm = {str(polls).lower()}\n")
    assert CliRunner().invoke(app, ["serve", "--config", str(config)]).exit_code == 0
    assert [one is not None for one in asked] == [polls, polls]
