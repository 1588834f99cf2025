"""What landed in the last minutes, so that what is sent again lands once. Bounded."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Sequence
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
from relume.ingest.lake.samplebatches import NO_TIME
from relume.ingest.push.wire import compiled, mixed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from relume.ingest.push.wire import Number

WINDOW_SECONDS = 600.0
"""How long what landed is remembered: longer than senders try again."""
MAX_ENTRIES = 4_000_000
"""Entries remembered, of eight bytes each; the oldest go first."""
MAX_EVENTS = 200_000
"""The same for events, and batches of samples."""
_WINDOW = int(WINDOW_SECONDS * MICROSECONDS_PER_SECOND)
NO_KEY = -1
_LATEST = 2**63 - 1
_LF = 10


@dataclass(slots=True)
class _Batch:
    stream: str
    at: int
    marks: NDArray[np.int64]


@dataclass(slots=True)
class _Stream:
    """What is remembered of one; `newest` is the largest key that it ever had."""

    batches: deque[_Batch] = field(default_factory=deque)
    newest: int = NO_KEY


@dataclass(slots=True)
class Seen:
    """Lines of streams by time and text, events and samples by all that they say.

    What is the same twice within one request is no duplicate: a program may say a thing twice.
    """

    _order: deque[_Batch] = field(default_factory=deque)
    _streams: dict[str, _Stream] = field(default_factory=dict)
    _marked: dict[int, int] = field(default_factory=dict)
    _entries: int = 0
    _seed: int = field(default_factory=lambda: secrets.randbits(63))

    def __len__(self) -> int:
        return self._entries

    def repeated(self, stream: str, data: bytes, keys: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say of each line of a stream whether it landed before; `keys` are those of `keys_of`."""
        before = self._streams.get(stream)
        # Nearly always everything is newer than what came before: then nothing is compared.
        if before is None or 0 <= before.newest < keys.min(initial=_LATEST):
            return np.zeros(len(keys), bool)
        known = np.concatenate([one.marks for one in before.batches])
        again: NDArray[np.bool_] = np.isin(self._marks(data, keys), known)
        again &= keys != NO_KEY
        return again

    def note(self, stream: str, data: bytes, keys: NDArray[np.int64], now: int) -> None:
        """Remember lines that land, each ended by an LF."""
        batch = _Batch(stream, now, self._marks(data, keys))
        self._order.append(batch)
        known = self._streams.setdefault(stream, _Stream())
        known.batches.append(batch)
        known.newest = max(known.newest, int(keys.max(initial=NO_KEY)))
        self._entries += len(keys)
        while self._order and (self._entries > MAX_ENTRIES or now - self._order[0].at > _WINDOW):
            self._forget(self._order.popleft())

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
        block, times = landing.block, landing.event_times
        offsets = [block.byte_offset_at(start) for start, _ in logical_lines(block.data)]
        keys = keys_of(np.full(len(offsets), NO_TIME) if times is None else times, offsets)
        data = block.data if block.data.endswith(b"\n") else block.data + b"\n"
        self.note(block.file, data, keys, now)
        self.note(log_key(landing.attempt, landing.node, block.file), data, keys, now)

    def _marks(self, data: bytes, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        return _marks_of(np.frombuffer(data, np.uint8), keys, self._seed)

    def _forget(self, oldest: _Batch) -> None:
        self._entries -= len(oldest.marks)
        mine = self._streams[oldest.stream].batches
        mine.popleft()  # of one stream, too, they stand in the order they came
        if not mine:
            del self._streams[oldest.stream]


def keys_of(
    times: NDArray[np.int64], offsets: Sequence[int | None] | None = None
) -> NDArray[np.int64]:
    """Return what tells lines from others of the same words: their times, else their places.

    Where nobody says either, a line is never the same as another one.

    >>> keys_of(np.array([7, NO_TIME, NO_TIME]), [1, 2, None]).tolist()
    [7, -4, -1]
    """
    places: NDArray[np.int64] | int = NO_KEY
    if offsets is not None:
        places = np.array([NO_KEY if one is None else -2 - one for one in offsets], np.int64)
    return np.where(times == NO_TIME, places, times)


def log_key(attempt: str | None, node: str | None, file: str) -> str:
    """Name of a log of which lines come one by one, as events."""
    return f"{attempt} {node} {file}"


@compiled
def _marks_of(data: NDArray[np.uint8], keys: NDArray[np.int64], seed: Number) -> NDArray[np.int64]:
    """Return a hash of each line and its key. Nobody can guess the seed, so nor what collides."""
    found = np.empty(len(keys), np.int64)
    row = start = 0
    for place in range(len(data)):
        if data[place] == _LF:
            one, two = mixed(data, start, place, seed ^ keys[row], seed)
            found[row] = one ^ (two << np.int64(1))
            row, start = row + 1, place + 1
    return found


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
