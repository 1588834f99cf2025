"""What bench `hostile` feeds, and what it says of a run."""

# ruff: noqa: SLF001 - what is said of a run is tested without an hour of runs

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

from relume.benchmarks.commands import Watched, watch_relume
from relume.benchmarks.hostile import bench, inputs
from relume.benchmarks.hostile.patterns import FIELDS, PATTERNS, log, rule_file
from relume.benchmarks.result import read, store
from relume.models.signatures.loader import read_rules


def test_logs_hold_what_they_are_named_for(tmp_path: Path) -> None:
    size, path = 3 << 20, tmp_path / "log"
    assert b"\n" not in b"".join(islice(inputs.no_newline(), 2))
    assert inputs.write_pieces(path, 2 * size, inputs.nuls(size)) == path.stat().st_size
    assert path.read_bytes().count(b"\0") == size
    assert path.read_bytes().endswith(b"memory access was encountered\n")


@pytest.mark.parametrize("name", inputs.WAVES)
def test_a_wave_has_its_lines_and_no_two_of_a_rank_are_the_same(name: str) -> None:
    lines = b"".join(inputs.wave(name, 500)).splitlines()[-500:]
    assert len(set(lines)) == 500


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("field", FIELDS)
def test_each_pattern_is_refused_for_itself_or_holds(
    pattern: str, field: str, tmp_path: Path
) -> None:
    path = tmp_path / "site.toml"
    path.write_text(rule_file(pattern, field), encoding="utf-8")
    rules, errors = read_rules([path], packaged=False)
    assert [rule.id for rule in rules] == ([] if errors else ["own_rule"])
    assert all(f"field {field};" in str(error) for error in errors)


def test_the_lines_are_longer_than_what_backtracking_bears() -> None:
    assert max(map(len, log().splitlines())) > 4_000


def test_a_command_is_watched_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    path.write_bytes(b"".join(inputs.nuls(1 << 20)))
    one = watch_relume("diagnose", "--json", str(path), limit_seconds=120.0)
    assert one.code == 1
    assert json.loads(one.out)
    assert one.anonymous_bytes < one.peak_rss_bytes
    assert one.cpu_seconds > 0.0


def test_a_command_that_takes_too_long_is_ended() -> None:
    one = watch_relume("diagnose", "--help", limit_seconds=0.0)
    assert one.code is None
    assert one.cpu_seconds < 60.0


def test_a_crash_is_told_from_an_answer() -> None:
    def ran(code: int | None, error: str = "") -> Watched:
        return Watched(code, "", error, 0.0, 0.0, 0, 0)

    crashes = [bench._is_crash(one) for one in (ran(0), ran(1), ran(2), ran(None))]
    assert crashes == [False] * 4
    assert bench._is_crash(ran(-11))
    assert bench._is_crash(ran(1, "Traceback (most recent call last):"))


def test_a_quick_look_goes_through_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "SIZE", 50 << 20)
    monkeypatch.setattr(bench, "WAVE_LINES", 5_000)
    monkeypatch.setattr(bench, "PATTERNS", {"(a|a)*b": "aab", "[": "a["})
    record = read(store(bench.run(None, quick=True), tmp_path))
    assert record["pass"]
    assert set(record["bars"]) <= set(record["measures"])
    assert record["measures"]["patterns_refused"] == 0  # the first of three is no mistake
