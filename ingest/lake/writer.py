"""The one writer of a lake: buffers what is read, and lands it in whole commits."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from relume.clock import Clock, SystemClock, to_iso
from relume.errors import InputError
from relume.events import Event
from relume.ingest.lake.batches import Landing
from relume.ingest.lake.buffers import TableBuffer, prepared
from relume.ingest.lake.errors import LakeBusyError, LakeWriteError
from relume.ingest.lake.files import make_folder
from relume.ingest.lake.journal import Commit, Journal, Segment
from relume.ingest.lake.retention import needed_after
from relume.ingest.lake.segments import file_name, sequence_of

STAGING = "staging"
LOCK = "writer.lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """What a commit made durable: `rows` rows in segments of `bytes` bytes.

    `sequence` numbers the commits of the lake from 1; an empty commit gives that of the last one.
    """

    sequence: int
    committed_at: int
    rows: int
    bytes: int


class LakeWriter:
    """Lands events and lines with the positions that their sources reached, both or neither.

    Opening waits for nobody: a lake has one writer, and a commit that a killed one didn't finish is
    taken away. Holds at most about 8 MiB a table; the rest of a large commit waits on disk, where
    readers don't look. Not thread-safe.

    Parameters
    ----------
    folder
        The lake; made when it isn't there.
    clock
        Dates the segments; the machine's when null.

    Raises
    ------
    LakeBusyError
        When another process has it open for writing.
    CorruptJournalError, LakeError
        When the journal can't be read, or is of another version.
    OSError
        When the folder can't be made or read.

    Examples
    --------
    >>> import tempfile
    >>> from relume.events import Tick
    >>> with tempfile.TemporaryDirectory() as folder, LakeWriter(folder) as lake:
    ...     lake.append([Tick(event_time=1)])
    ...     landed = lake.commit({"job 12": "position"})
    >>> landed.sequence, landed.rows, lake.positions
    (1, 1, {'job 12': 'position'})
    """

    def __init__(self, folder: Path | str, *, clock: Clock | None = None) -> None:
        self.folder = Path(folder)
        self._clock = clock or SystemClock()
        make_folder(self.folder.absolute())
        self._lock = _lock(self.folder / LOCK)
        try:
            self._staging = _empty_folder(self.folder / STAGING)
            self._journal = Journal(self.folder, self._staging)
            self._drop_unfinished(self._journal.last.sequence + 1)
            self._drop_pruned()
        except BaseException:
            os.close(self._lock)
            raise
        self._landed = self._journal.last.next_landed
        self._buffers: dict[type[Event], TableBuffer] = {}
        self._begun: list[Future[Segment]] = []
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="lake")
        self._broken: OSError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def positions(self) -> dict[str, str]:
        """Where each source stood at the last commit."""
        return dict(self._journal.positions)

    @property
    def sequence(self) -> int:
        """Number of the last commit, 0 when there is none."""
        return self._journal.last.sequence

    def append(self, landings: Iterable[Landing]) -> None:
        """Take what is to land with the next commit, in this order.

        Raises
        ------
        InputError
            For a value that its column can't hold; nothing of `landings` is taken then.
        LakeWriteError
            When the disk failed.
        """
        with self._writing("append"):
            for kind, batch in list(prepared(landings)):
                buffer = self._buffers.get(kind)
                if buffer is None:
                    buffer = self._buffers[kind] = TableBuffer(kind, self._staging)
                buffer.add(batch, self._landed)
                self._landed += 1

    def begin(self) -> None:
        """Begin to write what was appended beside the caller, who appends nothing until `commit`.

        That waits for it, and says what went wrong.
        """
        date, sequence = to_iso(self._clock.now())[:10], self._journal.last.sequence + 1
        buffers, self._buffers = self._buffers, {}
        for buffer in buffers.values():
            self._begun.append(self._beside.submit(buffer.publish, self.folder, date, sequence))

    def commit(self, positions: Mapping[str, str | None] | None = None) -> Landed:
        """Make everything that was appended durable, together with where its sources stand.

        Parameters
        ----------
        positions
            For each source that moved where it stands now, null for one that is done with. Others
            stay as they are.

        Raises
        ------
        LakeWriteError
            When it can't be done. The lake then is as after the last commit; this writer is of no
            more use, see `LakeWriteError`.
        """
        with self._writing("commit"):
            if not self._buffers and not self._begun and not positions:
                last = self._journal.last
                return Landed(
                    sequence=last.sequence, committed_at=last.committed_at, rows=0, bytes=0
                )
            now, sequence = self._clock.now(), self._journal.last.sequence + 1
            segments = self._publish(to_iso(now)[:10], sequence)
            self._journal.append(
                Commit(
                    sequence=sequence,
                    committed_at=now,
                    next_landed=self._landed,
                    segments=tuple(segments),
                    positions=dict(positions or {}),
                )
            )
        return Landed(
            sequence=sequence,
            committed_at=now,
            rows=sum(segment.rows for segment in segments),
            bytes=sum(segment.bytes for segment in segments),
        )

    def prune(self, through: int) -> None:
        """Take the segments of all commits up to number `through` away, for good.

        The journal says so before the first file goes, so that a reader never misses one that
        it still expects. What is appended stays, and so do the positions.

        Raises
        ------
        InputError
            When there is no such commit, or the live service that uses the lake needs it.
        LakeWriteError
            When it can't be done; see `LakeWriteError`.
        """
        last, needed = self._journal.last, needed_after(self._journal.positions)
        limit = last.sequence if needed is None else needed
        if through > limit:
            raise InputError(
                f"pruning of the lake {self.folder}",
                found=f"commit {through}",
                expected=f"at most commit {limit}",
                hint="what comes after it is needed, or isn't there yet",
            )
        if through <= self._journal.pruned:
            return
        with self._writing("prune"):
            self._journal.append(
                Commit(
                    sequence=last.sequence + 1,
                    committed_at=self._clock.now(),
                    next_landed=last.next_landed,
                    pruned=through,
                )
            )
            self._drop_pruned()

    def seal(self, commits: int = 1) -> bool:
        """Let the commits so far be merged, if those since the last time are so many; say whether.

        Raises
        ------
        LakeWriteError
            When it can't be done; see `LakeWriteError`.
        """
        if self._journal.entries < max(1, commits):
            return False
        with self._writing("seal"):
            self._journal.seal()
        return True

    def close(self) -> None:
        """Let go of the lake; what was not committed is dropped. Closing twice is fine."""
        self._buffers.clear()
        self._beside.shutdown()  # nobody else may find something that is still being written
        self._journal.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _publish(self, date: str, sequence: int) -> list[Segment]:
        begun, self._begun = self._begun, []
        buffers, self._buffers = self._buffers, {}
        segments = [one.result() for one in begun]
        return segments + [
            buffer.publish(self.folder, date, sequence) for buffer in buffers.values()
        ]

    @contextlib.contextmanager
    def _writing(self, what: str) -> Iterator[None]:
        """Turn a failing disk into our error, for good: what a failed fsync left nobody knows."""
        try:
            if self._broken is not None:
                raise self._broken
            yield
        except OSError as error:
            self._broken = error
            raise LakeWriteError(
                f"lake {self.folder}: {what}",
                found=error.strerror or str(error),
                expected="a disk that takes what is written",
                hint="make room or mend the disk; then a new writer goes on from the last commit",
            ) from error

    def _drop_pruned(self) -> None:
        """Give the disk back; also what a killed writer had left to do of that."""
        for folder in self.folder.glob("table=*/date=*") if self._journal.pruned else ():
            for path in folder.glob("*.parquet"):
                if sequence_of(path) <= self._journal.pruned:
                    path.unlink()
            if not any(folder.iterdir()):
                folder.rmdir()

    def _drop_unfinished(self, sequence: int) -> None:
        for path in self.folder.glob(f"table=*/date=*/{file_name(sequence)}"):
            path.unlink()


def _lock(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise LakeBusyError(
            f"lake {path.parent}",
            found="another process that writes to it",
            expected="one writer",
            hint="is `relume serve` running already, or an import?",
        ) from error
    return descriptor


def _empty_folder(path: Path) -> Path:
    shutil.rmtree(path, ignore_errors=True)
    make_folder(path.absolute())
    return path
