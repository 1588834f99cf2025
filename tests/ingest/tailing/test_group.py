"""Many files: nobody starves, and a budget holds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from relume.ingest.tail import Tailer
from relume.ingest.tailing.group import TailGroup


def make_group(folder: Path, sizes: dict[str, int]) -> TailGroup:
    group = TailGroup()
    for name, size in sizes.items():
        (folder / name).write_bytes(b"x" * (size - 1) + b"\n")
        group.add(name, Tailer(folder / name))
    return group


def test_a_round_polls_everybody_once(tmp_path: Path) -> None:
    group = make_group(tmp_path, {"a": 5, "b": 7, "c": 9})
    results = dict(group.poll())
    assert {key: result.position.offset for key, result in results.items()} == {
        "a": 5,
        "b": 7,
        "c": 9,
    }
    group.close()
    assert len(group) == 0


def test_one_loud_file_takes_its_share_only(tmp_path: Path) -> None:
    group = make_group(tmp_path, {"loud": 100_000, "b": 10, "c": 10})
    read: Counter[str] = Counter()
    for _ in range(3):
        for key, result in group.poll(budget_bytes=1000):
            read[key] = result.position.offset
    assert read["b"] == read["c"] == 10
    assert 1000 <= read["loud"] <= 3000
    group.close()


def test_the_budget_is_not_overspent(tmp_path: Path) -> None:
    group = make_group(tmp_path, dict.fromkeys("abcdef", 400))
    first = [key for key, _ in group.poll(budget_bytes=1000)]
    assert first == ["a", "b", "c"]
    assert [key for key, _ in group.poll(budget_bytes=1000)][:3] == ["d", "e", "f"]
    offsets = [group[key].position.offset for key in "abcdef"]
    assert sum(offsets) <= 2000
    group.close()


def test_tails_come_and_go_during_a_round(tmp_path: Path) -> None:
    group = make_group(tmp_path, {"a": 5, "b": 5})
    seen = []
    for key, _ in group.poll():
        seen.append(key)
        group.discard("b")
        group.add("late", Tailer(tmp_path / "a"))
    assert seen == ["a"]
    assert "b" not in group
    assert "late" in group
    assert group.discard("b") is None
    group.close()
