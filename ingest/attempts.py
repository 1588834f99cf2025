"""Which files make an attempt: a file is one, a folder is one, `-` is one.

What a file is (job log, kernel log, controller log, accounting rows, dump) is told by its content,
not by its name. Names only keep out what is no log: hidden files, source code, documents.
Dumps are no logs: they stand apart.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from relume.errors import InputError
from relume.ingest.dumps.forms import dump_form
from relume.ingest.forms import JOB, KERNEL, SACCT, SLURMCTLD, form_of, form_of_file
from relume.ingest.opening import (
    STDIN,
    is_binary,
    is_special,
    probe,
    probe_stdin,
    refuse_special,
)
from relume.ingest.skips import SkipCounts, printable_name

__all__ = ["JOB", "KERNEL", "SACCT", "SLURMCTLD", "AttemptInput", "SourceFile", "find_attempts"]

_SOURCES = {".c", ".cc", ".cpp", ".cu", ".cuh", ".go", ".h", ".hpp", ".js", ".py", ".rs"}
_SCRIPTS = {".cfg", ".ini", ".ipynb", ".sbatch", ".sh", ".toml", ".yaml", ".yml"}
_DOCUMENTS = {".css", ".diff", ".html", ".md", ".patch", ".rst"}
NO_LOGS = frozenset(_SOURCES | _SCRIPTS | _DOCUMENTS)
"""Suffixes of what a folder holds besides logs: the errors in such texts never happened."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One readable file; `form` is what `relume.ingest.forms.form_of` tells.

    Of a dump it is what `relume.ingest.dumps.forms.dump_form` tells.
    """

    path: Path | str
    form: str

    @property
    def modified(self) -> float | None:
        """When it was last written (POSIX seconds), null for standard input or when it is gone."""
        if str(self.path) == STDIN:
            return None
        try:
            return Path(self.path).stat().st_mtime
        except OSError:
            return None


@dataclass(frozen=True, slots=True)
class AttemptInput:
    """The files of one attempt, job logs first, its dumps, and what was left out of a folder."""

    name: str
    files: tuple[SourceFile, ...]
    skipped: SkipCounts = field(default_factory=SkipCounts)
    dumps: tuple[SourceFile, ...] = ()


def find_attempts(paths: Sequence[Path | str]) -> list[AttemptInput]:
    """Return one attempt for each path.

    The first 64 KiB of each file are read. A folder is read with the folders in it, its files in
    the order of their names; links that lead out of it are not followed.

    Raises
    ------
    InputError
        For a missing, unreadable, empty or binary file, and for a folder without logs.
    """
    return [_attempt(path) for path in paths]


def _attempt(path: Path | str) -> AttemptInput:
    if str(path) == STDIN:
        return AttemptInput("stdin", (SourceFile(STDIN, _stdin_form()),))
    path = Path(path)
    if not _is_utf8(path):
        raise InputError(
            f"cannot read {printable_name(path)}",
            found="a name that is no UTF-8",
            expected="a name that can be printed",
            hint="rename it, or pass it on standard input with -",
        )
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except OSError as error:
        raise InputError(
            f"cannot read {path}",
            found=(error.strerror or str(error)).lower(),
            expected="a log file, a folder, or - for standard input",
            hint="check the path",
        ) from error
    return _folder(path) if is_folder else _named(path)


def _named(path: Path) -> AttemptInput:
    """Return a file that was named as an attempt: a log, or a dump."""
    if is_special(path):
        return AttemptInput(str(path), (_named_file(path),))
    start = probe(path)
    form = dump_form(start)
    if form is not None:
        return AttemptInput(str(path), (), dumps=(SourceFile(path, form),))
    _check_text(start, str(path))
    return AttemptInput(str(path), (SourceFile(path, form_of_file(path.name, start)),))


def _stdin_form() -> str:
    start = probe_stdin()
    if start is None:
        return JOB
    _check_text(start, "standard input")
    return form_of(start)


def _named_file(path: Path) -> SourceFile:
    refuse_special(path)
    return SourceFile(path, JOB)  # a process substitution: it can be read only once


def _check_text(start: bytes, name: str) -> None:
    if not start:
        raise InputError(f"the log {name} is empty", expected="at least one line of text")
    if is_binary(start):
        raise InputError(
            f"cannot read {name} as a log",
            found="binary data",
            expected="text, or text compressed with gzip or zstd",
            hint="name the job's output file",
        )


def _folder(folder: Path) -> AttemptInput:
    skipped = SkipCounts()
    found = [
        (SourceFile(path, form), is_dump)
        for path in _members(folder, skipped)
        for form, is_dump in _forms(path, skipped)
    ]
    files = [file for file, is_dump in found if not is_dump]
    dumps = [file for file, is_dump in found if is_dump]
    if not found:
        raise InputError(
            f"no log in {folder}",
            found=str(skipped) or "no readable file",
            expected="at least one text file",
            hint="name the folder that holds the job's output",
        )
    files.sort(key=lambda file: (file.form != JOB, str(file.path)))
    return AttemptInput(str(folder), tuple(files), skipped, tuple(dumps))


def _members(folder: Path, skipped: SkipCounts) -> Iterator[Path]:
    """Files below `folder`, each once, whatever links name it besides."""
    seen: set[tuple[int, int]] = set()
    for path in sorted(_walk(folder, skipped), key=lambda path: (path.is_symlink(), path)):
        try:
            status = path.stat()
        except OSError:
            skipped.add("unreadable", file=path)
            continue
        if (status.st_dev, status.st_ino) in seen:
            skipped.add("same_file", file=path)
            continue
        seen.add((status.st_dev, status.st_ino))
        yield path


def _walk(folder: Path, skipped: SkipCounts) -> Iterator[Path]:
    """Files below `folder`; hidden ones and links that lead out of it are left out."""
    root = folder.resolve()

    def unreadable(error: OSError) -> None:
        skipped.add("unreadable", file=error.filename)

    for place, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        links = [name for name in folders if Path(place, name).is_symlink()]
        for name in (*names, *links):
            path = Path(place, name)
            if name.startswith("."):
                continue
            if path.is_symlink() and not _leads_inside(path, root):
                skipped.add("link_out", file=path)
            elif name in names:
                yield path


def _leads_inside(link: Path, root: Path) -> bool:
    try:
        return link.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError):
        return False  # leads nowhere, or round in circles


def _forms(path: Path, skipped: SkipCounts) -> Iterator[tuple[str, bool]]:
    """What a file of a folder is, and whether a dump; nothing when it is left out, and counted."""
    try:
        reason = _outer_reason(path)
        start = b"" if reason else probe(path)
    except (OSError, InputError):
        reason, start = "unreadable", b""
    dump = None if reason else dump_form(start)
    reason = reason or (None if dump else content_reason(start))
    if reason is None:
        yield (dump, True) if dump else (form_of_file(path.name, start), False)
    else:
        skipped.add(reason, file=path)


def _outer_reason(path: Path) -> str | None:
    if not _is_utf8(path):
        return "name_not_utf8"
    if path.suffix.lower() in NO_LOGS:
        return "not_a_log"
    return "special_file" if is_special(path) else None


def content_reason(start: bytes) -> str | None:
    """Return why a file with these first bytes is no log, null when it is one."""
    if not start:
        return "empty"
    if dump_form(start) is not None:
        return "dump"
    return "binary" if is_binary(start) else None


def _is_utf8(path: Path) -> bool:
    """Whether a name can be printed; other bytes are surrogates, which no JSON holds."""
    return str(path).isascii() or not any(
        "\ud800" <= character <= "\udfff" for character in str(path)
    )
