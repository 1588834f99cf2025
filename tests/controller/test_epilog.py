"""The EpilogSlurmctld helper, run by sh with a scontrol that only notes what it is asked.

tests/e2e lets a real slurmctld run it; here are the states that a real one can't be brought to.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from relume.controller.folder import ControllerFolder
from relume.controller.install import epilog_script

COMMENT = '{"relume": {"run": "opus"}}'
FAR = 4_000_000_000 * 1_000_000
SHOWN = """JobId=7 JobName=train
   UserId=ada(1000) GroupId=ada(1000) MCS_label=N/A
   Priority=100 Nice=0 Account=(null) QOS=(null)
   JobState=COMPLETING Reason={reason} Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=1:0
   Comment=JobState=RUNNING Reason=None"""
NOTED = "NonZeroExitCode", "JobLaunchFailure", "RaisedSignal:9(Killed)", "OutOfMemory"
SHOW, HOLD = "show job {}", "requeuehold {}"


class Helper:
    """The installed helper, its folder, and a scontrol that writes down its arguments."""

    def __init__(self, path: Path) -> None:
        self.folder = ControllerFolder(path / "state")
        self.folder.prepare()
        self.folder.close()
        self._calls = path / "calls"
        self._bin = path / "bin"
        self._bin.mkdir()
        self.decide("hold 7 0")
        self.scontrol(SHOWN.format(reason="NonZeroExitCode"))
        text = epilog_script(self.folder.path, "/x/slurm.conf", scontrol=f"{self._bin}/scontrol")
        self._script = path / "helper"
        self._script.write_text(text)

    def decide(self, *lines: str, until: int = FAR) -> None:
        self.folder.write_decisions(lines, until)

    def scontrol(self, answer: str, *, then: str = "exit 0") -> None:
        (self._bin / "answer").write_text(answer)
        program = self._bin / "scontrol"
        program.write_text(
            f'#!/bin/sh\necho "$SLURM_CONF $*" >>{self._calls}\n'
            f"case $1 in show) cat {self._bin}/answer ;; esac\n{then}\n"
        )
        program.chmod(0o755)

    def run(self, **environ: str | None) -> list[str]:
        """Run it as slurmctld does; return what it asked scontrol."""
        given = {"SLURM_JOB_ID": "7", "SLURM_JOB_COMMENT": COMMENT, **environ}
        done = subprocess.run(
            ["/bin/sh", self._script],
            env={name: value for name, value in given.items() if value is not None},
            check=False,
            capture_output=True,
            text=True,
            timeout=10,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        calls = self._calls.read_text().splitlines() if self._calls.exists() else []
        assert all(one.startswith("/x/slurm.conf ") for one in calls)
        return [one.removeprefix("/x/slurm.conf ") for one in calls]

    @property
    def notes(self) -> list[tuple[str, int]]:
        return [(one.job_id, one.restart_count) for one in self.folder.notes()]


@pytest.fixture
def helper(tmp_path: Path) -> Helper:
    return Helper(tmp_path)


@pytest.mark.parametrize("reason", NOTED)
def test_a_job_that_ended_badly_is_held_with_two_commands(helper: Helper, reason: str) -> None:
    helper.scontrol(SHOWN.format(reason=reason))
    assert helper.run() == ["show job 7", "requeuehold 7"]
    assert helper.notes == [("7", 0)]
    assert helper.folder.wake_stamp() > 0


@pytest.mark.parametrize("reason", ["None", "TimeLimit", "NodeDown", "JobHeldUser", ""])
def test_other_ends_are_left_alone(helper: Helper, reason: str) -> None:
    helper.scontrol(SHOWN.format(reason=reason))
    assert helper.run() == ["show job 7"]
    assert helper.notes == []
    assert helper.folder.wake_stamp() == 0


@pytest.mark.parametrize("reason", ["None", "NonZeroExitCode"])
@pytest.mark.parametrize("before", ["JobName=train", "Comment=x"])
def test_a_name_or_comment_that_pretends_holds_nothing(
    helper: Helper, reason: str, before: str
) -> None:
    shown = SHOWN.format(reason=reason)
    assert before.partition("=")[0] in shown
    forged = f"{before}\n   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)"
    helper.scontrol(shown.replace(f"{before.partition('=')[0]}=", f"{forged}\n   ", 1))
    assert helper.run() == ["show job 7"]
    assert helper.notes == []


def test_a_time_limit_counts_when_the_comment_asks(helper: Helper) -> None:
    helper.scontrol(SHOWN.format(reason="TimeLimit"))
    helper.decide("limit 7 0")
    assert helper.run() == ["show job 7", "requeuehold 7"]
    helper.scontrol(SHOWN.format(reason="None"))
    assert helper.run()[2:] == ["show job 7"]


@pytest.mark.parametrize("comment", [None, "", "debug", '{"owner": "ada"}', "relume", "APS"])
def test_without_opt_in_it_asks_nothing(helper: Helper, comment: str | None) -> None:
    assert helper.run(SLURM_JOB_COMMENT=comment) == []


def test_both_spellings_are_looked_at(helper: Helper) -> None:
    comment = '{"APS": {"auto_resume_mode": "requeue"}}'
    assert helper.run(SLURM_JOB_COMMENT=comment) == ["show job 7", "requeuehold 7"]


@pytest.mark.parametrize(
    "lines",
    [(), ("stop 7 0",), ("hold 7 1",), ("hold 8 0",), ("hold 70 0",), ("hold 7 0 x",), ("hold",)],
)
def test_only_decided_attempts_are_held(helper: Helper, lines: tuple[str, ...]) -> None:
    helper.decide("hold 1 0", *lines, "limit 2 0")
    assert helper.run() == []


def test_the_attempt_is_told_by_its_restarts(helper: Helper) -> None:
    helper.decide("hold 7 2")
    assert helper.run(SLURM_JOB_RESTART_COUNT="2") == ["show job 7", "requeuehold 7"]
    assert helper.notes == [("7", 2)]


def test_a_task_of_an_array_goes_by_array_and_index(helper: Helper) -> None:
    helper.decide("hold 6_1 0")
    calls = helper.run(SLURM_ARRAY_JOB_ID="6", SLURM_ARRAY_TASK_ID="1")
    assert calls == ["show job 6_1", "requeuehold 6_1"]
    assert helper.notes == [("6_1", 0)]


@pytest.mark.parametrize("until", [0, 1_000_000_000 * 1_000_000])
def test_old_decisions_hold_nothing(helper: Helper, until: int) -> None:
    helper.decide("hold 7 0", until=until)
    assert helper.run() == []


def breaks_decisions(helper: Helper) -> None:
    (helper.folder.epilog / "decisions").write_bytes(b"until x\n\0\xff\nhold 7 0\n")


def loses_decisions(helper: Helper) -> None:
    helper.folder.clear_decisions()


def loses_folder(helper: Helper) -> None:
    helper.folder.clear_decisions()
    (helper.folder.epilog / "held").rmdir()
    helper.folder.epilog.rmdir()


@pytest.mark.parametrize("mishap", [breaks_decisions, loses_decisions, loses_folder])
def test_without_decisions_it_holds_nothing(
    helper: Helper, mishap: Callable[[Helper], None]
) -> None:
    mishap(helper)
    assert helper.run() == []


def test_no_note_no_hold(helper: Helper) -> None:
    (helper.folder.epilog / "held").rmdir()
    assert helper.run() == ["show job 7"]


def test_slurm_that_refuses_holds_nothing(helper: Helper) -> None:
    helper.scontrol("slurm_load_jobs error: Invalid job id specified", then="exit 1")
    assert helper.run() == ["show job 7"]
    helper.scontrol("something else")
    assert helper.run()[1:] == ["show job 7"]


def test_a_slurm_that_hangs_is_given_up(helper: Helper) -> None:
    helper.scontrol(SHOWN.format(reason="NonZeroExitCode"), then="exec sleep 30")
    began = time.monotonic()
    assert helper.run() == ["show job 7"]
    assert time.monotonic() - began < 2


def test_a_name_can_not_speak_for_slurm(helper: Helper) -> None:
    spoof = "JobName=JobState=X Reason=NonZeroExitCode"
    helper.scontrol(SHOWN.format(reason="None").replace("JobName=train", spoof))
    assert helper.run() == ["show job 7"]


def test_many_decisions_are_read_in_time(helper: Helper) -> None:
    helper.decide(*(f"hold {number} 0" for number in range(100, 20_000)), "hold 7 0")
    began = time.monotonic()
    assert helper.run() == ["show job 7", "requeuehold 7"]
    assert time.monotonic() - began < 2
