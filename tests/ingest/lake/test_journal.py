"""The journal: whole entries only, in order, rolled over and thinned out."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from relume.ingest.lake import CorruptJournalError, LakeError, journal
from relume.ingest.lake.journal import Commit, Journal, Segment, read_commits, read_positions


def commit(sequence: int, **positions: str | None) -> Commit:
    segment = Segment(table="tick", path=f"p/{sequence}", rows=1, bytes=2, crc32=3)
    return Commit(
        sequence=sequence,
        committed_at=sequence * 10,
        next_landed=sequence,
        segments=(segment,),
        positions=positions,
    )


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    (tmp_path / "staging").mkdir()
    return tmp_path


def reopened(lake: Path) -> Journal:
    return Journal(lake, lake / "staging")


def fill(lake: Path, count: int) -> Path:
    """Make a journal of so many commits; return its newest file."""
    made = reopened(lake)
    for sequence in range(made.last.sequence + 1, made.last.sequence + count + 1):
        made.append(commit(sequence, a=str(sequence)))
    made.close()
    return max((lake / "journal").glob("*.jsonl"))


def test_a_new_journal_is_empty(lake: Path) -> None:
    made = reopened(lake)
    assert (made.last.sequence, made.positions) == (0, {})
    assert list(read_commits(lake)) == []
    made.close()


def test_entries_come_back(lake: Path) -> None:
    made = reopened(lake)
    entries = [commit(1, a="1", b="é\n"), commit(2, b=None), commit(3)]
    for entry in entries:
        made.append(entry)
    assert made.positions == read_positions(lake) == {"a": "1"}
    assert list(read_commits(lake)) == entries
    assert list(read_commits(lake, after=2)) == entries[2:]
    made.close()
    again = reopened(lake)
    assert (again.last, again.positions) == (entries[-1], {"a": "1"})
    again.close()


def test_an_entry_cut_short_never_was(lake: Path) -> None:
    path = fill(lake, 3)
    whole = path.read_bytes()
    start = whole.rindex(b"\n", 0, -1) + 1
    for end in range(start, len(whole)):
        path.write_bytes(whole[:end])
        assert [entry.sequence for entry in read_commits(lake)] == [1, 2]
        made = reopened(lake)
        assert (made.last.sequence, made.positions) == (2, {"a": "2"})
        made.append(commit(3))
        made.close()
        assert [entry.sequence for entry in read_commits(lake)] == [1, 2, 3]


@pytest.mark.parametrize("garbage", [b"\0" * 50, b"\0" * 20 + b"\n", b"xx", b"00000000 {}\n"])
def test_what_a_power_failure_left_at_the_end_is_dropped(lake: Path, garbage: bytes) -> None:
    path = fill(lake, 2)
    path.write_bytes(path.read_bytes() + garbage)
    assert len(list(read_commits(lake))) == 2
    made = reopened(lake)
    made.append(commit(3))
    made.close()
    assert len(list(read_commits(lake))) == 3


def test_damage_in_the_middle_is_an_error(lake: Path) -> None:
    path = fill(lake, 3)
    lines = path.read_bytes().splitlines(keepends=True)
    for damaged in (
        [*lines[:2], lines[2].replace(b"tick", b"tack"), lines[3]],
        [*lines[:2], lines[3]],
        lines[:0],
    ):
        path.write_bytes(b"".join(damaged) or b"x\n")
        with pytest.raises(CorruptJournalError, match=path.name):
            list(read_commits(lake))


def test_a_later_format_is_refused_by_name(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(lake, 1)
    monkeypatch.setattr(journal, "FORMAT", 2)
    with pytest.raises(LakeError, match="found format 1; expected format 2"):
        list(read_commits(lake))


def test_files_roll_over_and_old_positions_are_thinned_out(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "FILE_BYTES", 500)
    fill(lake, 7)
    newest = fill(lake, 5)
    files = sorted((lake / "journal").glob("*.jsonl"))
    assert len(files) > 2
    assert newest == files[-1]
    assert [entry.sequence for entry in read_commits(lake)] == list(range(1, 13))
    assert [entry.sequence for entry in read_commits(lake, after=9)] == [10, 11, 12]
    assert b'"positions":{"a"' not in b"".join(path.read_bytes() for path in files[:-1])
    made = reopened(lake)
    assert (made.last.sequence, made.positions) == (12, {"a": "12"})
    made.close()
    files[1].unlink()
    with pytest.raises(CorruptJournalError, match="expected commit"):
        list(read_commits(lake))


def test_a_rollover_right_after_the_last_commit_keeps_its_number(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "FILE_BYTES", 1)
    made = reopened(lake)
    made.append(commit(1, a="1"))
    made.append(commit(2))
    made.close()
    again = reopened(lake)
    assert (again.last.sequence, again.last.next_landed, again.positions) == (2, 2, {"a": "1"})
    again.close()


def test_an_entry_that_is_no_commit_is_an_error(lake: Path) -> None:
    path = fill(lake, 1)
    body = b'{"format":1,"sequence":"two"}'
    path.write_bytes(path.read_bytes() + b"%08x %s\n" % (zlib.crc32(body), body))
    with pytest.raises(CorruptJournalError, match="expected a commit"):
        list(read_commits(lake))
