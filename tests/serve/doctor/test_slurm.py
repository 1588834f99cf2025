"""What the doctor says of Slurm, by commands that print what real ones print."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from relume.clock import ManualClock, from_iso
from relume.errors import UnreachableError
from relume.serve.doctor import slurm as doctor
from relume.serve.doctor.finding import Finding

UP = "Slurmctld(primary) at ctl1 is UP"
CONFIG = """Configuration data as of 2026-06-01T12:00:00
AccountingStorageType   = accounting_storage/slurmdbd
AccountingStoreFlags    = job_comment
ClusterName             = lab
MinJobAge               = 300 sec
SLURM_VERSION           = 22.05.8
"""
CLOCK = ManualClock(from_iso("2026-06-01T12:00:01Z"))


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all commands of Slurm; `scontrol` answers from files beside it."""
    for name in doctor.COMMANDS:
        script = tmp_path / name
        script.write_text(f'#!/bin/sh\nexec cat "{tmp_path}/$1.txt"\n')
        script.chmod(0o755)
    (tmp_path / "ping.txt").write_text(UP)
    (tmp_path / "show.txt").write_text(CONFIG)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def looked(cluster: str = "lab") -> list[Finding]:
    return list(doctor.slurm(cluster, "/etc/slurm/slurm.conf", CLOCK))


def bad(found: Iterable[Finding]) -> list[tuple[str, str]]:
    lines = [one for one in found if one.status != "ok"]
    assert all(one.fix for one in lines)
    return [(one.check, one.status.value) for one in lines]


def test_a_slurm_that_is_fine_is_fine(commands: Path) -> None:
    assert commands.is_dir()
    assert bad(looked()) == []
    assert bad(looked("")) == []
    assert "release 22.05" in " ".join(one.words for one in looked())


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        ("= lab", "= other", "failing"),
        ("22.05.8", "21.08.8", "warning"),
        ("300 sec", "10 sec", "warning"),
        ("job_comment", "(null)", "warning"),
        ("accounting_storage/slurmdbd", "accounting_storage/none", "warning"),
    ],
)
def test_a_setting_that_stands_in_the_way_is_told(
    commands: Path, before: str, after: str, status: str
) -> None:
    (commands / "show.txt").write_text(CONFIG.replace(before, after))
    assert bad(looked()) == [("slurm", status)]


def test_a_clock_that_is_off_is_told(commands: Path) -> None:
    (commands / "show.txt").write_text(CONFIG.replace("12:00:00", "12:10:00"))
    assert bad(looked()) == [("clock", "failing")]


def test_a_release_that_nobody_can_read_is_unknown(commands: Path) -> None:
    (commands / "show.txt").write_text(CONFIG.replace("22.05.8", "next").replace("data as", ""))
    assert [one.status for one in looked() if one.status != "ok"] == ["unknown"]


def test_a_slurmctld_that_is_down_is_unreachable(commands: Path) -> None:
    (commands / "ping.txt").write_text("Slurmctld(primary) at ctl1 is DOWN\n")
    [found] = looked()
    assert (found.is_unreachable, "DOWN" in found.words) == (True, True)


def test_a_command_that_hangs_is_unreachable(
    commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (commands / "scontrol").write_text("#!/bin/sh\nexec sleep 600\n")
    monkeypatch.setattr(doctor, "TIMEOUT_SECONDS", 0.1)
    with pytest.raises(UnreachableError, match="scontrol ping"):
        looked()


def test_a_machine_without_slurm_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert bad(looked()) == [("slurm", "unknown")]
