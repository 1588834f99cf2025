"""The benches `progress` and `memory`: what they read, and what they store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from relume.benchmarks import memory
from relume.benchmarks.progress import bench
from relume.benchmarks.result import read, store

if TYPE_CHECKING:
    import pytest


def test_a_log_is_made_of_steps() -> None:
    blocks = list(bench.blocks_of("megatron", 1 << 20))
    lines = b"".join(block.data for block in blocks).splitlines()
    assert sum(len(block.data) for block in blocks) >= 1 << 20
    assert sum(b"] iteration " in line for line in lines) > len(lines) - 10


def test_a_quick_look_measures_every_framework(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "QUICK_SIZE", 3_000_000)
    record = read(store(bench.run(None, quick=True), tmp_path))
    rates = {f"{name}_mb_per_cpu_second" for name in bench.FRAMEWORKS}
    assert rates < set(record["measures"])
    assert record["measures"]["mb_per_cpu_second"] > 0


def test_memory_is_measured_on_a_large_and_a_small_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "QUICK_SIZE", 20_000_000)
    record = read(store(memory.run(None, quick=True), tmp_path))
    assert record["pass"]
    assert record["measures"]["small_log_anonymous_bytes"] > 0
