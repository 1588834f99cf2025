from __future__ import annotations

import platform
import subprocess
import sys

from relume.benchmarks.machine import describe, measured, peak_rss_bytes, reference_rate


def test_measured_returns_the_value_and_what_it_took() -> None:
    value, usage = measured(lambda: sum(range(200_000)))
    assert value == sum(range(200_000))
    assert 0 < usage.cpu_seconds < 60
    assert 0 < usage.wall_seconds < 60
    # At least an interpreter; in bytes, so below what the machine can have.
    assert 5e6 < usage.peak_rss_bytes <= peak_rss_bytes() < 1e12


def test_the_description_decides_speed_and_tells_no_names() -> None:
    facts = describe()
    assert {"cpus", "processor", "python", "hyperscan", "google-re2", "msgspec", "pyarrow"} == set(
        facts
    )
    assert facts["python"] == platform.python_version()


def test_the_reference_is_a_rate() -> None:
    assert 10 < reference_rate(rounds=1) < 1e6


def test_the_memory_of_a_parent_is_not_counted() -> None:
    large = bytearray(300 << 20)
    for place in range(0, len(large), 4096):
        large[place] = 1
    code = "from relume.benchmarks.machine import peak_rss_bytes as peak; print(peak())"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert int(told.stdout) < len(large) < peak_rss_bytes()
