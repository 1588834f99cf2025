"""A command of ours in a process of its own, and what it used."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

from relume.benchmarks.machine import Usage


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command printed as JSON, and what it used, its start included."""

    document: dict[str, Any]
    usage: Usage


def run_relume(*arguments: str) -> Ran:
    """Run ``relume ARGUMENTS --json`` to its end.

    The memory is that of the largest process that this one has waited for so far.

    Raises
    ------
    subprocess.CalledProcessError
        When it fails.
    """
    command = [sys.executable, "-m", "relume", *arguments, "--json"]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Ran(json.loads(done.stdout), Usage(cpu, wall, after.ru_maxrss * 1024))
