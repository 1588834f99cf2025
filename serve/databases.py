"""The compiled rules, kept in the user's cache folder: a start without them takes a second longer.

A database is handed to a C library that trusts its bytes, so one is read only from a folder and a
file that belong to this user and that nobody else can write to, and only when its checksum holds.
Everything that goes wrong with the cache means that rules are compiled, as without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

MAX_BYTES = 64 << 20
"""A larger file is no database of ours."""
MAX_FILES = 8
"""Databases kept, the newest ones: each set of rules has its own, of about 2 MB."""
_MAGIC = b"relume database 1\n"
_SUFFIX = ".hsdb"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_CPU_FACTS = ("model name", "flags", "Features", "CPU implementer", "CPU part")
_CPU_INFO = Path("/proc/cpuinfo")


def cache_folder() -> Path | None:
    """Return the folder of Relume's cache, which may not be there; null where a user has no home.

    Source: the XDG base directory specification (a relative ``XDG_CACHE_HOME`` is to be ignored).
    """
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if named.is_absolute():
        return named / "relume"
    try:
        return Path.home() / ".cache" / "relume"
    except RuntimeError:
        return None


class DatabaseFolder:
    """Databases in one folder, a file each; a `relume.models.signatures.engine.DatabaseStore`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = DatabaseFolder(Path(name, "relume"))
    ...     folder.save("rules of today", b"compiled")
    ...     folder.load("rules of today"), folder.load("rules of tomorrow")
    (b'compiled', None)
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, key: str) -> bytes | None:
        """Return what was saved under `key` on this kind of processor.

        Null when there is nothing, when it is damaged, and when another user could have written it.
        """
        try:
            with _own_folder(self._folder) as folder:
                content = _read(folder, _name(key))
        except OSError:
            return None
        return _payload(content)

    def save(self, key: str, data: bytes) -> None:
        """Keep `data`, whole or not at all; nothing where the folder isn't this user's alone."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _own_folder(self._folder) as folder:
                _write(folder, _name(key), _MAGIC + hashlib.sha256(data).digest() + data)
                _drop_oldest(folder)


def _name(key: str) -> str:
    """Name the file of `key` on this processor: a database may use what another one hasn't."""
    return hashlib.sha256(f"{key}\n{_processor()}".encode()).hexdigest() + _SUFFIX


def _processor() -> str:
    """Kind of the first processor; what it is able to do is among the facts."""
    try:
        first = _CPU_INFO.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    facts = (line.partition(":") for line in first.splitlines())
    known = [f"{name.strip()}={value}" for name, _, value in facts if name.strip() in _CPU_FACTS]
    return "\n".join([platform.machine(), *known])


@contextlib.contextmanager
def _own_folder(path: Path) -> Iterator[int]:
    """Open a folder that is this user's, and no one else's to write; OSError for any other."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _require_own(os.fstat(folder))
        yield folder
    finally:
        os.close(folder)


def _require_own(facts: os.stat_result) -> None:
    if facts.st_uid != os.geteuid() or facts.st_mode & _OTHERS_WRITE:
        raise PermissionError("somebody else may have written this")


def _read(folder: int, name: str) -> bytes:
    # Not blocking: who can make a pipe there can't, by the checks, but a mistake must not hang us.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as stream:
        facts = os.fstat(stream.fileno())
        _require_own(facts)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > MAX_BYTES:
            raise OSError("no database")
        return stream.read(MAX_BYTES)


def _payload(content: bytes) -> bytes | None:
    start = len(_MAGIC) + hashlib.sha256().digest_size
    data = content[start:]
    expected = _MAGIC + hashlib.sha256(data).digest()
    return data if content[:start] == expected else None


def _write(folder: int, name: str, content: bytes) -> None:
    temporary = f"{name}.{secrets.token_hex(8)}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(temporary, flags, 0o600, dir_fd=folder), "wb") as stream:
            stream.write(content)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _drop_oldest(folder: int) -> None:
    """Remove all but the newest databases, and what a killed process left half written."""
    found: list[tuple[float, str]] = []
    for name in os.listdir(folder):
        if _SUFFIX in name:
            facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
            found.append((facts.st_mtime, name))
    for _, name in sorted(found)[:-MAX_FILES]:
        os.unlink(name, dir_fd=folder)
