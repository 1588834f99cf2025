"""`relume doctor` and a real Slurm: what its commands print is what the doctor reads."""

from __future__ import annotations

import pytest

from relume.benchmarks.slurm.lab import SlurmLab
from relume.clock import SystemClock
from relume.serve.doctor.slurm import slurm as doctor

pytestmark = pytest.mark.needs_server("slurm")


def test_a_real_slurm_is_read(slurm: SlurmLab) -> None:
    found = list(doctor("", str(slurm.slurm_conf), SystemClock()))
    words = [one.words for one in found]
    assert "slurmctld answers" in words
    assert any(text.startswith("release ") for text in words)
    assert [one.status for one in found if one.check == "clock"] == ["ok"]
    assert not [one for one in found if one.status in {"failing", "unknown"}]


def test_another_name_of_the_cluster_fails(slurm: SlurmLab) -> None:
    found = doctor("elsewhere", str(slurm.slurm_conf), SystemClock())
    assert [one.status for one in found if "ClusterName" in one.words] == ["failing"]
