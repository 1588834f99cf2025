"""How much memory processes hold, and how much there is."""

from __future__ import annotations

import os
from pathlib import Path


def machine_bytes() -> int:
    """Return the memory of this machine, or of the control group that this process is in."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(total, int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    except (OSError, ValueError):  # no such group, or no limit: "max"
        return total


def own_bytes(pid: int) -> int:
    """Return the memory of a process that no file stands behind; 0 where nobody can tell."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text("utf-8", "replace").splitlines()
    except OSError:  # it has just ended, or this is no Linux
        return 0
    return next((int(one.split()[1]) << 10 for one in lines if one.startswith("RssAnon:")), 0)


def too_much(pid: int, limit: int) -> str | None:
    """Say that a process holds more than `limit` bytes of its own; null where it doesn't."""
    held = own_bytes(pid)
    if held <= limit:
        return None
    return f"it held {held >> 20} MiB, of {limit >> 20} MiB that it may"
