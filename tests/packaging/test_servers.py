"""The switch RELUME_TEST_SERVERS: install, skip or fail when a server is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

SERVERS = """
[present]
commands = ["sh"]
packages = ["dash"]

[absent]
commands = ["relume-no-such-server"]
packages = ["relume-no-such-package"]
"""
TEST = """
import pytest

@pytest.mark.needs_server("{server}")
def test_something() -> None:
    pass
"""
# Stands in for apt, on the way to a package that nobody has.
APT = """#!{bin}/sh
if [ "$1" = install ]; then
  printf '%s ' "$@" >"{bin}/installed"
  ln -s sh "{bin}/relume-no-such-server"
fi
"""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root installs packages")
# A fixture that is made once a module looks for the server before any fixture of the test.
EAGER = """
import shutil
import pytest

@pytest.fixture(scope="module", autouse=True)
def server() -> str:
    found = shutil.which("relume-no-such-server")
    assert found is not None, "made before the gate"
    return found

@pytest.mark.needs_server("absent")
def test_something(server: str) -> None:
    pass
"""
Run = Callable[[str, str], pytest.RunResult]


@pytest.fixture
def tools(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH: it has `sh` and `ln`, and no apt."""
    folder = pytester.mkdir("bin")
    for name in ("sh", "ln"):
        (folder / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def run(
    pytester: pytest.Pytester, repository: Path, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Run, under our conftest, a test that needs a server, with the switch in a given position."""
    assert tools.is_dir()
    pytester.makeconftest((repository / "tests" / "conftest.py").read_text())
    (pytester.path / "servers.toml").write_text(SERVERS)
    pytester.makeini("[pytest]\nmarkers = needs_server(name): needs a server\naddopts = -rs\n")

    def run_one(server: str, mode: str) -> pytest.RunResult:
        monkeypatch.setenv("RELUME_TEST_SERVERS", mode)
        pytester.makepyfile(TEST.format(server=server))
        return pytester.runpytest_inprocess("-p", "no:randomly", "-p", "no:cacheprovider")

    return run_one


@pytest.mark.parametrize("mode", ["install", "skip", "require"])
def test_a_server_that_is_there_is_used(run: Run, mode: str) -> None:
    run("present", mode).assert_outcomes(passed=1)


@pytest.mark.parametrize("mode", ["install", "skip"])
def test_a_missing_server_is_one_line_of_what_to_install(run: Run, mode: str) -> None:
    result = run("absent", mode)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        "SKIPPED *server absent: relume-no-such-server not found"
        " (apt-get install relume-no-such-package)"
    )


def test_require_forbids_skipping(run: Run) -> None:
    result = run("absent", "require")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines("*server absent: relume-no-such-server not found*")


@as_root
@pytest.mark.parametrize("mode", ["install", "require"])
def test_root_on_apt_installs_what_is_missing(run: Run, tools: Path, mode: str) -> None:
    (tools / "apt-get").write_text(APT.format(bin=tools))
    (tools / "apt-get").chmod(0o755)
    run("absent", mode).assert_outcomes(passed=1)
    assert (tools / "installed").read_text() == "install -q -y relume-no-such-package "


@pytest.mark.parametrize("mode", ["install", "skip"])
def test_no_fixture_is_made_before_the_gate(run: Run, pytester: pytest.Pytester, mode: str) -> None:
    run("present", mode)
    pytester.makepyfile(test_eager=EAGER)
    result = pytester.runpytest_inprocess(
        "-p", "no:randomly", "-p", "no:cacheprovider", "-k", "eager"
    )
    result.assert_outcomes(skipped=1, deselected=1)


@as_root
def test_a_fixture_of_a_module_finds_what_the_gate_installed(
    run: Run, tools: Path, pytester: pytest.Pytester
) -> None:
    (tools / "apt-get").write_text(APT.format(bin=tools))
    (tools / "apt-get").chmod(0o755)
    run("present", "require")
    pytester.makepyfile(test_eager=EAGER)
    result = pytester.runpytest_inprocess(
        "-p", "no:randomly", "-p", "no:cacheprovider", "-k", "eager"
    )
    result.assert_outcomes(passed=1, deselected=1)


@as_root
def test_skip_installs_nothing(run: Run, tools: Path) -> None:
    (tools / "apt-get").write_text(APT.format(bin=tools))
    (tools / "apt-get").chmod(0o755)
    run("absent", "skip").assert_outcomes(skipped=1)
    assert not (tools / "installed").exists()


def test_an_unknown_position_of_the_switch_is_an_error(run: Run) -> None:
    result = run("present", "perhaps")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines("*'perhaps', expected install, skip or require*")
