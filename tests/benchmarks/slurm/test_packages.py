from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from relume.benchmarks.slurm.packages import PACKAGES, install_slurm
from relume.errors import UnreachableError


def test_the_tests_install_the_same_packages(repository: Path) -> None:
    servers = tomllib.loads((repository / "tests" / "servers.toml").read_text())
    assert tuple(servers["slurm"]["packages"]) == PACKAGES


def test_where_nothing_can_be_installed_the_packages_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("relume.benchmarks.slurm.packages._SYSTEM_FOLDERS", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnreachableError, match="apt-get install --no-install-recommends slurm-wlm"):
        install_slurm()


def test_apt_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("relume.benchmarks.slurm.packages._SYSTEM_FOLDERS", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    apt = tmp_path / "apt-get"
    apt.write_text("#!/bin/sh\necho 'no route to the mirror' >&2\nexit 100\n")
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnreachableError, match="apt-get update: no route to the mirror"):
        install_slurm()
