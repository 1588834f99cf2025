"""What every test gets: hypothesis profiles, and the gate in front of tests that need a server.

`RELUME_TEST_SERVERS` says what to do about a server that is not there:

=========  ============================================================================
`install`  where this is root on apt, install it; elsewhere skip (what `make test` does)
`skip`     install nothing, skip
`require`  where this is root on apt, install it; elsewhere fail (what CI does)
=========  ============================================================================
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

if TYPE_CHECKING:
    from mariadb_server import MariaDB

SERVERS_FILE = Path(__file__).with_name("servers.toml")
ROOT = Path(__file__).parents[1]

# No deadlines: the machine may be busy. `ci` draws the same examples on every run.
hypothesis.settings.register_profile("dev", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("dev")


def _missing(commands: list[str]) -> list[str]:
    return [command for command in commands if shutil.which(command) is None]


def _may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def _install(commands: list[str], packages: list[str]) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # Parallel test processes take turns: apt locks out a second one with an error.
    with Path(tempfile.gettempdir(), "relume-test-servers.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _missing(commands):
            for arguments in (["update", "-q"], ["install", "-q", "-y", *packages]):
                subprocess.run(["apt-get", *arguments], check=True, env=environment)  # noqa: S607


def _require_server(name: str) -> None:
    """Make sure of a server of `servers.toml`, or skip or fail the test."""
    servers: dict[str, Any] = tomllib.loads(SERVERS_FILE.read_text())
    mode = os.environ.get("RELUME_TEST_SERVERS", "skip")
    if mode not in {"install", "skip", "require"}:
        pytest.fail(f"RELUME_TEST_SERVERS is {mode!r}, expected install, skip or require")
    commands, packages = servers[name]["commands"], servers[name]["packages"]
    if mode != "skip" and _may_install():
        _install(commands, packages)
    if missing := ", ".join(_missing(commands)):
        words = f"server {name}: {missing} not found (apt-get install {' '.join(packages)})"
        (pytest.fail if mode == "require" else pytest.skip)(words)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Stand in front of every test that is marked `needs_server(name)`, before any of its fixtures.

    A fixture of a module or the session would else look for a server that is about to be installed.
    """
    for marker in item.iter_markers("needs_server"):
        _require_server(*marker.args)


@pytest.fixture(scope="session")
def require_server() -> Callable[[str], None]:
    """Return a function that makes sure of a server of `servers.toml`, or skips or fails the test."""
    return _require_server


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep compiled rules where they go with the tests, not in the cache of who runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def mariadb_server(require_server: Callable[[str], None]) -> Iterator[MariaDB]:
    """Return a running MariaDB, one for the session."""
    require_server("mariadb")
    from mariadb_server import mariadb  # noqa: PLC0415 - needs PyMySQL only here

    # Not below tmp_path: the name of its unix socket would grow too long.
    with tempfile.TemporaryDirectory(prefix="rl-") as folder, mariadb(Path(folder)) as server:
        yield server


@pytest.fixture(scope="session")
def repository() -> Path:
    """Return the folder that holds pyproject.toml."""
    return ROOT
