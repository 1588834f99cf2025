"""The guarded actuator, with a scontrol that answers as it is told; tests/e2e has the real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from relume.controller.actuator import SlurmBusyError
from relume.controller.guarded import GuardedActuator


@pytest.fixture
def scontrol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that says that slurmctld is UP, and does what the file `order` says."""
    program = tmp_path / "scontrol"
    program.write_text(
        "#!/bin/sh\n"
        '[ "$1" != ping ] || { echo "Slurmctld(primary) at x is UP"; exit 0; }\n'
        f'echo "$@" >>{tmp_path}/calls\n. {tmp_path}/order\n'
    )
    program.chmod(0o755)
    (tmp_path / "order").write_text("exit 0")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def test_slurm_itself_is_to_look(scontrol: Path) -> None:
    door = GuardedActuator()
    assert door.requeue_hold_running("12_3").exit_code == 0
    assert (scontrol / "calls").read_text() == "requeuehold Incomplete 12_3\n"
    assert door.mutations == 1


def test_a_refusal_says_so(scontrol: Path) -> None:
    (scontrol / "order").write_text("echo 'Invalid job id' >&2; exit 1")
    with pytest.raises(SlurmBusyError, match="Incomplete 7; found exit code 1: Invalid job id"):
        GuardedActuator().requeue_hold_running("7")


def test_no_answer_is_no_refusal(scontrol: Path) -> None:
    (scontrol / "order").write_text("exec sleep 30")
    door = GuardedActuator(timeout_seconds=0.3)
    with pytest.raises(SlurmBusyError, match="no end"):
        door.requeue_hold_running("7")
    assert door.mutations == 1
