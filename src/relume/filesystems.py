"""Where a SQLite file may lie: not on a network filesystem, where its WAL corrupts."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from relume.errors import ConfigError

MOUNTS = Path("/proc/self/mounts")
NETWORK_FILESYSTEMS = frozenset(
    {
        *("nfs", "nfs3", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "coda", "davfs"),
        *("lustre", "lustre_tgt", "gpfs", "mmfs", "beegfs", "fhgfs", "ceph", "wekafs", "panfs"),
        *("pvfs2", "orangefs", "glusterfs", "quobyte", "daos", "juicefs", "curvefs", "moosefs"),
        *("mfs", "lizardfs", "saunafs", "vastfs", "hdfs", "s3fs", "sshfs", "gcsfuse", "goofys"),
        *("rclone", "blobfuse", "blobfuse2", "mount-s3", "mountpoint-s3", "alluxio", "cvmfs2"),
        # Several machines on one disk: `mmap` of the shared index doesn't reach the others.
        *("gfs", "gfs2", "ocfs2", "acfs", "stornext", "cvfs"),
    }
)
"""Types as the kernel writes them, without the ``fuse.`` in front."""

_ESCAPED = re.compile(r"\\([0-7]{3})")


def require_local(folder: Path, what: str) -> None:
    """Refuse a folder that lies on a network or cluster filesystem.

    SQLite's write-ahead log needs shared memory between all of its users, which only a filesystem
    of one machine gives (https://sqlite.org/wal.html, "Disadvantages").

    Parameters
    ----------
    folder
        Links are followed.
    what
        What people call the folder: its setting, or what is in it.

    Raises
    ------
    ConfigError
        For such a folder, and where the table can't be read.
    """
    folder = folder.resolve()
    with suppress(OSError):  # looking into it makes an automounter mount what it has to
        os.scandir(folder).close()
    try:
        text = MOUNTS.read_text(errors="surrogateescape")
    except OSError as error:
        raise ConfigError(
            f"{what} {folder}",
            found=str(error),
            expected="the kernel's table of mounts, to see that the folder is not on a network",
        ) from error
    kind = filesystem_type(folder, text)
    if kind is not None and kind.removeprefix("fuse.") in NETWORK_FILESYSTEMS:
        raise ConfigError(
            f"{what} {folder}",
            found=f"a filesystem of type {kind}, shared over a network",
            expected="a disk of this machine: SQLite's write-ahead log corrupts there",
            hint="choose another folder; telemetry may stay on the shared filesystem",
        )


def filesystem_type(folder: Path, mounts: str) -> str | None:
    r"""Return the type of the filesystem that holds the absolute path `folder`.

    Null when no line of `mounts` (in the form of ``/proc/mounts``) covers it.

    Examples
    --------
    >>> table = "/dev/sda / ext4 rw 0 0\nserver:/e /home\\040x nfs4 rw 0 0\n"
    >>> filesystem_type(Path("/home x/me"), table), filesystem_type(Path("/home"), table)
    ('nfs4', 'ext4')
    """
    best, kind = -1, None
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:  # noqa: PLR2004 - device, folder, type
            continue
        mounted = Path(_ESCAPED.sub(lambda match: chr(int(match[1], 8)), fields[1]))
        # Of two mounts on one folder the later one hides the earlier.
        if folder.is_relative_to(mounted) and len(mounted.parts) >= best:
            best, kind = len(mounted.parts), fields[2]
    return kind
