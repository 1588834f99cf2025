"""Where a SQLite file may lie: on a disk of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from relume import filesystems
from relume.errors import ConfigError
from relume.filesystems import NETWORK_FILESYSTEMS, filesystem_type, require_local

TABLE = r"""
/dev/sda1 / ext4 rw,relatime 0 0
proc /proc proc rw 0 0
server:/export /home nfs4 rw,vers=4.2 0 0
/dev/nvme0n1 /home/scratch xfs rw 0 0
odd line
me@server:/x /mnt/a\040b\134c fuse.sshfs rw 0 0
/etc/auto.data /data autofs rw,indirect 0 0
10.0.0.1@tcp:/lus /data lustre rw 0 0
"""


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("/", "ext4"),
        ("/var/lib/relume", "ext4"),
        ("/home", "nfs4"),
        ("/home/me/relume", "nfs4"),
        ("/homes/me", "ext4"),
        ("/home/scratch/relume", "xfs"),
        ("/mnt/a b\\c/d", "fuse.sshfs"),
        ("/data/relume", "lustre"),  # mounted over the automounter's folder
    ],
)
def test_the_innermost_mount_counts_and_of_two_the_later(folder: str, expected: str) -> None:
    assert filesystem_type(Path(folder), TABLE) == expected


def test_what_no_line_covers_is_not_known() -> None:
    assert filesystem_type(Path("/x"), "/dev/sda1 /home ext4 rw 0 0\n") is None


def mount(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch, at: Path) -> None:
    """Let the kernel say that `at` is a mount of this type: such a one can't be made here."""
    table = tmp_path / "mounts"
    table.write_text(f"/dev/sda1 / ext4 rw 0 0\nx {at.resolve()} {kind} rw 0 0\n")
    monkeypatch.setattr(filesystems, "MOUNTS", table)


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "fuseblk"])
def test_a_disk_of_this_machine_passes(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount(tmp_path, kind, monkeypatch, tmp_path)
    require_local(tmp_path, "data folder")


@pytest.mark.parametrize("kind", sorted(NETWORK_FILESYSTEMS | {"fuse.sshfs", "fuse.glusterfs"}))
def test_a_network_filesystem_is_refused(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "relume"
    folder.mkdir()
    mount(tmp_path, kind, monkeypatch, tmp_path)
    with pytest.raises(ConfigError, match=rf"data folder .*type {kind}, shared.*another folder"):
        require_local(folder, "data folder")


def test_links_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shared").mkdir()
    link = tmp_path / "local"
    link.symlink_to(tmp_path / "shared")
    mount(tmp_path, "cifs", monkeypatch, tmp_path / "shared")
    with pytest.raises(ConfigError, match="cifs"):
        require_local(link, "data folder")


def test_without_a_table_of_mounts_nothing_is_known_so_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filesystems, "MOUNTS", tmp_path / "missing")
    with pytest.raises(ConfigError, match="table of mounts"):
        require_local(tmp_path, "data folder")
