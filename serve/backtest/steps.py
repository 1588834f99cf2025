"""The steps that an attempt showed, by their times, as goodput reads them. Bounded."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from relume.features.progress.markers import Phase

MAX_ROWS = 256
"""Rows kept of one attempt: of more, two neighbours become one, and later ones are as long."""


MAX_STALE = 64
"""So many lines with a new step, none of which is higher than before, are steps that start over."""


class Shows(Protocol):
    """What is looked at of an attempt's progress; see `relume.serve.progress.Progress`."""

    @property
    def new_steps(self) -> int:
        """Lines that showed a new step, so far."""

    @property
    def last_step(self) -> int | None:
        """The highest number of a step, null for none."""

    @property
    def entered_phase(self) -> Phase | None:
        """The phase with legal silences that it is in, null for none."""


class StepRow(NamedTuple):
    """The step that was done by `at`, and what since the row before was no work. Microseconds."""

    at: int
    step: int
    pause: int


class StepRecord:
    """Notes the steps of one attempt as they land.

    A step is the highest number that the log shows. Where that stands still while steps go on,
    since numbers start over (a bar for each epoch) or aren't shown, lines with a new step count on
    from there, and `counts_lines` says so: then nobody can tell which steps were done before, nor
    how long one takes.

    Examples
    --------
    >>> record = StepRecord(max_rows=4)
    >>> for second in range(1, 9):
    ...     record.add(second, second)
    >>> [row.step for row in record.rows]
    [1, 4, 6, 8]
    """

    __slots__ = (
        "_filled",
        "_lines",
        "_max_rows",
        "_open",
        "_paused",
        "_shown",
        "_stale",
        "_stride",
        "counts_lines",
        "rows",
    )

    def __init__(self, *, max_rows: int = MAX_ROWS) -> None:
        self.rows: list[StepRow] = []
        self.counts_lines = False
        self._max_rows = max_rows
        self._lines = self._stale = self._paused = 0
        self._stride = self._filled = 1
        self._shown: int | None = None
        self._open: int | None = None

    def note(self, progress: Shows, at: int) -> None:
        """Take that the attempt's progress is as it is by `at`."""
        lines = progress.new_steps - self._lines
        if not lines:
            self._note_phase(at, is_pause=bool(self.rows) and progress.entered_phase is not None)
            return
        self._lines = progress.new_steps
        last, done = progress.last_step, self.rows[-1].step if self.rows else 0
        self._stale += lines
        if last is not None and (self._shown is None or last > self._shown):
            self._shown, step = last, last if last > done or not self.rows else done + self._stale
        elif self._stale >= MAX_STALE:
            self.counts_lines, step = True, done + self._stale
        else:  # another printer, beside the one with the highest numbers
            return
        self._stale = 0
        self._note_phase(at, is_pause=False)
        self.add(at, step, self._paused)
        self._paused = 0

    def _note_phase(self, at: int, *, is_pause: bool) -> None:
        """Note that by `at` the attempt is in a phase without steps, such as a checkpoint, or not.

        A new step ends it.
        """
        if self._open is None and is_pause:
            self._open = at
        elif self._open is not None and not is_pause:
            self._paused += at - self._open
            self._open = None

    def add(self, at: int, step: int, pause: int = 0) -> None:
        """Add a row; times never go back."""
        is_late = bool(self.rows) and at <= self.rows[-1].at
        if is_late or (self._filled < self._stride and len(self.rows) > 1):
            before = self.rows[-1]
            at, step = max(at, before.at), max(step, before.step)
            self.rows[-1] = StepRow(at, step, before.pause + pause)
            self._filled += not is_late
            return
        self.rows.append(StepRow(at, step, pause))
        self._filled = 1
        if len(self.rows) > self._max_rows:
            self._thin()

    def _thin(self) -> None:
        """Make one of each two rows, but for the first and the last: time and steps stay."""
        first, *middle, last = self.rows
        pairs = zip(middle[::2], middle[1::2], strict=False)
        kept = [StepRow(b.at, b.step, a.pause + b.pause) for a, b in pairs]
        if len(middle) % 2:
            kept.append(middle[-1])
        self.rows = [first, *kept, last]
        self._stride *= 2
