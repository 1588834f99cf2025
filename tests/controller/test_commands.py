"""The runner, on programs that behave as a healthy Slurm never would."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from relume.benchmarks.slurm.processes import wait_until
from relume.controller.commands import SlurmCommands
from relume.errors import UnreachableError


def _run(code: str) -> str:
    return SlurmCommands(max_output_bytes=1 << 20).run([sys.executable, "-c", code]).stdout


def test_both_outputs_and_the_exit_code_come_back() -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    argv = (sys.executable, "-c", code)
    done = SlurmCommands().run(argv)
    assert (done.argv, done.exit_code) == (argv, 3)
    assert (done.stdout, done.stderr) == ("out\n", "err\n")


def test_text_that_is_not_utf_8_is_replaced() -> None:
    assert _run(r"import os; os.write(1, b'a\xff\nb\r\n')") == "a\ufffd\nb\r\n"


def test_a_command_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    script = f"/bin/sleep 600 & echo $! > {tmp_path}/pid; wait"
    with pytest.raises(UnreachableError, match="no end; expected an answer within 1 s"):
        SlurmCommands(timeout_seconds=1).run(["/bin/sh", "-c", script])
    child = Path("/proc", (tmp_path / "pid").read_text().strip(), "stat")
    # Killed, or already collected: a state of Z is the end too.
    wait_until(lambda: not child.exists() or ") Z " in child.read_text(), what="end of the child")


def test_a_command_that_closes_its_outputs_and_stays_is_killed() -> None:
    with pytest.raises(UnreachableError, match="timed out"):
        SlurmCommands(timeout_seconds=1).run(["/bin/sh", "-c", "exec >&- 2>&-; sleep 600"])


@pytest.mark.parametrize("descriptor", [1, 2])
def test_a_command_that_prints_without_end_is_killed(descriptor: int) -> None:
    code = f"import os\nwhile True: os.write({descriptor}, b'x' * 65536)"
    with pytest.raises(UnreachableError, match="more output than that"):
        _run(code)


def test_a_missing_program_is_an_answer_of_nobody() -> None:
    with pytest.raises(UnreachableError, match="clients on PATH"):
        SlurmCommands().run(["relume-no-such-program"])


def test_slurm_gets_the_configuration_and_no_other_steering(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SLURM_CONF", "/from/environment")
    monkeypatch.setenv("SLURM_TIME_FORMAT", "relative")
    monkeypatch.setenv("SQUEUE_FORMAT", "%i")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    argv = [sys.executable, "-c", "import os; print(dict(os.environ))"]
    given = SlurmCommands(tmp_path / "slurm.conf").run(argv).stdout
    assert f"'SLURM_CONF': '{tmp_path}/slurm.conf'" in given
    assert "'SLURM_TIME_FORMAT': 'standard'" in given
    assert "'TZ': 'UTC'" in given
    assert "SQUEUE_FORMAT" not in given
    inherited = SlurmCommands().run(argv).stdout
    assert "'SLURM_CONF': '/from/environment'" in inherited
    monkeypatch.delenv("SLURM_CONF")
    assert "SLURM_CONF" not in SlurmCommands().run(argv).stdout
