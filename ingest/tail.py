"""Follow one growing log: over restarts of ours, requeues of the job, and rotations of the file.

Files are polled, not watched: inotify says nothing about a network filesystem, where most output
files are. See `docs/formats/tailing.md` for the rules.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from relume.errors import InputError
from relume.events import SourceStatus
from relume.ingest.skips import SkipCounts
from relume.ingest.tailing.file import Opener, OpenFile, find_renamed, open_file
from relume.ingest.tailing.lines import LineHolder, TailBlock
from relume.ingest.tailing.opening import open_trusted
from relume.ingest.tailing.position import HEAD_BYTES, TailPosition, digest
from relume.verdict import Health

POLL_BYTES = 4 << 20
"""How much of one file a poll reads at most, so that one loud job doesn't starve the others."""


class TailEvent(StrEnum):
    """What a poll found besides lines."""

    ROTATED = "rotated"
    """Another file has the name. The old one was read to its end; the new one comes next."""
    TRUNCATED = "truncated"
    """The file was emptied or written anew, as Slurm does at a requeue: a new stream begins."""
    MISSING = "missing"
    """No file has the name: not yet, or no more."""
    UNREADABLE = "unreadable"
    """The file can't be opened or read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TailResult:
    """What one poll gave.

    Attributes
    ----------
    blocks
        Whole lines. With `ROTATED` or `TRUNCATED` they are the last ones of the old stream; the
        next poll begins the new one at line 0.
    position
        Where the next poll goes on. Store it together with the lines, never before them.
    events
        What happened to the file.
    lag_bytes
        Bytes that are there and weren't read; null when nobody can tell.
    reason
        Why nothing can be read, in words; null when all is well.
    ended
        After `finish`: nothing more will come of this stream.
    """

    blocks: tuple[TailBlock, ...]
    position: TailPosition
    events: frozenset[TailEvent] = frozenset()
    lag_bytes: int | None = None
    reason: str | None = None
    ended: bool = False

    def status(self, source: str, *, cluster: str, observed_at: int) -> SourceStatus:
        """Return the health of the source at `observed_at` (UTC microseconds).

        A missing file is *unknown*, one that can't be read is *unhealthy*.
        """
        broken = TailEvent.UNREADABLE in self.events
        sick = Health.UNHEALTHY if broken else Health.UNKNOWN
        return SourceStatus(
            source=source,
            cluster=cluster,
            event_time=observed_at,
            observed_at=observed_at,
            status=Health.HEALTHY if self.reason is None else sick,
            reason=self.reason,
        )


class Tailer:
    """Delivers the lines of one file once each, as they are written.

    Holds one file descriptor, the unfinished line (at most 1 MiB) and, during a poll, what it
    reads. Not thread-safe.

    Parameters
    ----------
    path
        The file; it need not exist yet.
    position
        What an earlier tailer of this path gave; null begins at the first byte.
    opener
        How to open it: for paths that jobs chose, one that calls `open_log`.
    skipped
        Counts lines that were split.
    """

    def __init__(
        self,
        path: Path | str,
        position: TailPosition | None = None,
        *,
        opener: Opener = open_trusted,
        skipped: SkipCounts | None = None,
    ) -> None:
        self.path = Path(path)
        self.position = position or TailPosition()
        self._opener = opener
        self._skipped = skipped
        self._file: OpenFile | None = None
        self._holder = self._new_holder()
        self._saw_successor = False

    def poll(self, max_bytes: int = POLL_BYTES) -> TailResult:
        """Read what is new, at most `max_bytes`. Never raises for what is wrong with the file."""
        return self._poll(max_bytes, final=False)

    def finish(self, max_bytes: int = POLL_BYTES) -> TailResult:
        """Read on to the end and deliver the unfinished last line; the job has ended.

        Call it until `ended` is true, since each call reads at most `max_bytes`. Where the file
        can't be read to its end, the events and the reason say so.
        """
        result = self._poll(max_bytes, final=True)
        if TailEvent.TRUNCATED in result.events:
            return replace(result, ended=True)
        if TailEvent.ROTATED in result.events or result.lag_bytes:
            return result
        rest = tuple(self._holder.finish())
        self._note(self.position.offset, (self.position.head_length, self.position.head_digest))
        return replace(result, blocks=(*result.blocks, *rest), position=self.position, ended=True)

    def close(self) -> None:
        """Give the descriptor back; polling again opens the file again."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _poll(self, max_bytes: int, *, final: bool) -> TailResult:
        try:
            return self._advance(max_bytes, final=final)
        except FileNotFoundError:
            was_there = "no more: it was deleted or renamed"
            words = was_there if self.position.inode else "not there yet"
            return self._failed(TailEvent.MISSING, f"{self.path} is {words}")
        except OSError as error:
            why = error.strerror or type(error).__name__
            return self._failed(TailEvent.UNREADABLE, f"{self.path} can't be read: {why}")
        except InputError as error:
            return self._failed(TailEvent.UNREADABLE, str(error))

    def _advance(self, max_bytes: int, *, final: bool) -> TailResult:
        if self._file is None:
            self._file = self._attach()
        if not self._file.is_file_of(self.position):
            return self._end_stream(TailEvent.ROTATED)
        data = self._read(self._file, max_bytes, final=final)
        if data == b"":
            successor = self._look_again(self._file)
            if successor is not None and (final or self._saw_successor):
                self._replace(successor)
                return self._end_stream(TailEvent.ROTATED)
            self._note_successor(successor)
            data = self._read(self._file, max_bytes, final=final)
        if data is None:
            return self._end_stream(TailEvent.TRUNCATED)
        return self._deliver(self._file, data)

    def _attach(self) -> OpenFile:
        """Open the file of the position, under its own name or a later one; else whatever is there.

        The latter is then found to be another file.
        """
        try:
            found = open_file(self.path, self._opener)
        except FileNotFoundError:
            renamed = find_renamed(self.path, self.position, self._opener)
            if renamed is None:
                raise
            return renamed
        if not found.is_file_of(self.position):
            renamed = find_renamed(self.path, self.position, self._opener)
            if renamed is not None:
                found.close()
                return renamed
        return found

    def _read(self, file: OpenFile, max_bytes: int, *, final: bool) -> bytes | None:
        """What is new in `file`; null when its content is another one than the position's."""
        offset = self.position.offset
        try:
            if file.look() and (file.size < offset or not file.begins_as(self.position)):
                return None
            data = file.read(offset, max_bytes)
        except OSError:
            self.close()  # a stale handle of a network filesystem never recovers
            raise
        if data.endswith(b"\0") and not final and offset + len(data) >= file.size:
            # On a network filesystem the size may arrive before the bytes, which then read as NUL.
            return data.rstrip(b"\0")
        return data

    def _look_again(self, file: OpenFile) -> OpenFile | None:
        """At the end of `file`, open its name anew; return what is there if it is another file.

        Network filesystems answer `stat` from a cache for up to a minute, and from the server when
        a file is opened: the same file is followed through the new descriptor.
        """
        fresh = open_file(self.path, self._opener)
        if fresh.inode == file.inode and fresh.device == file.device:
            self._replace(fresh)
            return None
        return fresh

    def _note_successor(self, successor: OpenFile | None) -> None:
        """Give the writer of a renamed file one more poll: it may not have opened the new one."""
        self._saw_successor = successor is not None
        if successor is not None:
            successor.close()

    def _replace(self, file: OpenFile) -> None:
        self.close()
        self._file = file

    def _deliver(self, file: OpenFile, data: bytes) -> TailResult:
        offset = self.position.offset + len(data)
        head = self._head(file, offset)  # before anything is taken: reading it may fail
        blocks = tuple(self._holder.take(data))
        if data or not self.position.inode:
            self._note(offset, head)
        lag = max(0, file.size - offset)
        return TailResult(blocks=blocks, position=self.position, lag_bytes=lag)

    def _head(self, file: OpenFile, offset: int) -> tuple[int, bytes]:
        """Length and digest of the remembered first bytes, once those up to `offset` were read."""
        length = min(HEAD_BYTES, offset)
        if length <= self.position.head_length:
            return self.position.head_length, self.position.head_digest
        # NULs may be bytes that haven't arrived; they are no mark.
        head = file.read(0, length).split(b"\0", 1)[0]
        return len(head), digest(head)

    def _end_stream(self, event: TailEvent) -> TailResult:
        """Deliver the unfinished line of the old stream, and stand at the start of the new one."""
        blocks = tuple(self._holder.finish())
        self.position = TailPosition()
        self._holder = self._new_holder()
        self._saw_successor = False
        self._note(0, (0, b""))
        lag = self._file.size if self._file else None
        return TailResult(
            blocks=blocks, position=self.position, events=frozenset({event}), lag_bytes=lag
        )

    def _failed(self, event: TailEvent, reason: str) -> TailResult:
        return TailResult(
            blocks=(), position=self.position, events=frozenset({event}), reason=reason
        )

    def _new_holder(self) -> LineHolder:
        at = self.position
        return LineHolder(
            os.fsencode(self.path).decode("utf-8", "replace"),  # a name may be no UTF-8
            partial=at.partial,
            start=(at.offset, at.line, at.line_start),
            skipped=self._skipped,
        )

    def _note(self, offset: int, head: tuple[int, bytes]) -> None:
        """Make the position of what was read up to `offset`."""
        source = self._file or self.position
        self.position = TailPosition(
            device=source.device,
            inode=source.inode,
            offset=offset,
            head_length=head[0],
            head_digest=head[1],
            line=self._holder.line,
            line_start=self._holder.line_start,
            partial=self._holder.partial,
        )
