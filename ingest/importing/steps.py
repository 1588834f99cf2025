"""A unit step by step: what lands next, and where the import stands then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from msgspec.structs import replace

from relume.errors import InputError
from relume.ingest.attempts import content_reason
from relume.ingest.filenames import writer_of
from relume.ingest.forms import KERNEL, form_of
from relume.ingest.importing.logs import Place, read_batches
from relume.ingest.importing.position import UnitPosition
from relume.ingest.importing.prepared import PreparedUnit, changed
from relume.ingest.importing.stamps import Stamp, is_untouched
from relume.ingest.importing.unit import EventsPart, LogPart, Part
from relume.ingest.lake import Landing
from relume.ingest.opening import probe
from relume.ingest.skips import SkipCounts

EVENTS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Step:
    """What lands, where the import stands after it, and how much of the disk was read for it."""

    landings: Sequence[Landing]
    position: UnitPosition
    read_bytes: int = 0


def steps(ready: PreparedUnit, position: UnitPosition, skipped: SkipCounts) -> Iterator[Step]:
    """Yield what a unit still has to land after `position`.

    Raises
    ------
    InputError
        When a file can't be read, or changes while it is read. What was yielded before stands.
    """
    for number in range(position.part, len(ready.unit.parts)):
        before = position if number == position.part else replace(ready.start, part=number)
        yield from _of_part(ready, before, skipped)
    yield Step((), replace(ready.start, done=True))


def _of_part(ready: PreparedUnit, before: UnitPosition, skipped: SkipCounts) -> Iterator[Step]:
    part, stamp = ready.unit.parts[before.part], ready.stamps[before.part]
    size, told = 0 if stamp is None else stamp.size, 0
    at = replace(before, stamp=stamp)
    reading = (
        _events(part, at, skipped) if isinstance(part, EventsPart) else _lines(part, at, skipped)
    )
    for landings, after in reading:
        _require_untouched(part, stamp)
        # Of a compressed file this is more than was read; its rest comes with the last step.
        read = min(after.offset, size)
        yield Step(landings, after, read - told)
        told = read
    _require_untouched(part, stamp)  # nothing may have been read of it, since it is gone
    yield Step((), replace(ready.start, part=before.part + 1), size - told)


def _events(
    part: EventsPart, position: UnitPosition, skipped: SkipCounts
) -> Iterator[tuple[Sequence[Landing], UnitPosition]]:
    events = islice(part.read(skipped), position.taken, None)
    while taken := list(islice(events, EVENTS_AT_ONCE)):
        position = replace(position, taken=position.taken + len(taken))
        yield taken, position


def _lines(
    part: LogPart, position: UnitPosition, skipped: SkipCounts
) -> Iterator[tuple[Sequence[Landing], UnitPosition]]:
    stream = _stream(part, position.stamp, skipped)
    if stream is None:
        return
    node = part.node
    if node is None and stream == KERNEL:
        node = writer_of(str(part.path)).node
    at = Place(offset=position.offset, line=position.line, line_start=position.line_start)
    for batches, place in read_batches(part, (stream, node), at, skipped):
        position = replace(
            position, offset=place.offset, line=place.line, line_start=place.line_start
        )
        yield batches, position


def _stream(part: LogPart, stamp: Stamp | None, skipped: SkipCounts) -> str | None:
    """The stream of a log; null when its content is none of a log, which is counted."""
    reason: str | None = "unreadable"
    start = b""
    if stamp is not None:
        with suppress(InputError):
            start = probe(part.path)
            reason = content_reason(start)
    if reason is None:
        return part.stream or form_of(start)
    skipped.add(reason, file=part.path)
    return None


def _require_untouched(part: Part, stamp: Stamp | None) -> None:
    if part.path is not None and stamp is not None and not is_untouched(part.path, stamp):
        raise changed(part, stamp)
