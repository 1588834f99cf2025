from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from recording import entry, recorded
from relume.benchmarks.commands import run_relume


def test_a_command_tells_what_it_found_and_used(tmp_path: Path) -> None:
    recorded(tmp_path, entry())
    ran = run_relume("backtest", str(tmp_path))
    assert ran.document["counts"]["attempts"] == 1
    assert ran.usage.cpu_seconds > 0
    assert ran.usage.peak_rss_bytes > 1 << 20


def test_one_that_fails_is_no_measurement(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        run_relume("backtest", str(tmp_path))
