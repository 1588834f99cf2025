"""The bench, short: a real service is killed while stories are told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from relume.benchmarks import registry
from relume.benchmarks.killpoints import bench, sigkills
from relume.benchmarks.killpoints.deaths import Told
from relume.benchmarks.killpoints.sigkills import Jobs, Survived
from relume.benchmarks.result import Bar

if TYPE_CHECKING:
    import pytest


def test_a_short_run_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "DEATHS", 3)
    monkeypatch.setattr(bench, "KILLS", 1)
    monkeypatch.setattr(bench, "WORKERS", 1)
    monkeypatch.setattr(bench, "LIMIT", 3)
    monkeypatch.setattr(sigkills, "END_SECONDS", 2.0)
    result = bench.run(minutes=20.0)
    assert result.passed, result.notes
    assert result.measures["kills"] == 1
    assert Bar(">=", 3).passes(result.measures["deaths"])
    assert Bar(">=", 1).passes(result.measures["pushes_acknowledged"])


def test_a_whole_run_must_be_whole() -> None:
    told, survived = Told(deaths={"kill": 9_699}), Survived(kills=300)
    measures, bars = bench.measures(told, survived), bench.bars(is_whole=True)
    failed = [name for name, bar in bars.items() if not bar.passes(measures[name])]
    assert failed == ["deaths"]
    assert "deaths" not in bench.bars(is_whole=False)


def test_it_is_a_campaign() -> None:
    assert registry.find("kill-points").minutes


def test_jobs_train_fail_and_come_back_until_they_settle(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, seed=1, count=2)
    states = set()
    for _ in range(40):
        jobs.move()
        states |= {(job.restart_count > 0, job.state) for job in jobs.shown()}
    assert states == {(False, "RUNNING"), (True, "PENDING"), (True, "RUNNING")}
    jobs.settle()
    before = jobs.written()["1"].total()
    jobs.move()
    assert jobs.written()["1"].total() == before
    assert (tmp_path / "1.out").read_text().count("\n") == before
