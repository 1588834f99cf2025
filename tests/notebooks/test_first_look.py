"""The first notebook runs, without an error in any cell, and shows the numbers of its lake."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from relume.benchmarks.demo.corpus import SEED, generate
from relume.benchmarks.demo.lake import demo_lake

ATTEMPTS, FAILED = 31, 19


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def lake(folder: Path) -> Path:
    return demo_lake(folder, [SEED])


@pytest.fixture
def notebook(repository: Path) -> Path:
    return repository / "notebooks" / "first_look.py"


def run(notebook: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(sys, "argv", [str(notebook), *arguments])
    spec = importlib.util.spec_from_file_location("first_look", notebook)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    _, values = module.app.run()
    return dict(values)


def test_it_shows_a_lake_that_the_environment_names(
    notebook: Path, folder: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = generate(folder / "again", SEED)
    failed = [
        label
        for label in labels
        if label.kind in {"crash", "hang", "straggler"} and label.domain != "scheduler"
    ]
    monkeypatch.setenv("RELUME_LAKE", str(lake))
    values = run(notebook, [], monkeypatch)
    assert values["lake"] == lake
    assert not values["is_demo"]
    assert values["totals"]["attempts"] == len(labels)
    assert values["totals"]["failed"] == values["failures"].height == len(failed)
    assert values["totals"]["cause unknown"] == values["totals"]["without a log"] == 0
    assert values["causes"]["failures"].sum() == len(failed)
    assert values["nodes"]["blamed"].sum() == values["failures"]["node"].drop_nulls().len()
    # One lake, two ways to read it: what SQL counts is what was judged.
    assert set(values["landed"]["attempt"]) <= {*values["attempts"]["attempt"], "of a node"}
    assert values["detail"][0]["attempt"] == values["choice"].value
    assert values["evidence"].height == len(values["detail"][0]["evidence"])


def program(notebook: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(notebook), *arguments],
        check=False,
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "RELUME_LAKE"},
    )


def test_as_a_program_it_prints_the_counts(notebook: Path, lake: Path) -> None:
    done = program(notebook, "--lake", str(lake))
    assert done.returncode == 0
    assert done.stdout.startswith(f"{ATTEMPTS} attempts, ")
    assert f"{FAILED} failed, 0 cause unknown, 0 without a log" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--lake", "/nowhere"), "lake /nowhere; found no journal"),
        (("--lake",), "--lake; found no value"),
        (("--lake", ""), "--lake; found no value"),
        (("--lake=",), "--lake; found no value"),
    ],
)
def test_a_lake_that_is_none_is_one_message(
    notebook: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = program(notebook, *arguments)
    assert done.returncode == 2
    assert not done.stdout
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_as_a_program_it_says_that_a_cluster_is_simulated(notebook: Path) -> None:
    done = program(notebook)
    assert done.returncode == 0
    assert "simulated" in done.stdout.splitlines()[0]


def test_without_a_lake_it_makes_a_simulated_one(
    notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RELUME_LAKE", raising=False)
    values = run(notebook, [], monkeypatch)
    assert values["is_demo"]
    assert values["totals"]["attempts"] == 3 * ATTEMPTS
    assert values["repeats"]["in_a_row"].max() == 3
    values["demo_folder"].cleanup()
