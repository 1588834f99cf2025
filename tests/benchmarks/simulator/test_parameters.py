from __future__ import annotations

from pathlib import Path

import pytest

from relume.benchmarks.simulator.parameters import PUBLISHED, file_hash, load
from relume.errors import InputError


def write(folder: Path, old: str, new: str) -> Path:
    path = folder / "other.toml"
    path.write_text(PUBLISHED.read_text().replace(old, new))
    return path


def test_most_failures_are_tied_to_nodes() -> None:
    assert load().node_weight == pytest.approx(321 / 419)


def test_sites_may_have_their_own(tmp_path: Path) -> None:
    path = write(tmp_path, "per_node_day = 0.0038", "per_node_day = 0.014")
    assert load(path).faults.per_node_day == 0.014
    assert file_hash(path) != file_hash()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("again_share = 0.33", "again_share = 1.5", "faults.again_share; found .*less than 1"),
        ("node_size = 1.6", "", "faults.node_size; found Field required"),
        ("[run]", "[run]\nrestart_minutes = 5", "run.restart_minutes; found Extra inputs"),
        ("[run]", "[run", "expected a TOML file"),
    ],
)
def test_wrong_ones_are_refused_by_name(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        load(write(tmp_path, old, new))


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load(tmp_path / "none.toml")
