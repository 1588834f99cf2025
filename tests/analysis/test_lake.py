"""A whole lake as frames: the generated corpus, whose truth is known."""

from __future__ import annotations

from pathlib import Path
from statistics import mean, median

import polars as pl
import pytest

from relume.analysis import charts
from relume.analysis.attempts import attempts
from relume.analysis.progress import progress
from relume.benchmarks.demo.corpus import SEED, Label, generate
from relume.benchmarks.demo.lake import demo_lake
from relume.errors import InputError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def lake(folder: Path) -> Path:
    return demo_lake(folder, [SEED])


@pytest.fixture(scope="module")
def frame(lake: Path) -> pl.DataFrame:
    return attempts(lake)


@pytest.fixture(scope="module")
def labels(folder: Path, lake: Path) -> dict[str, Label]:
    """Return the truth by the folder of an attempt's logs."""
    assert lake.exists()
    return {label.attempt: label for label in generate(folder / "again", SEED)}


def test_each_attempt_is_judged_as_it_is_labelled(
    frame: pl.DataFrame, labels: dict[str, Label]
) -> None:
    assert frame.height == len(labels)
    for row in frame.iter_rows(named=True):
        label = labels[Path(row["logs"][0]).parent.name]
        is_limit = label.domain == "scheduler"
        assert row["failed"] == (label.kind in {"crash", "hang", "straggler"} and not is_limit)
        if row["failed"]:
            assert (row["kind"], row["domain"]) == (label.kind, label.domain)


def test_a_failed_attempt_shows_its_evidence(frame: pl.DataFrame) -> None:
    [lost, *_] = frame.filter(pl.col("cause") == "gpu_lost").to_dicts()
    assert lost["evidence"][0]["text"]
    assert lost["operation"] == "RESTART_EXCLUDING"
    assert lost["exclude_nodes"] == [lost["node"]]
    assert lost["advised_at"] is not None


def test_the_progress_of_one_attempt(lake: Path, frame: pl.DataFrame) -> None:
    [row, *_] = frame.filter(
        pl.col("kind") == "straggler", pl.col("run").str.starts_with("mega")
    ).to_dicts()
    steps = progress(lake, row["attempt"])
    assert steps["step"].max() == row["last_step"]
    assert steps["gap_seconds"].null_count() == 1
    times = steps["step_seconds"].to_list()
    assert mean(times[-5:]) > 1.2 * median(times[: len(times) // 2])
    for draw in (charts.silence, charts.step_time):
        assert draw(steps).to_dict()["encoding"]["y"]


def test_an_attempt_that_is_not_there_is_refused(lake: Path) -> None:
    with pytest.raises(InputError, match="no such attempt"):
        progress(lake, "lab/1@1.0")
    with pytest.raises(InputError):
        progress(lake, "nonsense")
