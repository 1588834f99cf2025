"""What a bench ran on and what it used: CPU seconds, peak memory, a reference rate."""

from __future__ import annotations

import gc
import os
import platform
import re
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

REFERENCE_MB_PER_SECOND = 11_577.0
"""memchr of an absent byte, one core, where the engines were chosen (engine measurements)."""
VOID_BELOW = 0.7
"""A run on a machine slower than this share of the reference does not count."""
_SIZES = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)
_LIBRARIES = ("hyperscan", "google-re2", "msgspec", "pyarrow")


@dataclass(frozen=True, slots=True)
class Usage:
    """Resources used by a call."""

    cpu_seconds: float
    wall_seconds: float
    peak_rss_bytes: int


def measured(call: Callable[[], T]) -> tuple[T, Usage]:
    """Run `call` and return its value with the CPU and wall time it took and the peak memory."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    value = call()
    usage = Usage(time.process_time() - cpu, time.perf_counter() - wall, peak_rss_bytes())
    return value, usage


def peak_rss_bytes() -> int:
    """Largest resident memory of this program so far.

    Of the program, not of the process: `getrusage` keeps the largest of what ran in the process
    before `exec`, which may be a large parent that forked (proc_pid_status(5), VmHWM).
    """
    peak = status_bytes("self").get("VmHWM")
    return peak or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def status_bytes(process: int | str) -> dict[str, int]:
    """Return the sizes in the status of a process; none where it has ended, or without Linux."""
    try:
        text = Path(f"/proc/{process}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return {name: int(size) * 1024 for name, size in _SIZES.findall(text)}


def too_slow(reference: float) -> str | None:
    """Why a run on this machine doesn't count, by its `reference_rate`; null where it does."""
    is_slow = reference < VOID_BELOW * REFERENCE_MB_PER_SECOND
    return "the machine was slower than 70 % of the reference" if is_slow else None


def describe() -> dict[str, str | int]:
    """Processor, Python and the libraries that decide speed; no host name, no path."""
    facts: dict[str, str | int] = {
        "cpus": os.cpu_count() or 0,
        "processor": _processor(),
        "python": platform.python_version(),
    }
    return facts | {name: version(name) for name in _LIBRARIES}


def reference_rate(rounds: int = 5) -> float:
    """MB per CPU-second of scanning 64 MiB for an absent byte: the machine's own speed today."""
    data = b"a" * (64 << 20)
    rates = []
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(8):
            data.find(b"\x00")
        rates.append(8 * len(data) / 1e6 / max(time.process_time() - start, 1e-9))
    return statistics.median(rates)


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else platform.machine()
