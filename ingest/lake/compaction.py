"""Many small segments become few large ones: the same landings in the same order, under one commit.

A live service commits every few milliseconds to seconds, and each commit is a file a table. What
stands in sealed files of the journal is merged: first the large segments are made durable, then the
file of the journal is replaced as a whole, which is the one moment in which it happens. The small
segments stay for a while after that, for those who have read the journal already.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from relume.clock import MICROSECONDS_PER_SECOND, Clock
from relume.ingest.lake.errors import LakeWriteError, MissingSegmentError
from relume.ingest.lake.files import make_folder
from relume.ingest.lake.journal import (
    MERGED_FORMAT,
    Commit,
    Part,
    Segment,
    entries_of,
    read_pruned,
    replace_entries,
    sealed_files,
)
from relume.ingest.lake.segments import EVENTS, StagedSegment, date_of, read_segment, sequence_of

FOLDER = "compacting"
TARGET_BYTES = 128 << 20
"""Size on disk at which a merged segment is large enough."""
GROUP_BYTES = 8 << 20
"""A row group has about as much in memory."""
GRACE_SECONDS = 900.0
"""How long small segments stay when they have been merged: a query that knows only them goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """What was done.

    Attributes
    ----------
    commits
        Commits that are parts of others now.
    segments_before, segments_after
        Segments that were merged, and those that they became.
    removed
        Small segments that nothing needs any more and that are gone.
    """

    commits: int = 0
    segments_before: int = 0
    segments_after: int = 0
    removed: int = 0

    def __add__(self, other: Compaction) -> Compaction:
        return Compaction(
            commits=self.commits + other.commits,
            segments_before=self.segments_before + other.segments_before,
            segments_after=self.segments_after + other.segments_after,
            removed=self.removed + other.removed,
        )


def compact(lake: Path, clock: Clock, *, grace_seconds: float = GRACE_SECONDS) -> Compaction:
    """Merge what stands in sealed files of the journal; the writer may go on meanwhile.

    One at a time, and only by the process that has the lake open for writing (or holds its lock).

    Raises
    ------
    CorruptJournalError, CorruptSegmentError
        When a part of the lake is damaged; what was merged before stays merged.
    LakeWriteError
        When the disk fails; nothing is lost.
    """
    staging = lake / FOLDER
    done = Compaction()
    try:
        shutil.rmtree(staging, ignore_errors=True)
        make_folder(staging.absolute())
        for path in sealed_files(lake):
            done += _compact_file(lake, path, staging)
        return done + Compaction(removed=_sweep(lake, clock.now(), grace_seconds))
    except OSError as error:
        raise LakeWriteError(
            f"lake {lake}: compaction",
            found=error.strerror or str(error),
            expected="a disk that takes what is written",
            hint="make room or mend the disk; nothing is lost, it is tried again",
        ) from error


def _compact_file(lake: Path, path: Path, staging: Path) -> Compaction:
    entries, pruned = entries_of(path), read_pruned(lake)
    found, done = list[Commit](), Compaction()
    for group in _groups(entries, pruned):
        merged = _merge(lake, group, staging) if len(group) > 1 else None
        if merged is None:
            found += group
            continue
        found.append(merged)
        done += Compaction(
            commits=len(group) - 1,
            segments_before=sum(len(commit.segments) for commit in group),
            segments_after=len(merged.segments),
        )
    if done.commits:
        replace_entries(path, found, staging)
    return done


def _groups(entries: Sequence[Commit], pruned: int) -> Iterator[list[Commit]]:
    """Runs of commits that become one: of one day, and no larger than is wished."""
    group, size, day = list[Commit](), 0, None
    for commit in entries:
        days = {date_of(segment) for segment in commit.segments}
        alone = commit.checkpoint or bool(commit.merged) or commit.pruned is not None
        alone = alone or commit.sequence <= pruned or len(days) > 1
        bytes_ = sum(segment.bytes for segment in commit.segments)
        own = next(iter(days), day)
        fits = size + bytes_ <= TARGET_BYTES and (day is None or own == day)
        if group and (alone or not fits):
            yield group
            group, size, day = [], 0, None
            own = next(iter(days), None)
        if alone:
            yield [commit]
            continue
        group.append(commit)
        size, day = size + bytes_, own
    if group:
        yield group


def _merge(lake: Path, group: Sequence[Commit], staging: Path) -> Commit | None:
    """Write what some commits hold as one; null when a part was pruned meanwhile."""
    last = group[-1]
    tables: dict[str, list[Segment]] = {}
    for commit in group:
        for segment in commit.segments:
            tables.setdefault(segment.table, []).append(segment)
    try:
        segments = [
            _merge_table(lake, segments, staging, (group[0].sequence, last.sequence))
            for segments in tables.values()
        ]
    except MissingSegmentError:
        if last.sequence > read_pruned(lake) >= group[0].sequence:
            return None
        raise
    parts = (Part(one.sequence, one.next_landed, one.committed_at) for one in group[:-1])
    positions = {name: at for commit in group for name, at in commit.positions.items()}
    return replace(
        last,
        segments=tuple(segments),
        positions=positions,
        merged=tuple(parts),
        format=MERGED_FORMAT,
    )


def _merge_table(
    lake: Path, segments: Sequence[Segment], staging: Path, commits: tuple[int, int]
) -> Segment:
    first, last = commits
    staged = StagedSegment(EVENTS[segments[0].table], staging)
    held: list[pa.Table] = []
    for segment in segments:
        for group in read_segment(lake, segment):
            held.append(group)
            # Whole row groups: what landed together must not stand in two.
            if sum(one.nbytes for one in held) >= GROUP_BYTES:
                staged.write(pa.concat_tables(held))
                held.clear()
    if held:
        staged.write(pa.concat_tables(held))
    return staged.publish(lake, date_of(segments[0]).isoformat(), last, first=first)


def _sweep(lake: Path, now: int, grace_seconds: float) -> int:
    """Remove segments that the journal doesn't name any more, when it hasn't for a while."""
    removed = 0
    oldest = now / MICROSECONDS_PER_SECOND - grace_seconds
    kept: set[str] = set()
    spans: list[tuple[int, int]] = []
    for path in sealed_files(lake):
        commits = [commit for commit in entries_of(path) if not commit.checkpoint]
        kept.update(segment.path for commit in commits for segment in commit.segments)
        if commits and path.stat().st_mtime <= oldest:
            spans.append((commits[0].first, commits[-1].sequence))
    for path in lake.glob("table=*/date=*/*.parquet"):
        number = sequence_of(path)
        is_over = any(first <= number <= last for first, last in spans)
        if is_over and str(path.relative_to(lake)) not in kept:
            path.unlink()
            removed += 1
    return removed
