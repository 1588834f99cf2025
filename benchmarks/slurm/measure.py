"""What reading a queue costs, in the forms that Slurm offers: the table in `docs/slurm.md`."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median

from relume.benchmarks.slurm.lab import SlurmLab
from relume.controller.reader import SlurmReader

REPEATS = 7
COMMENT = "x" * 1000
"""About the longest that Slurm allows."""
_FORMS = {
    "squeue --json": ("squeue", "--json", "--all", "--states=all"),
    "squeue --format": ("squeue", "-h", "-t", "all", "-o", "%i|%T|%r|%N|%n|%x|%V|%S|%e|%k|%u"),
    "scontrol show job --oneliner": ("scontrol", "show", "job", "--oneliner"),
}


def measure(lab: SlurmLab, jobs: int) -> dict[str, float]:
    """Fill the queue of a running lab with held jobs, and time each way to read it.

    Returns
    -------
    dict
        Milliseconds, the median of `REPEATS`, of each form, and of a whole snapshot (ping, jobs,
        nodes and configuration, parsed).
    """
    for _ in range(jobs):
        lab.submit("true", "--hold", f"--comment={COMMENT}")
    reader = SlurmReader(slurm_conf=lab.slurm_conf)
    results = {name: _milliseconds(partial(lab.run, *command)) for name, command in _FORMS.items()}
    results["SlurmReader.snapshot"] = _milliseconds(reader.snapshot)
    lab.cancel_jobs()
    return results


def _milliseconds(call: Callable[[], object]) -> float:
    taken = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        taken.append((time.perf_counter() - start) * 1000)
    return median(taken)
