"""Benches `load` and `latency`, tiny, with a real service: all is counted, all is heard of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from relume.benchmarks import latency
from relume.benchmarks.load.bench import Seen, Size, load, measures
from relume.benchmarks.load.sending import Generator, Sent, Target, sample_bodies
from relume.errors import RelumeError

ROWS = ("lost_samples", "lost_lines", "doubled_samples", "doubled_lines")


def test_what_is_acknowledged_is_in_the_lake_and_a_failure_is_heard_of(tmp_path: Path) -> None:
    found: dict[str, Any] = measures(load(tmp_path, Size(4.0, nodes=60, jobs=5, ramp_seconds=0.5)))
    assert {name: found[name] for name in ROWS} == dict.fromkeys(ROWS, 0)
    assert found["samples_acknowledged"] == 50 * 240  # one body
    assert found["lines_acknowledged"] > 4 * 5 * 100
    assert (found["decisions"], found["without_decision"]) == (1, 0)


def test_what_is_lost_or_doubled_is_told() -> None:
    seen = Seen(samples=Sent(rows=10, seconds=2.0), lines=Sent(rows=5, seconds=1.0))
    seen.crashes = {"lab/1@1.0": 5.0, "lab/2@1.0": 6.0}
    seen.heard = {"lab/1@1.0": 5.25}
    seen.landed = {"sample": 9, "log_line": 9}
    found = measures(seen)
    assert [found[name] for name in ROWS] == [1, 0, 0, 2]
    assert (found["samples_per_second"], found["event_to_decision_p99_seconds"]) == (5.0, 0.25)
    assert (found["decisions"], found["without_decision"]) == (1, 1)


def test_the_first_advice_is_heard_of_and_the_settled_one(tmp_path: Path) -> None:
    heard = latency.hear(tmp_path, 1, settle_seconds=0.5)
    found: dict[str, Any] = latency.measures(heard)
    assert found["without_advice"] == 0
    assert 0 < found["first_p50_seconds"] <= found["settled_p50_seconds"]


def test_advice_that_never_came_is_told() -> None:
    heard = latency.Heard(crashed={"lab/1@1.0": 3.0, "lab/2@1.0": 4.0}, first={"lab/1@1.0": 3.5})
    found = latency.measures(heard)
    assert (found["first_largest_seconds"], found["without_advice"]) == (0.5, 2)
    assert found["settled_p50_seconds"] == float("inf")


def test_a_generator_that_fails_says_so() -> None:
    target = Target("http://127.0.0.1:9", "/api/v1/write", "none", 1.0)
    with pytest.raises(RelumeError, match="generator"):
        Generator(sample_bodies, target, nodes=2000).result()
