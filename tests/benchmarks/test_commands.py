from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from recording import entry, recorded
from relume.benchmarks.commands import run_relume, watch
from relume.benchmarks.machine import peak_rss_bytes


def test_a_command_tells_what_it_found_and_used(tmp_path: Path) -> None:
    recorded(tmp_path, entry())
    ran = run_relume("backtest", str(tmp_path))
    assert ran.document["counts"]["attempts"] == 1
    assert ran.usage.cpu_seconds > 0
    assert ran.usage.peak_rss_bytes > 1 << 20


def test_the_memory_of_the_bench_is_not_counted() -> None:
    large = bytearray(300 << 20)
    for place in range(0, len(large), 4096):
        large[place] = 1
    one = watch([sys.executable, "-c", "import time; time.sleep(0.2)"])
    assert 1 << 20 < one.peak_rss_bytes < len(large) < peak_rss_bytes()


def test_one_that_fails_is_no_measurement(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        run_relume("backtest", str(tmp_path))
