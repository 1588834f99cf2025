"""What the doctor says of this machine: folders, disk, secrets, certificates, limits."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest

from relume import filesystems
from relume.clock import ManualClock, from_iso
from relume.serve.doctor import host
from relume.serve.doctor.finding import Finding, Status

NOW = from_iso("2026-06-01T00:00:00Z")


def statuses(found: Iterable[Finding]) -> list[str]:
    """Each line's status; what fails or will fail says what to do."""
    lines = list(found)
    bad = {Status.FAILING, Status.WARNING}
    assert all(one.fix for one in lines if one.status in bad)
    return [one.status.value for one in lines]


def test_a_data_folder_of_our_own_is_fine(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    assert statuses(host.data_folder(tmp_path)) == ["ok"]
    tmp_path.chmod(0o755)
    assert statuses(host.data_folder(tmp_path)) == ["warning"]
    assert statuses(host.data_folder(tmp_path / "none")) == ["failing"]


def test_a_data_folder_on_a_network_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o750)
    mounts = tmp_path / "mounts"
    mounts.write_text(f"server:/e {tmp_path.resolve()} nfs4 rw 0 0\n")
    monkeypatch.setattr(filesystems, "MOUNTS", mounts)
    assert statuses(host.data_folder(tmp_path)) == ["ok", "failing"]


def test_a_folder_that_we_may_not_use_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may do everything
    assert statuses(host.data_folder(tmp_path))[0] == "failing"
    assert statuses(host.log_roots((str(tmp_path),))) == ["failing"]


@pytest.mark.parametrize(
    ("free", "total", "inodes", "expected"),
    [
        (50, 100, 10**6, ["ok"]),
        (5, 100, 10**6, ["warning"]),
        (0.5, 100, 10**6, ["failing"]),
        (15, 1000, 10**6, ["failing"]),
        (50, 100, 99, ["ok", "warning"]),
        (50, 100, 0, ["ok", "failing"]),
    ],
)
def test_room_on_the_disk_is_weighed(
    monkeypatch: pytest.MonkeyPatch, free: float, total: int, inodes: int, expected: list[str]
) -> None:
    usage = SimpleNamespace(free=int(free * host.GIB), total=total * host.GIB)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_files=1, f_favail=inodes))
    assert statuses(host.disk(Path("/no/such/folder"))) == expected


def test_folders_of_logs_must_be_there(tmp_path: Path) -> None:
    roots = (str(tmp_path), str(tmp_path / "none"))
    assert statuses(host.log_roots(roots)) == ["ok", "failing"]
    assert statuses(host.log_roots(())) == ["ok"]


def test_kernel_logs_are_found_by_node(tmp_path: Path) -> None:
    pattern = f"{tmp_path}/hosts/{{node}}/kern.log"
    assert statuses(host.kernel_logs((pattern,), NOW)) == ["failing"]
    for node, age in (("n1", 10), ("n2", 5 * host.DAY)):
        file = tmp_path / "hosts" / node / "kern.log"
        file.parent.mkdir(parents=True)
        file.touch()
        os.utime(file, (NOW // 10**6 - age,) * 2)
    [found] = host.kernel_logs((pattern,), NOW)
    assert (found.status, "2 nodes" in found.words, "10 s" in found.words) == ("ok", True, True)
    assert statuses(host.kernel_logs((pattern,), NOW + 2 * host.DAY * 10**6)) == ["warning"]
    assert statuses(host.kernel_logs((), NOW)) == ["warning"]
    assert statuses(host.kernel_logs((str(tmp_path / "one.log"),), NOW)) == ["failing"]


def test_secrets_are_ours_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "token"
    file.touch(0o600)
    files = {"serve.read_token_file": str(file)}
    assert statuses(host.secrets(files)) == ["ok"]
    file.chmod(0o644)
    assert statuses(host.secrets(files)) == ["failing"]
    assert statuses(host.secrets({"x": str(tmp_path / "none")})) == ["failing"]
    file.chmod(0o600)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert statuses(host.secrets(files)) == ["failing"]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no command openssl")
def test_a_certificate_is_told_by_its_dates(tmp_path: Path) -> None:
    cert = tmp_path / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-subj", "/CN=relume", "-days", "100", "-out", str(cert)]
    subprocess.run([*command, "-keyout", str(tmp_path / "key")], check=True, capture_output=True)
    [found] = host.certificate(cert, ManualClock(0))
    assert (found.status, found.words.count("GMT")) == ("failing", 2)  # not yet
    begin = host._openssl_time(found.words.split("from ")[1])  # noqa: SLF001
    day = host.DAY * 10**6
    for days, status in ((50, "ok"), (90, "warning"), (101, "failing")):
        assert statuses(host.certificate(cert, ManualClock(begin + days * day))) == [status]
    cert.write_text("no certificate")
    assert statuses(host.certificate(cert, ManualClock(begin))) == ["failing"]


def test_without_openssl_nobody_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert statuses(host.certificate(tmp_path / "cert.pem", ManualClock(NOW))) == ["unknown"]


@pytest.mark.parametrize(("most", "status"), [(-1, "ok"), (65_536, "ok"), (1024, "warning")])
def test_open_files_are_limited(monkeypatch: pytest.MonkeyPatch, most: int, status: str) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, most))
    assert statuses(host.open_files()) == [status]
