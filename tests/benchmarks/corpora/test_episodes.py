"""The generated failures as a data set: one folder each, which `relume diagnose` reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from relume.benchmarks.corpora import episodes
from relume.benchmarks.corpora.registry import find
from relume.benchmarks.episodes.generate import Episode
from relume.benchmarks.episodes.generate import find as find_episode
from relume.ingest.attempts import find_attempts
from relume.ingest.datasets import read_dataset
from relume.verdict import Kind

NAMES = ("node_lost-known-00", "time_limit-known-01", "laggard_silent-other-08")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> list[Episode]:
    """Fewer of them, so that the test takes no seconds."""
    made = [find_episode(name) for name in NAMES]
    monkeypatch.setattr(episodes, "episodes", lambda: iter(made))
    return made


def test_no_recording_is_needed(few: list[Episode], tmp_path: Path) -> None:
    find("episodes").write(None, tmp_path / "out")
    entries = list(read_dataset(tmp_path / "out").attempts())
    assert [entry.name for entry in entries] == list(NAMES)
    for episode, entry in zip(few, entries, strict=True):
        assert {Path(file.path).name for file in entry.files} == {
            Path(name).name for name in episode.files if name != "sacct.txt"
        }
        assert find_attempts([tmp_path / "out" / "logs" / str(entry.name)])


def test_labels_become_incidents_but_for_what_the_scheduler_ended(
    few: list[Episode], tmp_path: Path
) -> None:
    episodes.write(None, tmp_path / "out")
    lost, limit, hang = read_dataset(tmp_path / "out").attempts()
    assert limit.incidents == ()
    assert lost.incidents is not None
    assert hang.incidents is not None
    assert lost.incidents[0].culprit_nodes == (few[0].label.node,)
    assert hang.incidents[0].kind is Kind.HANG
    assert hang.incidents[0].watchdog
