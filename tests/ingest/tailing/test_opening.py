"""Paths that jobs choose: nothing is read that they may not show us."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from relume.errors import InputError
from relume.ingest.tailing.opening import open_log, open_trusted


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    (folder / "user" / "logs").mkdir(parents=True)
    (folder / "user" / "logs" / "job.out").write_bytes(b"fine\n")
    (tmp_path / "secret").write_bytes(b"secret\n")
    return folder


def read(path: Path, roots: list[Path], uid: int | None = None) -> bytes:
    descriptor = open_log(path, roots, os.geteuid() if uid is None else uid)
    try:
        return os.read(descriptor, 100)
    finally:
        os.close(descriptor)


def test_a_log_below_a_root_is_opened(root: Path) -> None:
    assert read(root / "user/logs/job.out", [Path("/nowhere"), root]) == b"fine\n"


def test_links_that_stay_below_are_followed(root: Path, tmp_path: Path) -> None:
    (root / "current").symlink_to("user/logs")
    (root / "latest.out").symlink_to(root / "current" / "job.out")
    alias = tmp_path / "alias"
    alias.symlink_to(root)
    assert read(root / "latest.out", [root]) == b"fine\n"
    assert read(root / "user/logs/job.out", [alias]) == b"fine\n"
    assert read(alias / "user/logs/../logs/job.out", [root]) == b"fine\n"


@pytest.mark.parametrize(
    "lay",
    [
        lambda root: (root / "user/logs/out").symlink_to("../../../secret"),
        lambda root: (root / "user/logs/out").symlink_to("/etc/passwd"),
        lambda root: (root / "user/logs/out").mkdir(),
        lambda root: os.mkfifo(root / "user/logs/out"),
        lambda root: (root / "user/logs/out").symlink_to("/dev/zero"),
    ],
    ids=["link up", "link out", "folder", "pipe", "device"],
)
def test_what_leads_out_or_is_no_file_is_refused(root: Path, lay: Callable[[Path], None]) -> None:
    lay(root)
    with pytest.raises(InputError, match="is not read"):
        open_log(root / "user/logs/out", [root], None)


def test_a_socket_is_no_log(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("out")
        with pytest.raises((InputError, OSError)):
            open_log(root / "out", [root], None)


@pytest.mark.parametrize("path", ["user/logs/job.out", "", "/scratch/a\0b"])
def test_only_absolute_paths_are_taken(root: Path, path: str) -> None:
    with pytest.raises(InputError, match="absolute"):
        open_log(path, [root], None)


def test_the_root_itself_and_its_neighbours_are_refused(root: Path) -> None:
    neighbour = root.with_name("scratch2")
    neighbour.write_bytes(b"")
    for path in (root, neighbour, root / ".." / "secret"):
        with pytest.raises(InputError, match="is not read"):
            open_log(path, [root], None)


def test_no_roots_means_nothing_is_read(root: Path) -> None:
    with pytest.raises(InputError, match="a configured folder"):
        open_log(root / "user/logs/job.out", [], None)


def test_a_file_of_somebody_else_is_refused(root: Path) -> None:
    with pytest.raises(InputError, match=f"a file of user {os.geteuid()}"):
        read(root / "user/logs/job.out", [root], uid=os.geteuid() + 1)


def test_a_missing_file_is_missing(root: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_log(root / "user/logs/none", [root], None)


@pytest.mark.parametrize("part", ["user", "user/logs", "user/logs/job.out"])
def test_a_link_that_is_swapped_in_while_we_look_is_not_followed(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "logs").mkdir(parents=True)
    for folder in (elsewhere, elsewhere / "logs"):
        (folder / "job.out").write_bytes(b"secret\n")
    real_open = os.open

    def swap_then_open(path: Path, flags: int, **options: int) -> int:
        if path == root:  # the first one: the path has been looked at by now
            (root / part).rename(tmp_path / "moved")
            target = {"user": elsewhere, "user/logs": elsewhere / "logs"}.get(part)
            (root / part).symlink_to(target or elsewhere / "job.out")
        return real_open(path, flags, **options)

    monkeypatch.setattr(os, "open", swap_then_open)
    with pytest.raises(OSError, match=r"links|directory"):
        open_log(root / "user/logs/job.out", [root], None)
    assert (root / part).is_symlink()


def test_refusals_leave_no_descriptor_open(root: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with pytest.raises(InputError):
            open_log(root / "user/logs/job.out", [root], os.geteuid() + 1)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_configured_path_may_lead_anywhere_but_to_a_pipe(root: Path, tmp_path: Path) -> None:
    (root / "link").symlink_to(tmp_path / "secret")
    os.close(open_trusted(root / "link"))
    os.mkfifo(root / "pipe")
    with pytest.raises(InputError):
        open_trusted(root / "pipe")
