from __future__ import annotations

from pathlib import Path

import pytest

from relume.benchmarks.ingest.corpus import make_recording
from relume.ingest.datasets import Dataset
from relume.verdict import Kind


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return make_recording(tmp_path_factory.mktemp("made") / "set", lines=4000, attempts=20)


def test_it_has_the_lines_that_were_asked_for(recording: Dataset) -> None:
    files = [Path(log.path) for entry in recording.attempts() for log in entry.files]
    texts = [path.read_bytes() for path in files]
    assert len(files) == 20
    for text in texts:
        # A redraw of a bar is a line; an ending may have a hundred.
        assert 200 <= text.count(b"\n") + text.count(b"\r") < 400
    assert len(set(texts)) == 20


def test_every_fourth_attempt_fails_and_is_labelled(recording: Dataset) -> None:
    entries = list(recording.attempts())
    assert [bool(entry.incidents) for entry in entries] == [n % 4 == 3 for n in range(20)]
    for entry in entries:
        for incident in entry.incidents or ():
            assert incident.onset is not None
            assert entry.start is not None
            assert entry.end is not None
            assert entry.start < incident.onset < entry.end or incident.kind is not Kind.HANG
            assert set(incident.culprit_nodes) <= set(entry.nodes)
        assert entry.state == ("COMPLETED" if not entry.incidents else entry.state)


def test_no_node_is_of_two_attempts(recording: Dataset) -> None:
    nodes = [node for entry in recording.attempts() for node in entry.nodes]
    assert len(nodes) == len(set(nodes))
    assert {log.node for log in recording.node_logs} <= set(nodes)
    assert recording.node_logs


def test_a_seed_gives_the_same_again(tmp_path: Path) -> None:
    first, again, other = (
        make_recording(tmp_path / str(number), lines=400, attempts=4, seed=seed)
        for number, seed in enumerate((1, 1, 2))
    )
    assert first.digest() == again.digest() != other.digest()
    for entry, same in zip(first.attempts(), again.attempts(), strict=True):
        for log, copy in zip(entry.files, same.files, strict=True):
            assert Path(log.path).read_bytes() == Path(copy.path).read_bytes()
