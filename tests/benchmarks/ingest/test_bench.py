from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from relume.benchmarks.ingest import bench
from relume.benchmarks.registry import find
from relume.errors import InputError


def test_it_measures_the_command_and_counts_what_kills_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    small = {"QUICK_LINES": 2000, "LINES_AN_ATTEMPT": 500, "KILL_LINES": 2000, "QUICK_KILLS": 1}
    for name, value in small.items():
        monkeypatch.setattr(bench, name, value)
    result = find("ingest").run(None, quick=True)
    assert result.id == "ingest-quick"
    assert result.measures["lines"] == pytest.approx(2000, rel=0.2)
    assert result.measures["kills"] == 1
    assert result.peak_rss_bytes > 50e6
    measures = {name: result.measures[name] for name in result.bars}
    passed = {name for name, bar in result.bars.items() if bar.passes(measures[name])}
    assert passed >= result.bars.keys() - {"mb_per_cpu_second"}  # the start counts most here


def test_too_little_disk_is_said_before_anything_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    full = shutil.disk_usage("/")._replace(free=1_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    with pytest.raises(InputError, match=r"found 0\.0 GB of free disk; expected 0\.4 GB"):
        bench.run(Path(), quick=True)
