"""The healthy history of a lake: one JSON file beside its segments, and who adds to it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import msgspec

from relume.clock import MICROSECONDS_PER_SECOND
from relume.errors import InputError
from relume.events import SchedulerEvent
from relume.identity import AttemptId, read_comment, run_name
from relume.ingest.blocks import Block
from relume.ingest.lake import Landing, LineBatch
from relume.ingest.lake.batches import logical_lines
from relume.ingest.lake.files import publish
from relume.models.diagnosis.scheduler import COMPLETED
from relume.models.templates.families import family_keys
from relume.models.templates.history import FORMAT, HistoryState, TemplateHistory
from relume.serve.kept import KeptLines
from relume.verdict import JOB_STREAMS

log = logging.getLogger(__name__)
HISTORY_FILE = "healthy.json"
MAX_BYTES = 256 << 20
"""A larger file is none of ours."""
KEEP_SECONDS = 60
END_BYTES = 32 * 1024
"""The end of each log."""
MAX_OPEN = 64
"""Attempts of which lines are landing at the same time."""
_HINT = "remove it: it is learned anew"


def load_history(lake: Path) -> TemplateHistory | None:
    """Return what was learned of the healthy attempts of a lake; null for nothing yet.

    Raises
    ------
    InputError
        When the file is none of ours, or of a newer Relume.
    OSError
        When it can't be read.
    """
    path = lake / HISTORY_FILE
    if not path.exists():
        return None
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path}", found=f"more than {MAX_BYTES} bytes", hint=_HINT)
        state = msgspec.json.decode(path.read_bytes(), type=HistoryState)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InputError(
            f"{path}", found=str(error), expected="what Relume learned", hint=_HINT
        ) from error
    if state.format != FORMAT:
        raise InputError(
            f"{path}", found=f"format {state.format}", expected=f"format {FORMAT}", hint=_HINT
        )
    return TemplateHistory.restore(state)


def save_history(lake: Path, history: TemplateHistory) -> None:
    """Write it whole or not at all.

    Raises
    ------
    OSError
        When it can't be written.
    """
    path = lake / HISTORY_FILE
    staged = path.with_suffix(".new")
    staged.write_bytes(msgspec.json.encode(history.state()))
    publish(staged, path)  # else a power failure leaves an empty file under the name


def load_or_begin(lake: Path) -> TemplateHistory:
    """Return the history of a lake; one that can't be read is begun anew, since it can be."""
    try:
        return load_history(lake) or TemplateHistory()
    except (InputError, OSError) as error:
        log.warning("%s; the healthy history is begun anew", error)
        return TemplateHistory()


@contextmanager
def learning(lake: Path) -> Iterator[ImportLearner]:
    """Yield who learns from what lands in `lake`; what was learned is kept, whatever happens."""
    learner = ImportLearner(load_or_begin(lake))
    try:
        yield learner
    finally:
        if learner.learned:
            save_history(lake, learner.history)


class LakeHistory:
    """The history of a lake that grows while a service runs, and is kept now and then.

    Attributes
    ----------
    history
        What is known by now.
    """

    def __init__(self, lake: Path) -> None:
        self.history = load_or_begin(lake)
        self._lake = lake
        self._kept, self._kept_at = self.history.version, 0

    def resume(self, history: TemplateHistory) -> None:
        """Go on from another history of this lake: what the file has is older, or comes again."""
        self.history, self._kept = history, -1

    @property
    def is_removed(self) -> bool:
        """Whether somebody took the file away: what was learned is to be forgotten."""
        return not (self._lake / HISTORY_FILE).exists()

    def keep(self, now: int) -> None:
        """Write it, when something was learned and the last time is a minute ago (microseconds)."""
        due = now - self._kept_at >= KEEP_SECONDS * MICROSECONDS_PER_SECOND
        if due and self.history.version != self._kept:
            self._kept_at = now
            self.close()

    def close(self) -> None:
        """Write what was learned; where that fails, it is learned again some day."""
        if self.history.version == self._kept:
            return
        try:
            save_history(self._lake, self.history)
            self._kept = self.history.version
        except OSError as error:
            log.warning("cannot keep the healthy history in %s: %s", self._lake, error)


def run_of(event: SchedulerEvent) -> str | None:
    """Return the user and the run that a job's comment names, null where it names none."""
    opt_in = read_comment(event.comment)
    if opt_in.run is None:
        return None
    return f"{event.user or '-'}/{run_name(opt_in, AttemptId.parse(event.attempt).job_key)}"


@dataclass(slots=True)
class _Landing:
    """An attempt whose lines are landing."""

    kept: KeptLines = field(default_factory=KeptLines)
    last: dict[str, list[Block]] = field(default_factory=dict)

    def add(self, block: Block) -> None:
        """Take lines; the end of each log is in the last two blocks of it."""
        self.kept.add(block, ())
        self.last[block.file] = [*self.last.get(block.file, [])[-1:], block]

    def lines(self) -> Iterator[bytes]:
        """Yield the start, the middle and the end of each log."""
        blocks = chain.from_iterable(self.last.values())
        return chain(self.kept.sampled(), chain.from_iterable(map(_end, blocks)))


@dataclass(slots=True)
class ImportLearner:
    """Learns from landings of recordings: of each attempt that accounting calls COMPLETED.

    Holds a block or two of each log of the attempts that are landing, `MAX_OPEN` at most.
    """

    history: TemplateHistory
    learned: int = 0
    _open: dict[str, _Landing] = field(default_factory=dict)

    def take(self, landing: Landing) -> None:
        """Take one landing, in order."""
        if isinstance(landing, LineBatch):
            if landing.attempt is not None and landing.stream in JOB_STREAMS:
                self._of(landing.attempt).add(landing.block)
        elif isinstance(landing, SchedulerEvent) and landing.state == COMPLETED:
            found = self._open.pop(landing.attempt, None)
            if found is not None and not landing.exit_code:
                families = family_keys(run_of(landing), found.last)
                self.learned += self.history.learn(landing.attempt, families, found.lines())

    def _of(self, attempt: str) -> _Landing:
        found = self._open.get(attempt)
        if found is None:
            while len(self._open) >= MAX_OPEN:
                del self._open[next(iter(self._open))]
            found = self._open[attempt] = _Landing()
        return found


def _end(block: Block) -> list[bytes]:
    """Return the last whole lines of a block."""
    lines = [raw for _, raw in logical_lines(block.data[-END_BYTES:])]
    return lines[len(block.data) > END_BYTES :]
