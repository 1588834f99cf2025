"""Open a log that somebody else named.

The path of a job's output file is the job's to choose, and it may be changed while we look: a link
to ``/etc/shadow``, a pipe that never ends, another user's file. What is opened is checked after it
is open, never only before.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from relume.errors import InputError

_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
"""Not blocking: opening a pipe would wait for somebody to write."""
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


def open_log(path: Path | str, roots: Sequence[Path | str], uid: int | None) -> int:
    """Open a log that a job names; return its file descriptor, to be closed by the caller.

    Links are followed only where they stay below one of `roots`, and none that is put in place
    while this looks.

    Parameters
    ----------
    path
        Absolute path.
    roots
        Folders below which logs may be read.
    uid
        Who must own the file: the job's user. Null leaves that unchecked.

    Raises
    ------
    InputError
        For a path outside of the roots, a file of somebody else, and what is no regular file.
    OSError
        When the file isn't there or can't be opened.
    """
    text = os.fspath(path)
    if not text.startswith("/") or "\0" in text:
        raise _refused(text, found="a path that isn't absolute", expected="an absolute path")
    real = Path(os.path.realpath(text, strict=True))
    root = next((root for root in _real_paths(roots) if real.is_relative_to(root)), None)
    if root is None:
        raise _refused(
            text,
            found=f"a file outside of the folders that may be read: {real}",
            expected=f"a file below {', '.join(map(str, roots)) or 'a configured folder'}",
        )
    return _checked(_open_below(root, real.relative_to(root).parts, text), text, uid)


def open_trusted(path: Path | str) -> int:
    """Open a log that the configuration names, links followed; return its file descriptor.

    Raises
    ------
    InputError
        For what is no regular file.
    OSError
        When the file isn't there or can't be opened.
    """
    return _checked(os.open(path, _FILE), os.fspath(path), None)


def _real_paths(roots: Sequence[Path | str]) -> list[Path]:
    return [Path(os.path.realpath(root)) for root in roots]


def _open_below(root: Path, parts: tuple[str, ...], text: str) -> int:
    """Open `parts` below `root` one by one: a link swapped in meanwhile is an error."""
    if not parts:
        raise _refused(text, found="a folder", expected="a regular file")
    folder = os.open(root, _FOLDER)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], _FILE | os.O_NOFOLLOW, dir_fd=folder)
    finally:
        os.close(folder)


def _checked(descriptor: int, text: str, uid: int | None) -> int:
    refusal = _refusal(os.fstat(descriptor), text, uid)
    if refusal is not None:
        os.close(descriptor)
        raise refusal
    return descriptor


def _refusal(status: os.stat_result, text: str, uid: int | None) -> InputError | None:
    if not stat.S_ISREG(status.st_mode):
        return _refused(text, found="a folder, pipe, socket or device", expected="a regular file")
    if uid is not None and status.st_uid != uid:
        return _refused(
            text, found=f"a file of user {status.st_uid}", expected=f"one of user {uid}"
        )
    return None


def _refused(text: str, *, found: str, expected: str) -> InputError:
    return InputError(
        f"log {text!r} is not read",
        found=found,
        expected=expected,
        hint="check the job's output path and the configured log folders",
    )
