"""Which files make an attempt: a file is one, a folder is one, `-` is one.

What a file is (job log, kernel log, controller log, accounting rows, dump) is told by its content,
not by its name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from relume.errors import InputError
from relume.ingest.opening import STDIN, is_binary, is_special, probe
from relume.ingest.sacct import is_sacct
from relume.ingest.skips import SkipCounts

KERNEL = "kernel"
SLURMCTLD = "slurmctld"
SACCT = "sacct"
JOB = "stdout"
_KERNEL_LINE = re.compile(
    r"^(?:\[ *\d+\.\d+\]|\[\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4}\]"
    r"|.{0,80}\bkernel: |.{0,60}\bNVRM: |<\d+>)",
    re.MULTILINE,
)
_SLURMCTLD_LINE = re.compile(
    r"^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*\] (?:error: |debug\d?: |sched: |_slurm_rpc_|Node |"
    r"Killing |validate_|node |backfill: |slurmctld |agent)",
    re.MULTILINE,
)
_MOSTLY = 0.5
"""Share of lines that decide what a file is: job logs quote kernel lines now and then."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One readable file; `form` is ``stdout``, ``kernel``, ``slurmctld`` or ``sacct``."""

    path: Path | str
    form: str

    @property
    def modified(self) -> float | None:
        """When it was last written (POSIX seconds), null for standard input."""
        return None if str(self.path) == STDIN else Path(self.path).stat().st_mtime


@dataclass(frozen=True, slots=True)
class AttemptInput:
    """The files of one attempt, job logs first, and what was left out of a folder."""

    name: str
    files: tuple[SourceFile, ...]
    skipped: SkipCounts = field(default_factory=SkipCounts)


def find_attempts(paths: Sequence[Path | str]) -> list[AttemptInput]:
    """Return one attempt for each path.

    Raises
    ------
    InputError
        For a missing, unreadable, empty or binary file, and for a folder without logs.
    """
    return [_attempt(path) for path in paths]


def form_of(start: bytes) -> str:
    r"""Tell what a log is by its first bytes.

    >>> form_of(b"[  12.345678] NVRM: loading\n[  12.345679] usb 1-1: new device\n")
    'kernel'
    """
    text = start.decode("utf-8", "replace")
    if is_sacct(text):
        return SACCT
    lines = sum(1 for line in text.splitlines() if line.strip())
    if lines and len(_KERNEL_LINE.findall(text)) > _MOSTLY * lines:
        return KERNEL
    if lines and len(_SLURMCTLD_LINE.findall(text)) > _MOSTLY * lines:
        return SLURMCTLD
    return JOB


def _attempt(path: Path | str) -> AttemptInput:
    if str(path) == STDIN:
        return AttemptInput("stdin", (SourceFile(STDIN, JOB),))
    path = Path(path)
    try:
        is_folder = path.is_dir()
        exists = path.exists()
    except OSError as error:
        raise InputError(f"cannot read {path}", found=error.strerror or str(error)) from error
    if is_folder:
        return _folder(path)
    if not exists:
        raise InputError(
            f"cannot read {path}",
            found="no such file or folder",
            expected="a log file, a folder, or - for standard input",
            hint="check the path",
        )
    return AttemptInput(str(path), (_named_file(path),))


def _named_file(path: Path) -> SourceFile:
    if is_special(path):
        return SourceFile(path, JOB)  # a pipe or process substitution that the user named
    start = probe(path)
    if not start:
        raise InputError(f"the log {path} is empty", expected="at least one line of text")
    if is_binary(start):
        raise InputError(
            f"cannot read {path} as a log",
            found="binary data",
            expected="text, or text compressed with gzip or zstd",
            hint="name the job's output file",
        )
    return SourceFile(path, form_of(start))


def _folder(folder: Path) -> AttemptInput:
    skipped = SkipCounts()
    files = [
        file for path in _walk(folder, skipped) if (file := _source(path, skipped)) is not None
    ]
    if not any(file.form != SACCT for file in files):
        found = ", ".join(f"{count} x {reason}" for reason, count in skipped.items())
        raise InputError(
            f"no log in {folder}",
            found=found or "no readable file",
            expected="at least one text file",
            hint="name the folder that holds the job's output",
        )
    files.sort(key=lambda file: (file.form != JOB, str(file.path)))
    return AttemptInput(str(folder), tuple(files), skipped)


def _walk(folder: Path, skipped: SkipCounts) -> Iterator[Path]:
    """Files below `folder`, sorted; hidden ones and links that lead out of it are left out."""
    root = folder.resolve()
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            if name.startswith("."):
                continue
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                skipped.add("link_out")
            else:
                yield path


def _source(path: Path, skipped: SkipCounts) -> SourceFile | None:
    try:
        reason = _unreadable_reason(path)
        start = b"" if reason else probe(path)
    except (OSError, InputError):
        reason, start = "unreadable", b""
    reason = reason or _content_reason(path, start)
    if reason is not None:
        skipped.add(reason)
        return None
    return SourceFile(path, form_of(start))


def _unreadable_reason(path: Path) -> str | None:
    return "special_file" if is_special(path) else None


def _content_reason(path: Path, start: bytes) -> str | None:
    if not start:
        return "empty"
    if not is_binary(start):
        return None
    is_dump = b"pg_config" in start or b"collective_seq_id" in start or "nccl_trace" in path.name
    return "dump_not_read_yet" if is_dump else "binary"
