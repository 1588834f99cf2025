"""A command of ours in a process of its own, watched: time, memory of its own, and what it said."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_LOOK_SECONDS = 0.02
_PATIENCE = 10.0
_TICKS = os.sysconf("SC_CLK_TCK")
_ANONYMOUS = re.compile(r"^RssAnon:\s+(\d+) kB", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Watched:
    """How a command went.

    `code` is its exit code, null where it was ended for taking too long. `anonymous_bytes` is the
    most resident memory that no file stands behind: what it holds, without libraries and caches.
    """

    code: int | None
    out: str
    error: str
    cpu_seconds: float
    wall_seconds: float
    anonymous_bytes: int
    peak_rss_bytes: int


def watch_relume(*arguments: str, limit_seconds: float) -> Watched:
    """Run ``relume ARGUMENTS`` to its end, or end it after `limit_seconds` of its CPU time.

    Both that and its memory are looked at fifty times a second (Linux only: 0 elsewhere). On a
    machine that has no time for it, it is ended after ten times as long.
    """
    command = [sys.executable, "-m", "relume", *arguments]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=error)
        peak, ended = 0, False
        while True:
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            wall = time.perf_counter() - began
            if done:
                break
            taken = max(_cpu_seconds(process.pid), wall / _PATIENCE)
            if taken > limit_seconds and not ended:
                process.kill()
                ended = True
            peak = max(peak, _anonymous_bytes(process.pid))
            time.sleep(_LOOK_SECONDS)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        return Watched(
            None if ended else code,
            _read(out),
            _read(error),
            usage.ru_utime + usage.ru_stime,
            wall,
            peak,
            usage.ru_maxrss * 1024,
        )


def _read(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode("utf-8", "replace")


def _cpu_seconds(pid: int) -> float:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:  # it has just ended, or this is no Linux
        return 0.0
    fields = text.rpartition(")")[2].split()  # its name may hold anything
    user, system = fields[11:13]
    return (int(user) + int(system)) / _TICKS


def _anonymous_bytes(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:  # it has just ended, or this is no Linux
        return 0
    found = _ANONYMOUS.search(text)
    return int(found[1]) * 1024 if found else 0
