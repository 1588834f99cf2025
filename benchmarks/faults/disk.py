"""A data folder on a disk that is full, or that can't be written to: a tmpfs of our own."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from relume.benchmarks.faults.found import Found
from relume.benchmarks.faults.pushing import FINE, Sender, count, parts
from relume.benchmarks.serving.service import ServiceProcess
from relume.errors import UnreachableError

DISK_MIB = 24
"""Room for a ledger and its log, and not for much more."""
FIRST_PUSHES = 30
"""Of a hundred lines each, before the disk is full."""
PATIENCE_SECONDS = 120.0
_NAMED = frozenset({"runner", "ledger", "ingest", "disk"})


def can_mount() -> bool:
    """Whether this process may mount, which takes root and a kernel that lets it: it is tried."""
    if shutil.which("mount") is None:
        return False
    with tempfile.TemporaryDirectory(prefix="relume-mount-") as folder:
        try:
            with small_disk(Path(folder) / "disk", 1):
                return True
        except UnreachableError:
            return False


@contextmanager
def small_disk(folder: Path, mib: int = DISK_MIB) -> Iterator[Path]:
    """Mount a tmpfs of so many MiB on a folder.

    Raises
    ------
    UnreachableError
        When it can't be mounted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnreachableError(" ".join(command), found=done.stderr.strip())
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=False)  # noqa: S607


def full_disk(folder: Path) -> Found:
    """Fill the disk while lines are pushed, see what the service says, and give it room again."""
    found = Found("disk_full")
    with small_disk(folder / "data"), ServiceProcess(folder) as service:
        sender = Sender(service)
        sender.push_until_acknowledged(PATIENCE_SECONDS)
        for _ in range(FIRST_PUSHES):
            sender.push(100)
        ballast = service.data / "ballast"
        _fill(ballast)
        for _ in range(3):  # the first one may still find room in what is there already
            sender.push(500)
        named = _names_it(service, sender)
        found.note("named", named)
        ballast.unlink()
        sender.push_until_acknowledged(PATIENCE_SECONDS)
        found.note("recovers", 1)
        service.kill()
        count(found, sender, service.lake)
    return found


def _names_it(service: ServiceProcess, sender: Sender) -> bool:
    """Whether `/readyz` names a part that fails, within some time of pushes that are refused."""

    def is_named() -> bool:
        if sender.push(500) == FINE:
            return False
        return any(parts(service).get(name, "healthy") != "healthy" for name in _NAMED)

    with suppress(UnreachableError):
        service.process.wait_for(is_named, what="a part that fails", seconds=PATIENCE_SECONDS)
        return True
    return False


def _fill(file: Path) -> None:
    with suppress(OSError), file.open("wb", buffering=0) as out:
        while True:
            out.write(bytes(64 << 10))


def read_only(folder: Path) -> Found:
    """Start a service whose data folder can't be written to: it must say so, and end."""
    found = Found("read_only")
    data = folder / "data"
    with small_disk(data):
        subprocess.run(["mount", "-o", "remount,ro", str(data)], check=True, capture_output=True)  # noqa: S607
        service = ServiceProcess(folder)
        try:
            with service:
                found.note("refused", 0)
        except UnreachableError:
            found.note("refused", 1)
        log = folder / "serve.log"
        said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        found.note("named", str(data) in said)
        found.say(" ".join(said.split())[-300:])
    return found
