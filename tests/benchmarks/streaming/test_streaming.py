"""Streaming models beside their baselines: the same data for both, and who counts as better."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from relume.benchmarks.streaming import alarms, calibration, nodes
from relume.benchmarks.streaming.bench import RIVALS, Rival, beats
from relume.models.hang.settings import HangSettings


def test_every_model_judges_the_same_vectors_at_the_same_price() -> None:
    rows = nodes.table(1600)
    assert set(rows) == set(nodes.MODELS)
    for row in rows.values():
        assert 0.0 <= row["false_share"] < 0.03
        assert 0.0 <= row["recall"] <= 1.0


@pytest.mark.parametrize("fault", nodes.Fault)
def test_a_fault_changes_a_node_under_load(fault: nodes.Fault) -> None:
    well, ill = nodes.healthy(2000, 1), nodes.faulty(fault, 2000, 1)
    busy = well[well[:, 0] > 0.9]
    moved = np.abs(ill.mean(axis=0) - busy.mean(axis=0)) / busy.std(axis=0)
    assert moved.max() > 2.0
    assert np.isfinite(ill).all()


@pytest.mark.parametrize("find", calibration.MODELS.values(), ids=list(calibration.MODELS))
@pytest.mark.parametrize("move", [0.9, 1.1])
def test_both_see_that_the_usual_moved(find: calibration.Finder, move: float) -> None:
    draws = np.random.default_rng(2)
    values = 5.0 * draws.normal(1.0, 0.01, 4000)
    assert find(values) is None
    values[2000:] *= move
    found = find(values)
    assert found is not None
    assert 2000 <= found < 2600


def test_suspicions_of_days_that_end_in_a_hang_are_right_and_wrong() -> None:
    found = list(alarms.outcomes(2, HangSettings.of_budget()))
    assert {one.was_right for one in found} == {True, False}
    assert all(np.isfinite(list(one.features.values())).all() for one in found)
    assert len({tuple(one.features) for one in found}) == 1


def test_estimates_are_scored_by_what_came() -> None:
    sure = alarms.Sure([(1.0, True), (0.0, False), (0.5, True)])
    assert sure.measures()["brier"] == pytest.approx(0.25 / 3, abs=1e-5)


@pytest.mark.parametrize(
    ("model", "is_better"),
    [
        ({"recall": 0.9, "false": 0.01}, True),
        ({"recall": 0.9, "false": 0.10}, False),
        ({"recall": 0.5, "false": 0.0}, False),
        ({"recall": 0.2, "false": 0.0}, False),
    ],
)
def test_better_is_who_finds_more_and_costs_no_more(
    model: dict[str, float], *, is_better: bool
) -> None:
    rows = {"new": model, "baselines": {"recall": 0.5, "false": 0.01}}
    assert beats(rows, Rival("new", "recall", more=True, cost="false")) is is_better


def test_what_has_not_beaten_its_baseline_is_used_nowhere(repository: Path) -> None:
    """`docs/streaming.md` says that they are off; whoever wires one in changes both."""
    text = (repository / "docs" / "streaming.md").read_text()
    assert all(f"| off | `{rival.model}` |" in text for rival in RIVALS.values())
    folders = ("serve", "controller", "src/relume/cli")
    lines = {
        (str(path.relative_to(repository)), line.strip())
        for folder in folders
        for path in (repository / folder).rglob("*.py")
        for line in path.read_text().splitlines()
        if "models.streaming" in line
    }
    beside = "from relume.models.streaming.alarms import AlarmJudge"  # it has, and is asked for
    assert lines == {("serve/trackrecord.py", beside)}
