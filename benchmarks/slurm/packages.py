"""The packages that a lab needs, installed where this process may do that."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from relume.benchmarks.slurm.lab import ACCOUNTING_PROGRAMS, PROGRAMS
from relume.errors import UnreachableError

PACKAGES = (
    "slurm-wlm",
    "slurmctld",
    "slurmd",
    "slurmdbd",
    "slurm-client",
    "munge",
    "mariadb-server",
)
"""Debian's names; `tests/servers.toml` has the same."""
_TIMEOUT_SECONDS = 600
_SYSTEM_FOLDERS = "/usr/sbin:/sbin"
"""Where Debian puts the daemons; not on an ordinary user's PATH."""


def install_slurm() -> None:
    """Install Slurm where it is missing and this is root on apt; elsewhere say what is missing.

    Raises
    ------
    UnreachableError
        When it is missing and can't be installed.
    """
    if not _missing():
        return
    found = f"no {', '.join(_missing())}"
    if os.geteuid() == 0 and shutil.which("apt-get") is not None:
        sys.stderr.write("installing Slurm (apt-get)\n")
        found = _install() or found
    if _missing():
        raise UnreachableError(
            "a Slurm to start",
            found=found,
            expected="the daemons of Slurm, munge and MariaDB, or to be root on Debian or Ubuntu",
            hint=f"apt-get install --no-install-recommends {' '.join(PACKAGES)}",
        )


def _missing() -> list[str]:
    path = f"{os.environ.get('PATH', os.defpath)}:{_SYSTEM_FOLDERS}"
    return [
        name for name in PROGRAMS + ACCOUNTING_PROGRAMS if shutil.which(name, path=path) is None
    ]


def _install() -> str | None:
    """Run apt-get; return what it complained about, null for nothing."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["install", "-q", "-y", "--no-install-recommends", *PACKAGES]
    for arguments in (["update", "-q"], install):
        try:
            done = subprocess.run(
                ["apt-get", *arguments],  # noqa: S607
                check=False,
                capture_output=True,
                text=True,
                env=environment,
                timeout=_TIMEOUT_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return f"apt-get {arguments[0]} without an end in {_TIMEOUT_SECONDS} s"
        if done.returncode:
            return f"apt-get {arguments[0]}: {done.stderr.strip()[-300:]}"
    return None
