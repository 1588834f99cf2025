"""When a job's progress was last seen, and when anything of it: the clocks of an attempt."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from relume.features.progress.run import Flags, Integers, Run

GAPS: Final = 256
"""Gaps between progress lines kept, for the usual gap."""
MAX_FILES: Final = 256
"""Files whose clocks are compared."""
SKEW: Final = 600_000_000
"""Microseconds by which a clock may fall back within a file: ranks are not in step."""
STOPPED_SECONDS: Final = 1800.0
"""Silence of the progress lines, other lines going on, before a job counts as standing still."""
LONGEST_SILENCE_SECONDS: Final = 30 * 86400.0
"""A longer one is no silence: the lines come from two runs, or a clock was never set."""


@dataclass(slots=True)
class Clocked:
    """The clocks of an attempt. Times are UTC microseconds; null where a line has no clock.

    `add_clocked_line` is for lines of the job's own output and its wrapper's only: a kernel log
    goes on whatever the job does.
    """

    progress_time: int | None = None
    """When anything last advanced; the first clock after it where the line itself has none."""
    last_clock: int | None = None
    """The latest clock of any line."""
    clocks_disagree: bool = False
    """Clocks of one file fell back by `SKEW`: two time zones, so that silences mean nothing."""
    work_time: int | None = None
    """When other work than steps was last seen since: counters of an evaluation, of an upload."""
    gaps: deque[int] = field(default_factory=lambda: deque(maxlen=GAPS))
    """Microseconds between progress lines with clocks."""
    _clocks: dict[str, int] = field(default_factory=dict)
    _awaits_clock: bool = False

    def add_clocked_line(self, event_time: int, line: int) -> None:  # noqa: ARG002
        """Note that the job's output went on at this time. `line` is for callers' symmetry."""
        self._note_clock(event_time)

    def note_work(self, event_time: int) -> None:
        """Note that something else than steps advanced at this time."""
        self.work_time = max(event_time, self.work_time or event_time)

    def silence_seconds(self) -> float | None:
        """Seconds from the last new step to the last clock of any line.

        Null without clocks, and where they disagree or lie more than a month apart.
        """
        if self.last_clock is None or self.progress_time is None or self.clocks_disagree:
            return None
        silence = max(0.0, (self.last_clock - self.progress_time) / 1e6)
        return silence if silence <= LONGEST_SILENCE_SECONDS else None

    def is_silent(self) -> bool:
        """Whether the steps have been missing for so long that the job may be standing still."""
        return (self.silence_seconds() or 0.0) >= STOPPED_SECONDS

    def _note_clock(self, event_time: int) -> None:
        if self._awaits_clock:
            self.progress_time, self._awaits_clock = event_time, False
        if self.last_clock is None or event_time > self.last_clock:
            self.last_clock = event_time

    def _compare_clock(self, event_time: int, file: str) -> None:
        latest = self._clocks.pop(file, event_time)
        self.clocks_disagree |= event_time < latest - SKEW
        if len(self._clocks) >= MAX_FILES:
            del self._clocks[next(iter(self._clocks))]
        self._clocks[file] = max(latest, event_time)

    def _note_progress_time(self, event_time: int | None) -> None:
        if event_time is None:
            self._awaits_clock = True
            return
        if self.progress_time is not None and not self._awaits_clock:
            self.gaps.append(max(0, event_time - self.progress_time))
        self._awaits_clock = False
        self.progress_time = event_time

    def _note_times(self, run: Run, new: Flags) -> None:
        """Note the clocks of many lines, of which `new` advanced, as one by one."""
        times, timed = run.times, run.timed
        # A new step without a clock waits for the next one; each clock ends the waiting.
        waits = new & ~timed
        last = _last_before(timed | waits)
        awaiting = np.where(last < 0, self._awaits_clock, waits[last])
        shows = timed & (new | awaiting)
        shown = _last_before(shows)
        is_gap = timed & new & ~awaiting & ((shown >= 0) | (self.progress_time is not None))
        since = np.where(shown < 0, self.progress_time or 0, times[shown])
        self.gaps.extend(np.maximum(times - since, 0)[is_gap][-GAPS:].tolist())
        if shows.any():
            self.progress_time = int(times[shows][-1])
        if (decides := timed | waits).any():
            self._awaits_clock = bool(waits[decides][-1])
        if timed.any():
            self._compare_clocks(times[timed], run.file)

    def _compare_clocks(self, times: Integers, file: str) -> None:
        latest = int(times.max())
        self.last_clock = max(latest, self.last_clock or latest)
        before = np.concatenate(([self._clocks.get(file, times[0])], times[:-1]))
        self.clocks_disagree |= bool((times < np.maximum.accumulate(before) - SKEW).any())
        self._compare_clock(max(latest, self._clocks.get(file, latest)), file)


def _last_before(flags: Flags) -> Integers:
    """Return, for each position, the last flagged one before it; -1 where there is none."""
    at = np.where(flags, np.arange(len(flags)), -1)
    return np.maximum.accumulate(np.concatenate(([-1], at)))[:-1]
