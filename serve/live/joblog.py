"""One output file of one attempt: how far it is read, and whether what is there is its own."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from relume.errors import InputError
from relume.ingest.tail import Tailer, TailEvent, TailResult
from relume.ingest.tailing.file import Opener
from relume.ingest.tailing.group import BUDGET_BYTES
from relume.ingest.tailing.mark import EndMark, Since, mark_end, since
from relume.ingest.tailing.position import TailPosition
from relume.verdict import Health

_NEW_PART = frozenset({TailEvent.TRUNCATED, TailEvent.ROTATED})


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept in the lake about one output file.

    Attributes
    ----------
    attempt
        Whom it is, or was last, read for.
    position
        Where the reading stands.
    mark
        The end of the attempt before, as long as nothing was read for this one; of an attempt that
        is over, its own. Null while an attempt is being read.
    is_paused
        Whether a truncation was seen that may be the next attempt's.
    part
        1, and one more for each time that the attempt's file was written anew or rotated.
    """

    attempt: str
    position: TailPosition
    mark: EndMark | None = None
    is_paused: bool = False
    part: int = 1

    def to_text(self) -> str:
        """Return the JSON form."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_text(cls, text: str) -> Kept:
        """Read the JSON form.

        Raises
        ------
        InputError
            For any other text.
        """
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise InputError(
                "position of a job's log",
                found=str(error),
                expected="the JSON that to_text gives",
                hint="was it written by another version of Relume?",
            ) from error


class JobLog:
    """Reads one output file for one attempt.

    Parameters
    ----------
    path, stream
        The file, and what it is to the job.
    attempt
        Whom it is read for.
    opener
        Opens it, if it may be read.
    before
        What is kept of it: of the attempt before, or of this one from before a restart.

    Attributes
    ----------
    paused_at
        When a truncation was seen that may be the next attempt's; null otherwise.
    is_over, reason
        Whether it was read to the end or given up, and why the latter.
    told
        The health that was told last.
    """

    def __init__(
        self, path: str, stream: str, attempt: str, opener: Opener, before: Kept | None
    ) -> None:
        self.path, self.stream, self.attempt = path, stream, attempt
        self.paused_at: int | None = None
        self.is_over = False
        self.reason: str | None = None
        self.told: tuple[Health, str | None] | None = None
        self._opener = opener
        self._mark = None if before is None else before.mark
        position = None if before is None else before.position
        is_new = before is None or before.attempt != attempt
        self._fresh = is_new or self._mark is not None
        if before is not None and before.is_paused and not is_new:
            self.paused_at = 0
        self._part = before.part if before is not None and not is_new else 1
        self._tailer = Tailer(path, position, opener=opener)

    @property
    def offset(self) -> int:
        """How many bytes of the file were read."""
        return self._tailer.position.offset

    def kept(self) -> Kept:
        """Return what has to be kept of it."""
        return Kept(
            self.attempt,
            self._tailer.position,
            self._mark,
            is_paused=self.paused_at is not None,
            part=self._part,
        )

    def poll(self, max_bytes: int, now: int) -> TailResult | None:
        """Read what is new; null when nothing of it is known to be the attempt's.

        A truncation in the middle pauses the reading: it may be the next attempt's.
        """
        if self._is_of_before():
            return None
        result = self._named(self._tailer.poll(max_bytes))
        if TailEvent.TRUNCATED in result.events and not self._fresh:
            self.paused_at = now
        self._fresh = self._fresh and not result.blocks
        return result

    def finish(self, *, has_successor: bool, overdue: bool) -> TailResult | None:
        """Read on to the end, and be over when it is reached; null when there was nothing to read.

        `has_successor` says that another attempt writes there by now, `overdue` that it was tried
        for long enough.
        """
        is_next_ones = self.paused_at is not None and has_successor
        if is_next_ones or self._is_of_before():
            self.give_up(None)
            return None
        self.paused_at = None  # nobody else came: it truncated its own log
        result = self._named(self._tailer.finish(BUDGET_BYTES))
        truncated = TailEvent.TRUNCATED in result.events
        if truncated and self._fresh:
            self._fresh = False  # its own start: what is there now is the attempt's
            return result
        replaced = has_successor and TailEvent.ROTATED in result.events
        if truncated or replaced or (result.ended and result.reason is None):
            self.give_up(None)
        elif overdue or (has_successor and result.reason is not None):
            self.give_up(result.reason or "there was no end to it")
        return result

    def give_up(self, reason: str | None) -> None:
        """Read no further: all was read when `reason` is null."""
        self.is_over, self.reason = True, reason
        self.close()
        try:
            self._mark = mark_end(self.path, self._tailer.position, self._opener)
        except (OSError, InputError):
            self._mark = None

    def close(self) -> None:
        """Give the descriptor back."""
        self._tailer.close()

    def _named(self, result: TailResult) -> TailResult:
        """Give each part of a file a name of its own: line numbers begin again in it."""
        if self._part > 1:
            for block in result.blocks:
                block.file = f"{block.file} (part {self._part})"
        if not self._fresh and result.events & _NEW_PART:
            self._part += 1
        return result

    def _is_of_before(self) -> bool:
        """Whether there is nothing but what the attempt before had written.

        If Slurm appends, the attempt begins where that ended, and if it truncates, at the first
        byte, even if it writes the very same again.
        """
        if self._mark is None or not self._fresh:
            return False
        try:
            found = since(self.path, self._tailer.position, self._mark, self._opener)
        except (OSError, InputError):
            return False  # the tail finds out why, and says it
        if found is Since.UNTOUCHED:
            return True
        if found is Since.REPLACED:
            self._tailer.close()
            self._tailer = Tailer(self.path, opener=self._opener)
        self._mark = None
        return False
