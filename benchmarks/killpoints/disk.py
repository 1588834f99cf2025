"""What a disk may hold after a death: all that was written, or without power what was synced."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

Image: TypeAlias = dict[str, bytes | None]
"""What is in a folder: relative paths of files with their content, of folders with null."""
SECTOR: Final = 512
"""A disk writes sectors whole; without a sync, any of them."""


@dataclass(slots=True)
class Inode:
    """A file: what it has now, and what of it a sync made durable; null for nothing yet."""

    now: bytes
    synced: bytes | None = None


@dataclass(slots=True)
class Disk:
    """The present names and contents of a folder, and those that would outlive a power failure.

    Attributes
    ----------
    names
        The files by their path, as processes see them.
    durable
        The same as it was when each file's folder was synced last.
    folders, durable_folders
        The same of folders.
    """

    names: dict[str, Inode] = field(default_factory=dict)
    durable: dict[str, Inode] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    durable_folders: set[str] = field(default_factory=set)

    def sync_file(self, path: str) -> None:
        """Make the content of a file durable; its name isn't by that."""
        inode = self.names.get(path)
        if inode is not None:
            inode.synced = inode.now

    def sync_folder(self, path: str) -> None:
        """Make the names in a folder durable, and that others aren't there any more."""
        for name in [name for name in self.durable if _folder(name) == path]:
            if name not in self.names:
                del self.durable[name]
        self.durable |= {name: one for name, one in self.names.items() if _folder(name) == path}
        gone = {name for name in self.durable_folders if _folder(name) == path}
        self.durable_folders -= gone - self.folders
        self.durable_folders |= {name for name in self.folders if _folder(name) == path}

    def present(self) -> Image:
        """Return what is there when a process is killed."""
        return _image(self.folders, {name: one.now for name, one in self.names.items()})

    def least(self) -> Image:
        """Return what is there when the power fails and nothing but what was synced is."""
        return _image(
            self.durable_folders,
            {name: one.synced or b"" for name, one in self.durable.items()},
        )

    def torn(self, draw: random.Random) -> Image:
        """Return what is there when the power fails and any part of the rest is, too."""
        files: dict[str, bytes] = {}
        for name in sorted(self.names.keys() | self.durable.keys()):
            now, durable = self.names.get(name), self.durable.get(name)
            inode = now if now is durable else draw.choice((now, durable))
            if inode is not None:
                files[name] = _torn(inode, draw)
        unsure = sorted(self.folders ^ self.durable_folders)
        folders = self.folders & self.durable_folders
        return _image(folders | {one for one in unsure if draw.random() < 0.5}, files)  # noqa: PLR2004


def _torn(inode: Inode, draw: random.Random) -> bytes:
    """Return what a file may hold: every sector is as it is, as it was, or never came."""
    now, before = inode.now, inode.synced
    if before == now:
        return now
    how = draw.random()
    if how < 0.25:  # noqa: PLR2004 - in a quarter of all cases nothing of it came
        return before or b""
    if how < 0.5:  # noqa: PLR2004 - in another one its end is lost
        return now[: draw.randint(min(len(before or b""), len(now)), len(now))]
    size = draw.choice((len(now), len(before or b"")))
    old = (before or b"").ljust(size, b"\0")
    new = now.ljust(size, b"\0")[:size]
    parts = (draw.choice((old, new))[at : at + SECTOR] for at in range(0, size, SECTOR))
    return b"".join(parts)[:size]


def _image(folders: set[str], files: Mapping[str, bytes]) -> Image:
    """Return the folders and the files whose folders are there."""
    whole = {name for name in folders if all(one in folders for one in _above(name))}
    image: Image = dict.fromkeys(sorted(whole))
    return image | {
        name: data for name, data in files.items() if all(a in whole for a in _above(name))
    }


def _above(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def restore(image: Image, folder: Path) -> None:
    """Make `folder` hold nothing but an image."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()
    for name, data in image.items():
        path = folder / name
        if data is None:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
