"""The journal says what is in the lake: an entry a commit, in order, appended and fsynced.

A commit is there exactly when its entry is there whole. `docs/formats/lake.md` describes the form.
"""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from relume.ingest.lake.errors import CorruptJournalError, LakeError
from relume.ingest.lake.files import make_folder, write_whole

FORMAT = 1
"""Version of the lake: its layout, its journal, and the columns that it adds."""
MERGED_FORMAT = 2
"""Of entries of merged commits, which an older Relume must not pass over."""
FOLDER = "journal"
FILE_BYTES = 4 << 20
"""When the next file is begun. Opening a lake reads the newest one only."""
_CHECKSUM_DIGITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One Parquet file: `path` is relative to the lake, `bytes` and `crc32` are of the file.

    `schema_version` is null where the journal doesn't say; the file always does.
    """

    table: str
    path: str
    rows: int
    bytes: int
    crc32: int
    schema_version: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A commit that was merged into a later one: the fields are those of `Commit`."""

    sequence: int
    next_landed: int
    committed_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One entry of the journal.

    Attributes
    ----------
    sequence
        Number of the commit, from 1 on, without gaps.
    committed_at
        When, by the writer's clock, UTC microseconds.
    next_landed
        The landing number that the next commit begins with.
    segments
        What was added.
    positions
        Where the sources stand that moved, by name; null for one that is done with.
    pruned
        Commits up to this number have no segments any more; null where nothing changed about that.
    checkpoint
        Whether this is no commit but the first entry of a file: the state after commit `sequence`,
        with the positions of all sources.
    merged
        The commits before this one, in their order, whose landings its segments hold as well;
        they have no entries of their own any more.
    since
        The first landing that is meant, where only some of a merged commit are: who reads from a
        commit in its middle. Never written.
    """

    sequence: int
    committed_at: int
    next_landed: int
    segments: tuple[Segment, ...] = ()
    positions: dict[str, str | None] = field(default_factory=dict)
    pruned: int | None = None
    checkpoint: bool = False
    merged: tuple[Part, ...] = ()
    since: int | None = None
    format: int = FORMAT

    @property
    def first(self) -> int:
        """Number of the first commit whose landings it holds."""
        return self.merged[0].sequence if self.merged else self.sequence

    def time_of(self, sequence: int) -> int:
        """When commit `sequence` was, which is this one or merged into it."""
        times = (part.committed_at for part in self.merged if part.sequence == sequence)
        return next(times, self.committed_at)

    def after(self, sequence: int) -> Commit:
        """Return it without the landings up to commit `sequence`."""
        ends = (part.next_landed for part in self.merged if part.sequence == sequence)
        return replace(self, since=next(ends, None))


EMPTY = Commit(sequence=0, committed_at=0, next_landed=0, checkpoint=True)
"""The state of a lake before its first commit."""


class Journal:
    """The writer's side: one process at a time. Opening it drops an entry that was cut short.

    Attributes
    ----------
    last
        The newest commit, `EMPTY` when there is none.
    positions
        Where every source stands that was not done with.
    pruned
        Commits up to this number have no segments any more.
    """

    def __init__(self, lake: Path, staging: Path) -> None:
        self._folder = lake / FOLDER
        self._staging = staging
        make_folder(self._folder)
        files = _files(self._folder)
        if not files:
            files = [self._begin(EMPTY)]
        self._file = files[-1]
        self.last = EMPTY
        self.pruned = 0
        self._positions: dict[str, str] = {}
        self._entries = 0
        self._checkpoint_size = self._size = 0
        self._recover()
        self._descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        os.ftruncate(self._descriptor, self._size)

    def seal(self) -> None:
        """Begin a new file, if this one has an entry: what is in a file that is full can be merged.

        After an `OSError` the journal must be opened anew.
        """
        if self._size > self._checkpoint_size:
            self._rotate()

    @property
    def entries(self) -> int:
        """How many commits the newest file has."""
        return self._entries

    @property
    def positions(self) -> Mapping[str, str]:
        """Where every source stands; a copy."""
        return dict(self._positions)

    def append(self, commit: Commit) -> None:
        """Make `commit` durable. After an `OSError` the journal must be opened anew."""
        if self._size >= self._checkpoint_size + FILE_BYTES:
            self._rotate()
        entry = _encode(commit)
        if os.write(self._descriptor, entry) < len(entry):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._file))
        os.fsync(self._descriptor)
        self._size += len(entry)
        self._apply(commit)

    def close(self) -> None:
        """Give the file back. Closing twice is fine."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _recover(self) -> None:
        """Take the state from the newest file, as far as it is whole."""
        for commit, end in _entries(self._file, is_newest=True):
            self._apply(commit)
            self._size = end
            self._checkpoint_size = end if commit.checkpoint else self._checkpoint_size

    def _apply(self, commit: Commit) -> None:
        self.last = commit
        self._entries += not commit.checkpoint
        self.pruned = commit.pruned or self.pruned
        for source, position in commit.positions.items():
            if position is None:
                self._positions.pop(source, None)
            else:
                self._positions[source] = position

    def _begin(self, state: Commit) -> Path:
        path = self._folder / f"{state.sequence + 1:020d}.jsonl"
        write_whole(path, _encode(state), self._staging)
        return path

    def _rotate(self) -> None:
        old = self._file
        state = replace(
            self.last,
            segments=(),
            positions=dict(self._positions),
            pruned=self.pruned or None,
            checkpoint=True,
        )
        self._file = self._begin(state)
        os.close(self._descriptor)
        self._descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._checkpoint_size = self._size = self._file.stat().st_size
        self._entries = 0
        # Nobody asks for old positions again, and they are most of a busy journal.
        plain = [replace(commit, positions={}) for commit, _ in _entries(old, is_newest=False)]
        write_whole(old, b"".join(map(_encode, plain)), self._staging)


