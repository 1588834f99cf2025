"""One log as batches for the lake, from any place where an import was interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from relume.ingest.blocks import MAX_LINE_BYTES
from relume.ingest.importing.unit import LogPart
from relume.ingest.lake.batches import LineBatch
from relume.ingest.opening import read_chunks
from relume.ingest.skips import SkipCounts
from relume.ingest.tailing.lines import LineHolder, TailBlock

SOURCE = "import"
"""`source` of the lines."""
BATCH_BYTES = MAX_LINE_BYTES
"""Size of a batch, and so the longest line that isn't cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where reading can go on: a byte of the uncompressed text, its line, where that starts."""

    offset: int = 0
    line: int = 0
    line_start: int = 0


def read_batches(
    part: LogPart, origin: tuple[str, str | None], place: Place, skipped: SkipCounts
) -> Iterator[tuple[list[LineBatch], Place]]:
    """Yield the lines of a log from `place` on, in batches of 1 MiB at most, and the place after.

    `origin` holds their stream and node. Where batches are cut depends on the content from `place`
    on only: reading on from any of the places gives the same batches.

    Raises
    ------
    InputError
        When the file can't be read or decompressed.
    """
    holder = LineHolder(
        str(part.path),
        start=(place.offset, place.line, place.line_start),
        skipped=skipped,
        max_line_bytes=BATCH_BYTES,
    )
    held, offset = bytearray(), place.offset

    def given(blocks: list[TailBlock]) -> tuple[list[LineBatch], Place]:
        at = Place(
            offset=offset - len(holder.partial), line=holder.line, line_start=holder.line_start
        )
        return [_batch(part, origin, block) for block in blocks], at

    for chunk in read_chunks(part.path, skipped=skipped, start=place.offset):
        held += chunk
        # As much as makes a window of a whole block, whatever the chunks were.
        while len(held) >= (wanted := BATCH_BYTES - len(holder.partial) % BATCH_BYTES):
            offset += wanted
            window = bytes(held[:wanted])
            del held[:wanted]
            yield given(holder.take(window))
    offset += len(held)
    yield given(holder.take(bytes(held)) + holder.finish())


def _batch(part: LogPart, origin: tuple[str, str | None], block: TailBlock) -> LineBatch:
    return LineBatch(
        block=block,
        attempt=part.attempt,
        stream=origin[0],
        node=origin[1],
        cluster=part.cluster,
        source=SOURCE,
    )
