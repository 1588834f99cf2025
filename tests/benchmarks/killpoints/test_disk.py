"""What a disk holds after a kill, and what it may hold after a power failure."""

from __future__ import annotations

import random
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from relume.benchmarks.killpoints.disk import SECTOR, Disk, Inode, restore


def disk_with(**files: Inode) -> Disk:
    return Disk(names=dict(files), folders={"d"}, durable_folders={"d"})


def test_a_kill_leaves_all_that_was_written() -> None:
    disk = disk_with(a=Inode(b"new", b"old"), b=Inode(b"never synced"))
    assert disk.present() == {"d": None, "a": b"new", "b": b"never synced"}


def test_without_power_only_what_was_synced_is_sure() -> None:
    disk = disk_with(a=Inode(b"new", b"old"), b=Inode(b"x", b"x"))
    assert disk.least() == {"d": None}
    disk.sync_folder("")
    assert disk.least() == {"d": None, "a": b"old", "b": b"x"}
    disk.sync_file("a")
    assert disk.least()["a"] == b"new"


def test_a_name_is_durable_with_its_folder_and_so_is_its_end() -> None:
    disk = disk_with(**{"d/a": Inode(b"1", b"1")})
    disk.sync_folder("")
    assert "d/a" not in disk.least()
    disk.sync_folder("d")
    assert disk.least()["d/a"] == b"1"
    del disk.names["d/a"]
    assert disk.least()["d/a"] == b"1"
    disk.sync_folder("d")
    assert disk.least() == {"d": None}


def test_a_renamed_file_is_under_either_name_until_its_folder_is_synced() -> None:
    disk = disk_with(old=Inode(b"1", b"1"))
    disk.sync_folder("")
    disk.names = {"new": disk.names["old"]}
    found = {frozenset(disk.torn(random.Random(seed))) - {"d"} for seed in range(50)}
    assert found == {
        *(frozenset(), frozenset({"old"}), frozenset({"new"}), frozenset({"old", "new"})),
    }


def test_files_of_a_folder_that_isn_t_there_aren_t_either() -> None:
    disk = Disk(names={"d/a": Inode(b"1", b"1")}, folders={"d"})
    disk.durable = dict(disk.names)
    assert disk.least() == {}
    assert {len(disk.torn(random.Random(seed))) for seed in range(20)} == {0, 2}


@given(
    now=st.binary(max_size=2000), synced=st.none() | st.binary(max_size=2000), seed=st.integers()
)
def test_each_sector_is_as_it_is_or_was_or_never_came(
    now: bytes, synced: bytes | None, seed: int
) -> None:
    disk = Disk(names={"a": Inode(now, synced)})
    disk.durable = dict(disk.names)
    found = disk.torn(random.Random(seed))["a"]
    assert found is not None
    size = len(found)
    assert size <= max(len(now), len(synced or b""))
    parts = [(one or b"").ljust(size, b"\0")[:size] for one in (now, synced)]
    for at in range(0, size, SECTOR):
        assert found[at : at + SECTOR] in [part[at : at + SECTOR] for part in parts]


def test_a_folder_is_made_to_hold_an_image(tmp_path: Path) -> None:
    (tmp_path / "old" / "deep").mkdir(parents=True)
    (tmp_path / "old" / "deep" / "file").write_text("x")
    restore({"d": None, "d/a": b"1", "b": b""}, tmp_path)
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert found == ["b", "d", "d/a"]
    assert (tmp_path / "d" / "a").read_bytes() == b"1"
