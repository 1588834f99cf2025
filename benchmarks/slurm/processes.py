"""Which processes belong to a lab, and how they are ended: only they, and all of them.

A daemon of a lab carries `MARK` in its environment, and its children inherit it; a job's processes
carry the lab's SLURM_CONF together with a job id. So what a killed daemon left behind is found as
well, and a pid that the system gave out again is never taken for ours.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from relume.errors import UnreachableError

MARK = "RELUME_SLURM_LAB"
"""Environment variable that names the root of the lab a process belongs to."""
POLL_SECONDS = 0.05
_PROC = Path("/proc")


def wait_until(condition: Callable[[], bool], *, what: str, seconds: float = 30.0) -> None:
    """Wait until `condition` holds.

    Raises
    ------
    UnreachableError
        When it doesn't within `seconds`.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise UnreachableError(
                what,
                found=f"nothing after {seconds:g} s",
                expected="it sooner",
                hint="see the folder log of the lab",
            )
        time.sleep(POLL_SECONDS)


def lab_processes(root: Path) -> dict[int, str]:
    """Return pid and program name of the living processes of the lab at `root`.

    They are those that carry its mark, and their descendants, whatever these did to their
    environment. The caller itself is never one.
    """
    pids = [int(folder.name) for folder in _PROC.iterdir() if folder.name.isdigit()]
    parents = {pid: parent for pid in pids if (parent := _living_parent(pid)) is not None}
    ours = {pid for pid in parents if _is_marked(root, environment_of(pid))}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return {pid: _program(pid) for pid in ours - {os.getpid()}}


def on_node(root: Path, node: str) -> set[int]:
    """Return the processes of the jobs that run on a node of the lab, slurmstepd included."""
    ours = lab_processes(root)
    in_jobs = {pid for pid in ours if environment_of(pid).get("SLURMD_NODENAME") == node}
    parents = {_living_parent(pid) for pid in in_jobs}
    return in_jobs | {pid for pid, name in ours.items() if pid in parents and name == "slurmstepd"}


def end(root: Path, pids: Iterable[int], *, grace_seconds: float) -> None:
    """Ask processes of the lab to end, and kill those that still run after `grace_seconds`."""
    waiting = send(root, pids, signal.SIGTERM)
    deadline = time.monotonic() + grace_seconds
    while waiting and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        waiting = {pid for pid in waiting if _living_parent(pid) is not None}
    send(root, waiting, signal.SIGKILL)


def send(root: Path, pids: Iterable[int], number: signal.Signals) -> set[int]:
    """Send a signal to those of `pids` that (still) are the lab's; return these."""
    ours = set(pids) & lab_processes(root).keys()
    for pid in ours:
        with suppress(ProcessLookupError):  # ended between the two
            os.kill(pid, number)
    return ours


def environment_of(pid: int) -> dict[str, str]:
    """Return the variables that a process began with; none for one that is gone or another's."""
    pairs = _read(pid, "environ").decode(errors="replace").split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def _is_marked(root: Path, variables: Mapping[str, str]) -> bool:
    in_job = variables.get("SLURM_CONF") == f"{root}/etc/slurm.conf" and "SLURM_JOB_ID" in variables
    return variables.get(MARK) == str(root) or in_job


def _living_parent(pid: int) -> int | None:
    """Return the parent of a process, null if it is gone or waits to be collected."""
    state, parent, *_ = (*_read(pid, "stat").rpartition(b")")[2].split(), b"", b"")
    return int(parent) if state not in {b"", b"Z", b"X"} else None


def _read(pid: int, name: str) -> bytes:
    try:
        return (_PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""


def _program(pid: int) -> str:
    return _read(pid, "comm").decode(errors="replace").strip()
