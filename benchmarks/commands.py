"""Commands in processes of their own, watched: time, memory of their own, and what they said."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from relume.benchmarks.machine import Usage, status_bytes

_LOOK_SECONDS = 0.02
_PATIENCE = 10.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Watched:
    """How a command went.

    `code` is its exit code, null where it was ended for taking too long. `anonymous_bytes` is the
    most resident memory that no file stands behind: what it holds, without libraries and caches.
    `peak_rss_bytes` is the most of all: of the program, not of the process that it was made from.
    """

    code: int | None
    out: str
    error: str
    cpu_seconds: float
    wall_seconds: float
    anonymous_bytes: int
    peak_rss_bytes: int

    @property
    def usage(self) -> Usage:
        """What it used, its start included."""
        return Usage(self.cpu_seconds, self.wall_seconds, self.peak_rss_bytes)


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command printed as JSON, and what it used, its start included."""

    document: dict[str, Any]
    usage: Usage


def run_relume(*arguments: str) -> Ran:
    """Run ``relume ARGUMENTS --json`` to its end.

    Raises
    ------
    subprocess.CalledProcessError
        When it fails; what it said is on stderr then.
    """
    one = watch_relume(*arguments, "--json")
    sys.stderr.write(one.error)
    if one.code:
        raise subprocess.CalledProcessError(one.code, ["relume", *arguments], one.out, one.error)
    return Ran(json.loads(one.out), one.usage)


def watch_relume(*arguments: str, limit_seconds: float = math.inf) -> Watched:
    """Watch ``relume ARGUMENTS``."""
    return watch([sys.executable, "-m", "relume", *arguments], limit_seconds=limit_seconds)


def watch(command: Sequence[str], *, limit_seconds: float = math.inf) -> Watched:
    """Run a command to its end, or end it after `limit_seconds` of its CPU time.

    Both that and its memory are looked at fifty times a second (Linux only: elsewhere the time is
    0, and the peak that of the process). On a machine that has no time for it, it is ended after
    ten times as long.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=error)
        anonymous, peak, ended = 0, 0, False
        while True:
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            wall = time.perf_counter() - began
            if done:
                break
            taken = max(_cpu_seconds(process.pid), wall / _PATIENCE)
            if taken > limit_seconds and not ended:
                process.kill()
                ended = True
            memory = status_bytes(process.pid)
            anonymous = max(anonymous, memory.get("RssAnon", 0))
            peak = max(peak, memory.get("VmHWM", 0))
            time.sleep(_LOOK_SECONDS)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        return Watched(
            None if ended else code,
            _read(out),
            _read(error),
            usage.ru_utime + usage.ru_stime,
            wall,
            anonymous,
            peak or usage.ru_maxrss * 1024,
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
