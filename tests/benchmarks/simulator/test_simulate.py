from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from relume.benchmarks.simulator.operators import BASELINE, ORACLE
from relume.benchmarks.simulator.parameters import load
from relume.benchmarks.simulator.simulate import Setting, operators_of, simulate, stored, write
from relume.errors import InputError
from relume.features.goodput.buckets import spans_of


@pytest.mark.parametrize("jobs", [None, 40])
def test_the_same_faults_meet_every_operator(jobs: int | None) -> None:
    setting = Setting(nodes=300, days=10, jobs=jobs, seed=4)
    baseline, oracle = simulate(load(), setting, [BASELINE, ORACLE])
    assert sum(baseline.shares.values()) == pytest.approx(1, abs=1e-9)
    assert baseline.recording.attempts[0][:5] == oracle.recording.attempts[0][:5]
    assert oracle.shares["productive"] >= baseline.shares["productive"]
    assert oracle.shares["detection"] == 0


def test_what_is_written_gives_the_same_spans(tmp_path: Path) -> None:
    outcomes = list(simulate(load(), Setting(nodes=64, days=20), [BASELINE]))
    written = write(outcomes, tmp_path)
    assert {path.stem for path in written} == {"attempts", "steps", "incidents", "spans"}
    read = {path.stem: pl.read_parquet(path) for path in written}
    assert spans_of(read["attempts"], read["steps"], read["incidents"]).equals(read["spans"])


@pytest.mark.parametrize(
    "wrong", [{"nodes": 1}, {"nodes": 10**9}, {"days": 0.0}, {"days": 1e9}, {"jobs": 0}]
)
def test_what_is_no_cluster_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match="expected 2 to 100000 nodes"):
        Setting(**({"nodes": 8, "days": 1.0} | wrong))  # type: ignore[arg-type]


def test_operators_that_nobody_knows_and_results_that_are_broken_say_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="operator nobody; expected one of baseline"):
        operators_of(["nobody"], tmp_path)
    with pytest.raises(InputError, match="no stored result"):
        operators_of(["relume"], tmp_path)
    (tmp_path / "loop.json").write_text("{")
    with pytest.raises(InputError, match="expected a stored result"):
        stored(tmp_path)


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "baseline").write_text("in the way")
    outcomes = list(simulate(load(), Setting(nodes=8, days=1), [BASELINE]))
    with pytest.raises(InputError, match="expected a folder that can be written"):
        write(outcomes, tmp_path)
