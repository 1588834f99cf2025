"""The actuator's commands and errors; what they do to a real Slurm: tests/e2e."""

from __future__ import annotations

from pathlib import Path

import pytest

from relume.controller.actuator import (
    Order,
    SlurmActuator,
    SlurmBusyError,
    SlurmError,
    SlurmRefusedError,
    command,
)
from relume.errors import InputError, Permanent, Retryable
from scripted import ScriptedSlurm


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedSlurm:
    slurm = ScriptedSlurm(tmp_path, monkeypatch)
    slurm.answers("scontrol")
    slurm.answers("scancel")
    return slurm


def test_each_order_is_the_command_that_a_dry_run_shows(scripted: ScriptedSlurm) -> None:
    door = SlurmActuator()
    done = [
        door.requeue_hold("12_3"),
        door.requeue_hold_running("12_3"),
        door.requeue("12"),
        door.release("12+1"),
        door.set_exclude("12+1", ["n2", "n1"]),
        door.set_exclude("12", []),
        door.set_admin_comment("12", "a 'b' $c é"),
        door.cancel("12+0"),
    ]
    orders = [call for call in scripted.calls() if call != "scontrol ping"]
    assert orders == [" ".join(one.argv) for one in done]
    assert [one.argv for one in done] == [
        command(Order.REQUEUE_HOLD, "12_3"),
        command(Order.REQUEUE_HOLD_RUNNING, "12_3"),
        command(Order.REQUEUE, "12"),
        command(Order.RELEASE, "12"),
        command(Order.EXCLUDE, "12+1", "n[1-2]"),
        command(Order.EXCLUDE, "12"),
        command(Order.ADMIN_COMMENT, "12", "a 'b' $c é"),
        command(Order.CANCEL, "12"),
    ]
    assert door.mutations == 8


@pytest.mark.parametrize("job_id", ["", "0", "-1", "12 13", "12_", "all", "12_[1-3]", "--help"])
def test_what_is_no_job_id_never_reaches_slurm(scripted: ScriptedSlurm, job_id: str) -> None:
    door = SlurmActuator()
    with pytest.raises(InputError, match="job id"):
        door.cancel(job_id)
    with pytest.raises(InputError, match="job id"):
        door.requeue_hold_running(job_id)
    assert (door.mutations, scripted.calls()) == (0, [])


@pytest.mark.parametrize("text", ["x" * 1025, "two\nlines", "\x00"])
def test_an_admin_comment_is_one_line_within_bounds(scripted: ScriptedSlurm, text: str) -> None:
    with pytest.raises(InputError, match="AdminComment"):
        SlurmActuator().set_admin_comment("12", text)
    assert scripted.calls() == []


@pytest.mark.parametrize("nodes", [["n1,n2"], ["n1 State=x"], ["n[1-2]"], [""]])
def test_what_is_no_node_name_never_reaches_slurm(
    scripted: ScriptedSlurm, nodes: list[str]
) -> None:
    with pytest.raises(InputError, match="hostlist"):
        SlurmActuator().set_exclude("12", nodes)
    assert scripted.calls() == []


# What scontrol and scancel of 22.05 print.
@pytest.mark.parametrize(
    ("stderr", "kind"),
    [
        ("Invalid job id specified for job 99999", SlurmRefusedError),
        ("Job is pending execution for job 12", SlurmRefusedError),
        ("Job is no longer pending execution for job 12", SlurmRefusedError),
        ("Requested operation is presently disabled for job 12", SlurmRefusedError),
        ("Access/permission denied for job 12", SlurmRefusedError),
        ("Job has already finished for job 12", SlurmRefusedError),
        ("Invalid node name specified for job 12", SlurmRefusedError),
        ("slurm_suspend error: Unexpected message received", SlurmBusyError),
        ("Unable to contact slurm controller (connect failure)", SlurmBusyError),
        ("Socket timed out on send/recv operation", SlurmBusyError),
        ("Munge encode failed: Failed to access … (Did you start munged?)", SlurmBusyError),
        ("Slurm controller in standby mode for job 12", SlurmBusyError),
    ],
)
def test_a_refusal_is_final_and_trouble_is_not(
    scripted: ScriptedSlurm, stderr: str, kind: type[SlurmError]
) -> None:
    scripted.answers("scontrol", stderr=f"{stderr}\n", exit_code=1)
    door = SlurmActuator()
    with pytest.raises(SlurmError) as caught:
        door.release("12")
    assert type(caught.value) is kind
    assert isinstance(caught.value, Permanent) is not isinstance(caught.value, Retryable)
    assert stderr in str(caught.value)
    assert str(caught.value).startswith("order release for job 12; found exit code 1: ")
    assert caught.value.done is not None
    assert caught.value.done.stderr == f"{stderr}\n"
    assert door.mutations == 1


def test_without_slurmctld_no_order_is_sent(scripted: ScriptedSlurm) -> None:
    scripted.answers("scontrol ping", "Slurmctld(primary) at a is DOWN\n", exit_code=1)
    door = SlurmActuator()
    with pytest.raises(SlurmBusyError, match="DOWN") as caught:
        door.cancel("12")
    assert caught.value.done is None
    assert door.mutations == 0
    assert scripted.calls() == ["scontrol ping"]


def test_an_order_without_an_answer_counts_and_may_have_been_taken(
    scripted: ScriptedSlurm,
) -> None:
    scripted.hangs("scancel")
    door = SlurmActuator(timeout_seconds=1)
    with pytest.raises(SlurmBusyError, match=r"no end; expected .*; read the job back"):
        door.cancel("12")
    assert door.mutations == 1
