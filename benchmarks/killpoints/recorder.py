"""The disk of a run at every write, fsync, rename and unlink that it made: each may be its last.

Python's own calls are seen one by one; what libraries write by themselves (Parquet segments) is
seen with the next call, in any case before it is synced. SQLite syncs its log once a transaction,
so that transaction's pages are taken from what it changed: they came in order, any number of them.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from relume.benchmarks.killpoints.disk import Disk, Image, Inode
from relume.ingest.lake import LakeWriter
from relume.serve.ledger import Ledger
from relume.serve.ledger.sqlite import SqliteDatabase

_VOLATILE: Final = ("-shm", ".lock")
"""Ends of names of files that nobody reads after a death."""
_CALLS: Final = ("write", "fsync", "ftruncate", "replace", "rename", "unlink", "mkdir", "rmdir")
WAL_HEADER, FRAME_HEADER, PAGE = 32, 24, 4096
FRAME: Final = FRAME_HEADER + PAGE


@dataclass(frozen=True, slots=True)
class Point:
    """A disk on which a service may have to start again.

    Attributes
    ----------
    image
        What is on it.
    kind
        ``kill``, ``power`` (nothing but what was synced) or ``torn`` (and any part of the rest).
    call
        What was being done.
    move
        Which move of the story it was part of.
    commits, advice
        How many commits of the lake, and how many Advice were acknowledged by then.
    """

    image: Image
    kind: str
    call: str
    move: int
    commits: int
    advice: int


@dataclass(slots=True)
class Recorder:
    """Watches a folder while the calls in it are made.

    Parameters
    ----------
    folder
        What is watched.
    take
        Called with each point.
    torn
        How many disks without power are drawn at each call, besides the one with the least.
    """

    folder: Path
    take: Callable[[Point], None]
    draw: random.Random
    torn: int = 2
    move: int = 0
    calls: int = 0
    disk: Disk = field(default_factory=Disk)
    _commits: int = 0
    _advice: int = 0
    _inodes: dict[int, Inode] = field(default_factory=dict)
    _known: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    _is_busy: bool = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """See every call that is made meanwhile."""
        self.look()
        self.settle()
        with ExitStack() as stack:
            for name in _CALLS:
                stack.enter_context(patch.object(os, name, self._seen(name, getattr(os, name))))
            stack.enter_context(
                patch.object(SqliteDatabase, "writing", self._transaction(SqliteDatabase.writing))
            )
            stack.enter_context(patch.object(Ledger, "close", self._closing(Ledger.close)))
            stack.enter_context(patch.object(LakeWriter, "commit", self._commit(LakeWriter.commit)))
            stack.enter_context(patch.object(Ledger, "put_advice", self._put(Ledger.put_advice)))
            yield

    def settle(self) -> None:
        """Take that everything so far is durable."""
        for name in self.disk.names:
            self.disk.sync_file(name)
        self.disk.durable = dict(self.disk.names)
        self.disk.durable_folders = set(self.disk.folders)

    def look(self) -> None:
        """See what is there now."""
        names: dict[str, Inode] = {}
        folders: set[str] = set()
        self._scan("", names, folders)
        self.disk.names, self.disk.folders = names, folders
        alive = {id(one) for one in (*names.values(), *self.disk.durable.values())}
        self._inodes = {key: one for key, one in self._inodes.items() if id(one) in alive}

    def _scan(self, below: str, names: dict[str, Inode], folders: set[str]) -> None:
        with os.scandir(self.folder / below) as entries:
            for entry in entries:
                path = f"{below}/{entry.name}" if below else entry.name
                if entry.is_dir():
                    folders.add(path)
                    self._scan(path, names, folders)
                elif not path.endswith(_VOLATILE):
                    names[path] = self._inode(path, entry)

    def _inode(self, path: str, entry: os.DirEntry[str]) -> Inode:
        status = entry.stat()
        key, state = status.st_ino, (status.st_ino, status.st_size, status.st_mtime_ns)
        inode = self._inodes.get(key)
        held = self.disk.names.get(path)
        if (
            inode is not None
            and path in self.disk.names
            and held is not inode
            and not self._had(inode)
        ):
            inode = None  # the number was given to another file
        if inode is None:
            inode = self._inodes[key] = Inode(b"")
        elif self._known.get(path) == state and ".db" not in path:
            return inode
        self._known[path] = state
        inode.now = (self.folder / path).read_bytes()
        return inode

    def _had(self, inode: Inode) -> bool:
        return any(one is inode for one in self.disk.names.values())

    def _points(self, call: str) -> None:
        """Take the disks that a death right now may leave."""
        self._give(self.disk.present(), "kill", call)
        self._give(self.disk.least(), "power", call)
        for _ in range(self.torn):
            self._give(self.disk.torn(self.draw), "torn", call)

    def _give(self, image: Image, kind: str, call: str) -> None:
        self.take(Point(image, kind, call, self.move, self._commits, self._advice))

    def _seen(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - any call's
            path = None if self._is_busy else self._path_of(arguments[0])
            if path is None:
                return real(*arguments, **named)
            self._is_busy = True
            try:
                self.calls += 1
                self.look()
                self._points(f"before {name}")
                result = real(*arguments, **named)
                if name == "fsync":
                    self._synced(path)
                self.look()
                self._points(f"after {name}")
            finally:
                self._is_busy = False
            return result

        return call

    def _synced(self, path: str) -> None:
        if (self.folder / path).is_dir():
            self.disk.sync_folder(path)
        else:
            self.disk.sync_file(path)

    def _path_of(self, what: object) -> str | None:
        """Return the path within the folder that a call is about, null for one outside."""
        name = (
            Path(f"/proc/self/fd/{what}").readlink() if isinstance(what, int) else Path(str(what))
        )
        try:
            path = str(name.absolute().relative_to(self.folder))
        except ValueError:
            return None
        return "" if path == "." else path

    def _commit(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def commit(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            landed = real(*arguments, **named)
            self._commits = landed.sequence
            return landed

        return commit

    def _put(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def put(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            is_new = real(*arguments, **named)
            self._advice += bool(is_new)
            return is_new

        return put

    def _closing(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def close(ledger: Ledger) -> None:
            self.look()
            self._points("before close")
            real(ledger)
            self.look()
            for name in self.disk.names:
                if name.endswith(".db"):
                    self.disk.sync_file(name)
            self._points("after close")

        return close

    def _transaction(self, real: Callable[..., Any]) -> Callable[..., Any]:
        @contextmanager
        def writing(database: SqliteDatabase) -> Iterator[Any]:
            if self._is_busy:
                with real(database) as connection:
                    yield connection
                return
            self._is_busy = True
            try:
                self.look()
                before = {name: one.now for name, one in self.disk.names.items()}
                with real(database) as connection:
                    yield connection
                self.look()
                self._pages(before)
            finally:
                self._is_busy = False

        return writing

    def _pages(self, before: dict[str, bytes]) -> None:
        """Take the disks between the pages that a transaction wrote, then that of its sync."""
        self.calls += 1
        logs = [name for name in self.disk.names if name.endswith(".db-wal")]
        for name in logs:
            inode, after = self.disk.names[name], self.disk.names[name].now
            for part in _parts(before.get(name, b""), after):
                inode.now = part
                self._points("page")
            inode.now = after
            self._points("before sync")
            self.disk.sync_file(name)
            self.disk.sync_folder(name.rpartition("/")[0])
        databases = [name for name in self.disk.names if name.endswith(".db")]
        for name in databases:
            self._points("checkpoint")
            self.disk.sync_file(name)
        self._points("after transaction")


def _parts(before: bytes, after: bytes) -> Iterator[bytes]:
    """Yield a log as it was after each of its new frames, and in the middle of each."""
    at = 0
    while at < len(after):
        size = WAL_HEADER if at == 0 else FRAME
        if before[at : at + size] != after[at : at + size]:
            for end in (at + size // 2, at + size):
                yield after[:end] + before[end:]
        at += size
