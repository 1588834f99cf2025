"""The program as a process: standard streams that are closed, help, exit codes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from relume.cli import app, main

CLOSE_AND_RUN = """
import os, sys
os.close(int(sys.argv[1]))
os.execv(sys.executable, [sys.executable, "-m", "relume", *sys.argv[2:]])
"""


def without(descriptor: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `relume` with a standard stream closed, as `<&-` and `>&-` do."""
    command = [sys.executable, "-c", CLOSE_AND_RUN, str(descriptor), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments", [["version"], ["--help"], ["diagnose", "x", "--json"]])
def test_a_closed_standard_output_is_one_message(arguments: list[str]) -> None:
    result = without(1, *arguments)
    assert result.returncode == 2
    assert result.stderr == "relume: cannot write the output; found a closed standard output\n"


@pytest.mark.parametrize("arguments", [["diagnose", "-"], ["diagnose", "--cases", "-"]])
def test_a_closed_standard_input_is_one_message(arguments: list[str]) -> None:
    result = without(0, *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("relume: cannot read standard input; found a closed stream; ")
    assert result.stderr.count("\n") == 1


def test_a_closed_standard_error_costs_the_messages_only(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("hello\n")
    result = without(2, "diagnose", str(tmp_path / "a.log"), str(tmp_path / "missing"))
    assert (result.returncode, result.stderr) == (2, "")
    assert "verdict  unknown" in result.stdout


def test_a_name_that_the_terminal_cannot_show_is_printed_all_the_same(tmp_path: Path) -> None:
    config = tmp_path / "\N{SNOWMAN}.toml"
    config.touch()
    result = subprocess.run(
        [sys.executable, "-m", "relume", "config", "check", config.name],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("\\u2603.toml: right, ")


def commands(command: object, *above: str) -> Iterator[tuple[str, ...]]:
    yield above
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, *above, name)


@pytest.mark.parametrize("words", list(commands(typer.main.get_command(app))), ids=" ".join)
def test_help_that_was_asked_for_exits_0(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, [*words, "--help"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("Usage: ")


@pytest.mark.parametrize("words", [[], ["rules"], ["config"], ["bench"]])
def test_a_command_that_is_missing_is_bad_usage(words: list[str]) -> None:
    result = CliRunner().invoke(app, words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Usage: ")


def test_a_reader_that_leaves_ends_it_without_a_word() -> None:
    command = [sys.executable, "-m", "relume", "rules", "list"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_the_command_line_as_a_library_leaves_signals_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = signal.getsignal(signal.SIGPIPE)
    monkeypatch.setattr(sys, "argv", ["relume", "version"])
    with pytest.raises(SystemExit):
        main()
    assert signal.getsignal(signal.SIGPIPE) is before
