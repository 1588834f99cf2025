"""`relume control` and `relume watchdog`: options, refusals, the helper printed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from relume.cli import app
from relume.errors import ConfigError, InputError, UnreachableError
from scripted import ScriptedSlurm

SCONTROL = ("--scontrol", "/opt/slurm/bin/scontrol")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in [one for one in os.environ if one.startswith(("RELUME_", "SLURM_"))]:
        monkeypatch.delenv(name)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_the_helper_is_printed_with_the_settings_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    (Path("relume.toml")).write_text('[controller]\nfolder = "state"\nslurm_conf = "/a/b.conf"\n')
    result = run("control", "install-epilog", "--print", *SCONTROL)
    assert "\nslurm_conf=/a/b.conf\n" in result.stdout
    assert f"\nfolder={Path('state').absolute()}/epilog\n" in result.stdout
    assert "\nPATH=/opt/slurm/bin:" in result.stdout
    assert "EpilogSlurmctld=" in result.stderr
    monkeypatch.setenv("RELUME_CONTROLLER__FOLDER", "/env")
    result = run("control", "install-epilog", "--print", *SCONTROL)
    assert "\nfolder=/env/epilog\n" in result.stdout
    result = run("control", "--folder", "x", "install-epilog", "--print", *SCONTROL)
    assert f"\nfolder={Path('x').absolute()}/epilog\n" in result.stdout


def test_slurm_conf_is_that_of_the_environment_when_none_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SLURM_CONF", "/from/env.conf")
    result = run("control", "install-epilog", "--print", *SCONTROL)
    assert "\nslurm_conf=/from/env.conf\n" in result.stdout


def test_the_helper_is_written_as_a_program(folder: Path) -> None:
    result = run("control", "install-epilog", "--to", "helper", *SCONTROL)
    assert result.stdout == ""
    assert f"EpilogSlurmctld={folder}/helper" in result.stderr
    assert os.access("helper", os.X_OK)


@pytest.mark.parametrize("arguments", [(), ("--print", "--to", "helper")])
def test_print_or_to(arguments: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="either --print or --to"):
        run("control", "install-epilog", *arguments, *SCONTROL)


@pytest.mark.parametrize("command", ["control", "watchdog"])
def test_act_asks_for_partitions(command: str) -> None:
    with pytest.raises(ConfigError, match=r"controller\.partitions; found none, in mode act"):
        run(command, "--mode", "act", "--once")


@pytest.mark.parametrize("command", ["control", "watchdog"])
def test_a_slurm_conf_that_is_not_there(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"controller\.slurm_conf /no/conf; found no such file"):
        run(command, "--slurm-conf", "/no/conf", "--folder", "state", "--once")
    monkeypatch.setenv("SLURM_CONF", "/no/other")
    with pytest.raises(ConfigError, match="SLURM_CONF /no/other; found no such file"):
        run(command, "--folder", "state", "--once")


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Slurm that is up, and has neither jobs nor nodes."""
    programs = tmp_path / "bin"
    programs.mkdir()
    scripted = ScriptedSlurm(programs, monkeypatch)
    scripted.answers("squeue", '{"jobs": [], "errors": []}')
    scripted.answers("scontrol show node")
    scripted.answers("scontrol show config", "ClusterName = lab\n")


@pytest.mark.usefixtures("slurm")
@pytest.mark.parametrize("mode", [("--mode", "observe"), ("--mode", "act", "-p", "gpu")])
def test_a_service_that_is_away(mode: tuple[str, ...]) -> None:
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1:9/v1/.*is .relume serve. running"):
        run("control", "--service", "http://127.0.0.1:9", "--folder", "state", "--once", *mode)


@pytest.mark.usefixtures("slurm")
def test_the_watchdog_says_what_it_did_without() -> None:
    with pytest.raises(UnreachableError, match="found no such folder; expected that of"):
        run("watchdog", "--folder", "state", "--once")
    Path("state/epilog/held").mkdir(parents=True)
    with pytest.raises(UnreachableError, match=r"journal.*found no such file"):
        run("watchdog", "--folder", "state", "--once")
    Path("state/journal.sqlite").write_text("rubbish" * 99)
    with pytest.raises(UnreachableError, match=r"journal.*not a database.*move it away"):
        run("watchdog", "--folder", "state", "--once")


def test_a_mode_that_there_is_not() -> None:
    with pytest.raises(ConfigError, match=r"flag: controller\.mode; found 'dance'"):
        run("control", "--mode", "dance", "--once")


@pytest.mark.parametrize("content", [None, "", "two words", "# a comment\n\n", "ü"])
def test_a_token_file_holds_one_word(content: str | None) -> None:
    if content is not None:
        Path("token").write_text(content)
    with pytest.raises(ConfigError, match=r"controller\.token_file token"):
        run("control", "--token-file", "token", "--folder", "state", "--once")


@pytest.mark.parametrize("command", ["control", "watchdog"])
def test_a_slurm_that_is_away(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    Path("token").write_text("\ufeff# of the controller\r\n\n  # more\nsha256:ab\nword\nanother\n")
    token = ("--token-file", "token") if command == "control" else ()
    with pytest.raises(UnreachableError, match="scontrol"):
        run(command, *token, "--folder", "state", "-p", "gpu", "--mode", "act", "--once")


@pytest.mark.parametrize("command", ["control", "watchdog"])
def test_it_runs_until_it_is_told_to_end(command: str, tmp_path: Path) -> None:
    """Slurm is away: it says so, waits for it, and ends well on SIGTERM."""
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    arguments = [sys.executable, "-m", "relume", command, "--folder", "state"]
    with subprocess.Popen(
        arguments, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert "WARNING command scontrol" in line
        process.terminate()
        assert process.wait(10) == 0


@pytest.mark.parametrize("command", ["control", "watchdog"])
def test_help(command: str) -> None:
    assert "--slurm-conf" in run(command, "--help").stdout
