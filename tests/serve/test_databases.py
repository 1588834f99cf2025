"""The cache of compiled rules: used when it is surely ours, and never missed."""

from __future__ import annotations

import os
from pathlib import Path

import hyperscan
import pytest

from relume.models.signatures.engine import build_engine
from relume.serve.databases import MAX_FILES, DatabaseFolder, cache_folder

KEY = "rules of today"
PATTERNS = ("Xid", r"bus error\b")
TEXT = b"all well\nNVRM: Xid 79\n"


def make_folder(tmp_path: Path) -> DatabaseFolder:
    return DatabaseFolder(tmp_path / "cache" / "relume")


def kept_file(tmp_path: Path) -> Path:
    [path] = (tmp_path / "cache" / "relume").iterdir()
    return path


def test_gives_back_what_was_saved(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    assert folder.load(KEY) is None
    folder.save(KEY, b"compiled")
    assert folder.load(KEY) == b"compiled"
    assert folder.load("rules of tomorrow") is None


def test_is_readable_for_its_owner_only(tmp_path: Path) -> None:
    make_folder(tmp_path).save(KEY, b"compiled")
    path = kept_file(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path, mode: int) -> None:
    folder = make_folder(tmp_path)
    folder.save(KEY, b"compiled")
    path = kept_file(tmp_path)
    path.parent.chmod(mode)
    assert folder.load(KEY) is None
    folder.save("another", b"compiled")
    assert [path] == list(path.parent.iterdir())


def test_a_file_that_others_may_write_to_is_not_used(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    folder.save(KEY, b"compiled")
    kept_file(tmp_path).chmod(0o620)
    assert folder.load(KEY) is None


def test_a_folder_of_somebody_else_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder(tmp_path)
    folder.save(KEY, b"compiled")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert folder.load(KEY) is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    folder.save(KEY, b"compiled")
    path = kept_file(tmp_path)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert folder.load(KEY) is None
    folder.save(KEY, b"anew")
    assert folder.load(KEY) == b"anew"
    assert not path.is_symlink()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    folder.save(KEY, b"compiled")
    path = kept_file(tmp_path)
    path.unlink()
    os.mkfifo(path, 0o600)
    assert folder.load(KEY) is None


@pytest.mark.parametrize("change", ["cut", "flip", "empty", "grow", "foreign"])
def test_a_damaged_file_is_ignored_and_written_anew(tmp_path: Path, change: str) -> None:
    folder = make_folder(tmp_path)
    folder.save(KEY, b"compiled")
    path = kept_file(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(
        {
            "cut": whole[:-1],
            "flip": whole[:-1] + bytes([whole[-1] ^ 1]),
            "empty": b"",
            "grow": whole + b"x",
            "foreign": b"SQLite format 3\x00" + whole,
        }[change]
    )
    assert folder.load(KEY) is None
    folder.save(KEY, b"compiled")
    assert folder.load(KEY) == b"compiled"


def test_a_place_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    folder = DatabaseFolder(tmp_path / "file" / "relume")
    folder.save(KEY, b"compiled")
    assert folder.load(KEY) is None
    assert build_engine(PATTERNS, store=folder).scan(TEXT) == build_engine(PATTERNS).scan(TEXT)


def test_keeps_the_newest_only(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    for number in range(MAX_FILES + 3):
        folder.save(str(number), b"compiled")
        for path in (tmp_path / "cache" / "relume").iterdir():
            stamp = path.stat().st_mtime - 10
            os.utime(path, (stamp, stamp))
    loaded = [number for number in range(MAX_FILES + 3) if folder.load(str(number))]
    assert loaded == list(range(3, MAX_FILES + 3))


def test_an_engine_from_the_cache_finds_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder(tmp_path)
    compiled = build_engine(PATTERNS, store=folder).scan(TEXT)
    saved = kept_file(tmp_path).read_bytes()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the rules were compiled again")

    monkeypatch.setattr("relume.models.signatures.hyperscan_engine._compile", refuse)
    assert build_engine(PATTERNS, store=folder).scan(TEXT) == compiled
    assert kept_file(tmp_path).read_bytes() == saved


def test_other_rules_have_another_database(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    build_engine(PATTERNS, store=folder)
    assert build_engine(("all well",), store=folder).scan(TEXT)[0].start == 0
    assert len(list((tmp_path / "cache" / "relume").iterdir())) == 2


def test_what_the_library_refuses_is_compiled_anew(tmp_path: Path) -> None:
    class Foreign:
        """A store that holds a database of another library."""

        saved = b""

        def load(self, _key: str) -> bytes:
            return b"\xdb" * 4096

        def save(self, _key: str, data: bytes) -> None:
            self.saved = data

    store = Foreign()
    assert build_engine(PATTERNS, store=store).scan(TEXT) == build_engine(PATTERNS).scan(TEXT)
    assert hyperscan.loadb(store.saved, hyperscan.HS_MODE_BLOCK).size() > 0
    assert not list(tmp_path.iterdir())


def test_the_folder_is_where_caches_belong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "relume"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for ignored in ("", "relative/folder"):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert cache_folder() == tmp_path / "home" / ".cache" / "relume"
