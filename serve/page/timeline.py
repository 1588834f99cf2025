"""The course of one attempt as the lake has it: steps, silences, pace, and who printed last.

Read off the runner's lock, and bounded: the newest row groups of the attempt, so many lines, and a
little at a time. What was read once is kept, so a page that asks again reads only what is new.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final

from relume.clock import MICROSECONDS_PER_SECOND, Clock
from relume.errors import RelumeError
from relume.events import LogLine
from relume.features.progress.parse import parse_progress
from relume.features.progress.point import ProgressPoint
from relume.ingest.lake import (
    LakeIndex,
    LakeReader,
    LineBatch,
    MissingSegmentError,
    Parsers,
    RowGroup,
)
from relume.ingest.lake.index import index_segment
from relume.ingest.lake.journal import Commit, Segment, read_commits
from relume.ingest.lake.segments import TABLES
from relume.serve.explain.spread import Course
from relume.serve.ledger import AttemptRecord
from relume.serve.page.words import cut
from relume.verdict import JOB_STREAMS

MAX_TRACKS: Final = 32
"""Attempts of which what was read is kept; the one not asked for longest goes first."""
MAX_COMMITS: Final = 4_000
"""Commits that are looked through for an attempt, the newest."""
MAX_ROWS: Final = 200_000
"""Lines of an attempt that are looked at, the newest; from row groups as they are."""
MAX_RANKS: Final = 4_096
MAX_LAST: Final = 12
"""Newest lines that are shown."""
LINES: Final = TABLES[LogLine]
BUDGET_SECONDS: Final = 0.5
"""How long one question may read on; the next one goes on from there."""


@dataclass(slots=True)
class RankCourse:
    """What one rank printed: so many lines, the last one then, and its newest step (or null)."""

    rank: int
    node: str | None = None
    lines: int = 0
    last_at: int = 0
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """The course of one attempt. Times are UTC microseconds.

    Attributes
    ----------
    steps, gaps, step_seconds
        ``(time, number)``: the step that was reached; how long nobody had shown a new step then,
        in seconds; the time of one step, in seconds. Thinned out: of each stretch the largest.
    ranks
        Who printed, by rank; lines that name no rank count for none.
    last
        The newest lines.
    lines
        How many were looked at.
    is_whole
        Whether all that landed of it was looked at; `missing` says what wasn't, and why.
    """

    attempt: str
    steps: list[tuple[int, float]]
    gaps: list[tuple[int, float]]
    step_seconds: list[tuple[int, float]]
    ranks: list[RankCourse]
    last: list[tuple[int | None, int | None, str]]
    lines: int
    is_whole: bool
    missing: list[str]


@dataclass(slots=True)
class _Track:
    """What was read of one attempt by now."""

    attempt: str
    after: int
    """The last commit of which the row groups are known."""
    waiting: list[RowGroup] = field(default_factory=list)
    steps: Course = field(default_factory=Course)
    gaps: Course = field(default_factory=Course)
    paces: Course = field(default_factory=Course)
    ranks: dict[int, RankCourse] = field(default_factory=dict)
    last: list[tuple[int | None, int | None, str]] = field(default_factory=list)
    lines: int = 0
    left_out: int = 0
    _stepped_at: int | None = None
    _reached: int = -1
    _before: dict[str, tuple[int, int]] = field(default_factory=dict)

    def take(self, line: LogLine, at: int | None) -> None:
        """Take one line that came at a time, null where nobody knows when."""
        self.lines += 1
        self.last.append((at, line.rank, cut(line.text)))
        if len(self.last) > 2 * MAX_LAST:
            del self.last[:-MAX_LAST]
        point = parse_progress(line.message)
        rank = None if line.rank is None else self._rank(line.rank)
        if rank is not None:
            rank.lines += 1
            rank.last_at = max(rank.last_at, at or 0)
            rank.node = line.node or rank.node
        if point is None or point.step is None or at is None or point.phase != "train":
            return
        if rank is not None:
            rank.step = max(point.step, -1 if rank.step is None else rank.step)
        self._step(point, point.step, line.file, at)

    def _rank(self, number: int) -> RankCourse | None:
        if number not in self.ranks and len(self.ranks) >= MAX_RANKS:
            return None
        return self.ranks.setdefault(number, RankCourse(number))

    def _step(self, point: ProgressPoint, step: int, file: str, at: int) -> None:
        before = self._before.get(file)
        self._before[file] = (at, step)
        if len(self._before) > MAX_RANKS:
            del self._before[next(iter(self._before))]
        took = point.step_time_seconds
        if took is None and before is not None and step > before[1]:
            took = (at - before[0]) / MICROSECONDS_PER_SECOND / (step - before[1])
        if took is not None and took > 0:
            self.paces.add(at, took)
        if step > self._reached:  # what another rank showed before is no news
            if self._stepped_at is not None:
                self.gaps.add(at, max(0, at - self._stepped_at) / MICROSECONDS_PER_SECOND)
            self._stepped_at, self._reached = max(at, self._stepped_at or 0), step
        self.steps.add(at, self._reached)


@dataclass(slots=True)
class Timelines:
    """Reads the courses of attempts. Thread-safe; one question after the other.

    Parameters
    ----------
    lake
        Its folder.
    zone
        IANA name of the zone of clocks that name none.
    clock
        Counts seconds, to stop in time.
    """

    lake: Path
    zone: str
    clock: Clock
    _tracks: OrderedDict[str, _Track] = field(default_factory=OrderedDict)
    _groups: OrderedDict[str, tuple[RowGroup, ...]] = field(default_factory=OrderedDict)
    _reader: LakeReader | None = None
    _lock: Lock = field(default_factory=Lock)

    def of(self, record: AttemptRecord) -> Timeline:
        """Return the course of an attempt, as far as it could be read in `BUDGET_SECONDS`."""
        missing: list[str] = []
        with self._lock:
            track = self._tracks.pop(record.attempt, None) or _Track(record.attempt, 0)
            self._tracks[record.attempt] = track
            while len(self._tracks) > MAX_TRACKS:
                self._tracks.popitem(last=False)
            try:
                is_whole = self._read_on(track, record)
            except RelumeError as error:
                is_whole = False
                missing.append(str(error))
            return _shown(track, is_whole=is_whole, missing=missing)

    def _read_on(self, track: _Track, record: AttemptRecord) -> bool:
        """Look at what is new; whether that was all of it."""
        until = self.clock.steady() + round(BUDGET_SECONDS * MICROSECONDS_PER_SECOND)
        if not self._find(track, record, until):
            return False
        self._reader = self._reader or LakeReader(self.lake, zone=self.zone)
        parsers = Parsers(self.zone)
        while track.waiting:
            if self.clock.steady() > until:
                return False
            group = track.waiting.pop(0)
            for line, at in _lines(self._reader, group, track.attempt, parsers):
                track.take(line, at)
        return True

    def _find(self, track: _Track, record: AttemptRecord, until: int) -> bool:
        """Find the row groups that hold lines of it; whether all are known."""
        begin = record.start_time or record.submit_time or 0
        commits = [one for one in read_commits(self.lake, track.after) if one.committed_at >= begin]
        for commit in commits[-MAX_COMMITS:]:
            if self.clock.steady() > until:
                return False
            track.waiting += [one for one in self._of(commit) if track.attempt in one.attempts]
            track.after = commit.sequence
        rows = sum(one.rows for one in track.waiting)
        while rows > MAX_ROWS and len(track.waiting) > 1:
            dropped = track.waiting.pop(0)
            rows -= dropped.rows
            track.left_out += dropped.rows
        return True

    def _of(self, commit: Commit) -> Iterator[RowGroup]:
        for segment in commit.segments:
            if segment.table != LINES:
                continue
            if segment.path not in self._groups:
                self._groups[segment.path] = self._index(commit, segment)
                while len(self._groups) > 2 * MAX_COMMITS:
                    self._groups.popitem(last=False)
            yield from self._groups[segment.path]

    def _index(self, commit: Commit, segment: Segment) -> tuple[RowGroup, ...]:
        try:
            return tuple(index_segment(self.lake, segment, commit.sequence))
        except MissingSegmentError:  # its time is over: it was pruned
            return ()


def _lines(
    reader: LakeReader, group: RowGroup, attempt: str, parsers: Parsers
) -> Iterator[tuple[LogLine, int | None]]:
    """The lines of an attempt in a row group, each with when it came."""
    for landing in reader.landings_about((attempt,), index=LakeIndex([group])):
        if not isinstance(landing, LineBatch) or landing.stream not in JOB_STREAMS:
            continue
        for line in parsers.lines(landing):
            yield line, line.event_time if line.event_time is not None else landing.observed_at


def _shown(track: _Track, *, is_whole: bool, missing: list[str]) -> Timeline:
    if track.left_out:
        missing.append(f"the first {track.left_out:,} rows: only the newest are looked at")
    if not is_whole and not missing:
        missing.append("the rest of its lines: they are being read")
    return Timeline(
        attempt=track.attempt,
        steps=sorted(track.steps.points),
        gaps=sorted(track.gaps.points),
        step_seconds=sorted(track.paces.points),
        ranks=[track.ranks[rank] for rank in sorted(track.ranks)],
        last=track.last[-MAX_LAST:],
        lines=track.lines,
        is_whole=is_whole,
        missing=missing,
    )
