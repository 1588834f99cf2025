"""What landed in the last minutes, so that what is sent again lands once. Bounded."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa

from relume.clock import MICROSECONDS_PER_SECOND
from relume.events import Event
from relume.ingest.lake import LineBatch, SampleBatch
from relume.ingest.lake.batches import logical_lines

if TYPE_CHECKING:
    from numpy.typing import NDArray

WINDOW_SECONDS = 600.0
"""How long what landed is remembered: longer than senders try again."""
MAX_ENTRIES = 4_000_000
"""Entries remembered, of eight bytes each; the oldest go first."""
MAX_EVENTS = 200_000
"""The same for events, and batches of samples."""
_WINDOW = int(WINDOW_SECONDS * MICROSECONDS_PER_SECOND)
NO_KEY = -1


@dataclass(slots=True)
class _Batch:
    stream: str
    at: int
    marks: NDArray[np.int64]
    newest: int


@dataclass(slots=True)
class Seen:
    """Lines of streams by time and text, events and samples by all that they say.

    What is the same twice within one request is no duplicate: a program may say a thing twice.
    """

    _order: deque[_Batch] = field(default_factory=deque)
    _streams: dict[str, deque[_Batch]] = field(default_factory=dict)
    _marked: dict[int, int] = field(default_factory=dict)
    _entries: int = 0

    def __len__(self) -> int:
        return self._entries

    def repeated(
        self, stream: str, lines: Sequence[bytes], keys: Sequence[int]
    ) -> NDArray[np.bool_]:
        """Say of each line of a stream whether it landed before; `keys` are those of `key_of`."""
        before = self._streams.get(stream)
        # Nearly always everything is newer than what came before: then nothing is compared.
        if not before or 0 <= max(one.newest for one in before) < min(keys, default=0):
            return np.zeros(len(lines), bool)
        known = np.concatenate([one.marks for one in before])
        again: NDArray[np.bool_] = np.isin(_marks(lines, keys), known)
        again &= np.array(keys) != NO_KEY
        return again

    def note(self, stream: str, lines: Sequence[bytes], keys: Sequence[int], now: int) -> None:
        """Remember lines that land."""
        self._add(_Batch(stream, now, _marks(lines, keys), max(keys, default=NO_KEY)))

    def is_new(self, one: Event | SampleBatch, now: int) -> bool:
        """Whether an event, or what a batch of samples says, is new; remember it then."""
        while self._marked and now - self._marked[self._oldest()] > _WINDOW:
            del self._marked[self._oldest()]
        mark = _mark(one)
        if mark in self._marked:
            return False
        while len(self._marked) >= MAX_EVENTS:
            del self._marked[self._oldest()]
        self._marked[mark] = now
        return True

    def _oldest(self) -> int:
        return next(iter(self._marked))

    def recall(self, landing: Event | LineBatch | SampleBatch, now: int) -> None:
        """Remember what the lake says has landed."""
        if not isinstance(landing, LineBatch):
            self.is_new(landing, now)
            return
        block = landing.block
        lines, offsets = [], []
        for start, line in logical_lines(block.data):
            lines.append(line)
            offsets.append(block.byte_offset_at(start))
        times = landing.event_times or (None,) * len(lines)
        keys = [key_of(time, offset) for time, offset in zip(times, offsets, strict=True)]
        self.note(block.file, lines, keys, now)
        self.note(log_key(landing.attempt, landing.node, block.file), lines, keys, now)

    def _add(self, batch: _Batch) -> None:
        self._order.append(batch)
        self._streams.setdefault(batch.stream, deque()).append(batch)
        self._entries += len(batch.marks)
        while self._order and (
            self._entries > MAX_ENTRIES or batch.at - self._order[0].at > _WINDOW
        ):
            self._forget(self._order.popleft())

    def _forget(self, oldest: _Batch) -> None:
        self._entries -= len(oldest.marks)
        mine = self._streams[oldest.stream]
        mine.popleft()  # of one stream, too, they stand in the order they came
        if not mine:
            del self._streams[oldest.stream]


def key_of(time: int | None, offset: int | None = None) -> int:
    """Return what tells a line from others of the same words: its time, else its place.

    Where nobody says either, it is never the same as another one.
    """
    if time is not None:
        return time
    return NO_KEY if offset is None else -2 - offset


def log_key(attempt: str | None, node: str | None, file: str) -> str:
    """Name of a log of which lines come one by one, as events."""
    return f"{attempt} {node} {file}"


def _marks(lines: Iterable[bytes], keys: Iterable[int]) -> NDArray[np.int64]:
    # Python's own hash: it differs from process to process, and is made anew from the lake.
    pairs = zip(keys, lines, strict=True)
    return np.fromiter((hash(pair) for pair in pairs), np.int64)


def _mark(one: Event | SampleBatch) -> int:
    if isinstance(one, SampleBatch):
        digest = _digest_of(one)
    else:
        plain = (type(one).__name__, replace(one, observed_at=None))
        digest = blake2b(msgspec.json.encode(plain), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _digest_of(batch: SampleBatch) -> bytes:
    """Of all that a batch says but when it was read; the same for the batch as it has landed."""
    digest, rows = blake2b(digest_size=8), pa.array(batch.row_series)
    for name, column in zip(batch.series.schema.names, batch.series.columns, strict=True):
        if name == "rank":
            digest.update(column.take(rows).fill_null(-1).to_numpy(zero_copy_only=False).tobytes())
            continue
        texts = column.take(rows).cast(pa.large_string()).fill_null("\0")
        bounds = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset :][: len(texts) + 1]
        digest.update(np.diff(bounds).tobytes())
        if len(texts) and texts.buffers()[2] is not None:
            digest.update(memoryview(texts.buffers()[2])[bounds[0] : bounds[-1]])
    digest.update(batch.event_time.tobytes())
    digest.update(batch.value.tobytes())
    digest.update(f"{batch.source} {batch.cluster}".encode())
    return digest.digest()