def read_commits(lake: Path, after: int = 0) -> Iterator[Commit]:
    """Yield the commits with a sequence number above `after`, in order, checkpoints left out.

    A commit that is being written is not seen; reading needs no lock. Segments that were pruned are
    not listed.

    Raises
    ------
    CorruptJournalError
        For a damaged entry, or one that is missing in between.
    LakeError
        When there is no lake, or one of another format.
    """
    expected = None
    files = _files(lake / FOLDER)
    if not files:
        raise LakeError(
            f"lake {lake}",
            found="no journal",
            expected="a folder that `relume serve` or `relume lake import` wrote",
        )
    pruned = read_pruned(lake)
    later = [int(path.stem) for path in files[1:]]
    for path, following in zip(files, [*later, None], strict=True):
        if following is not None and following <= after:
            continue
        for commit, _ in _entries(path, is_newest=following is None):
            number = commit.first + commit.checkpoint
            if expected is not None and number != expected:
                raise _corrupt(path, f"commit {number}", f"commit {expected}")
            expected = commit.sequence + 1
            if commit.sequence > after and not commit.checkpoint:
                meant = commit.after(after) if commit.first <= after else commit
                yield replace(meant, segments=()) if commit.sequence <= pruned else meant


def read_positions(lake: Path) -> dict[str, str]:
    """Where every source stood at the newest commit; raises as `read_commits` does."""
    positions: dict[str, str] = {}
    for path in _files(lake / FOLDER)[-1:]:
        for commit, _ in _entries(path, is_newest=True):
            for source, position in commit.positions.items():
                positions.pop(source, None)
                if position is not None:
                    positions[source] = position
    return positions


def read_pruned(lake: Path) -> int:
    """Return up to which commit segments were pruned, 0 for none; raises as `read_commits` does."""
    pruned = 0
    for path in _files(lake / FOLDER)[-1:]:
        for commit, _ in _entries(path, is_newest=True):
            pruned = commit.pruned or pruned
    return pruned


def sealed_files(lake: Path) -> list[Path]:
    """Return the files of the journal to which nothing is added any more, in their order."""
    return _files(lake / FOLDER)[:-1]


def entries_of(path: Path) -> list[Commit]:
    """Return the entries of a sealed file; raises `CorruptJournalError` for a damaged one."""
    return [commit for commit, _ in _entries(path, is_newest=False)]


def replace_entries(path: Path, entries: Iterable[Commit], staging: Path) -> None:
    """Put other entries in the place of those of a sealed file: all at once, durably."""
    write_whole(path, b"".join(map(_encode, entries)), staging)


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jsonl"))


def _encode(commit: Commit) -> bytes:
    fields = msgspec.to_builtins(commit)
    del fields["since"]
    if not commit.merged:  # nearly always
        del fields["merged"]
    body = msgspec.json.encode(fields)
    return b"%0*x %s\n" % (_CHECKSUM_DIGITS, zlib.crc32(body), body)


def _entries(path: Path, *, is_newest: bool) -> Iterator[tuple[Commit, int]]:
    """Entries of one file, each with the offset of its end.

    Only the last entry of the newest file may be cut short: its writer was killed, or is writing.
    """
    end = 0
    with path.open("rb") as stream:
        for raw in stream:
            commit = _decode(raw, path)
            if commit is None:
                if is_newest and end and not stream.read(1):
                    return
                raise _corrupt(path, f"a damaged entry at byte {end}", "a line with its checksum")
            end += len(raw)
            yield commit, end


def _decode(raw: bytes, path: Path) -> Commit | None:
    checksum, _, body = raw.removesuffix(b"\n").partition(b" ")
    if not raw.endswith(b"\n") or checksum != b"%0*x" % (_CHECKSUM_DIGITS, zlib.crc32(body)):
        return None
    try:
        version = msgspec.json.decode(body, type=_Version).format
        if version not in {FORMAT, MERGED_FORMAT}:
            raise LakeError(
                f"lake journal {path}",
                found=f"format {version}",
                expected=f"format {FORMAT}",
                hint="it was written by another version of Relume; read it with that one",
            )
        return msgspec.json.decode(body, type=Commit)
    except msgspec.DecodeError as error:
        raise _corrupt(path, str(error), "a commit") from error


class _Version(msgspec.Struct):
    format: int


def _corrupt(path: Path, found: str, expected: str) -> CorruptJournalError:
    return CorruptJournalError(
        f"lake journal {path}",
        found=found,
        expected=expected,
        hint="restore the file from a copy; segments hold the data, the journal its order",
    )
