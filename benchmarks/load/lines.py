"""Loki bodies of many jobs: what each prints in a second, step lines among other lines."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import cramjam
import numpy as np

from relume.benchmarks.load.wire import copies, digits, integer, message, places, varint

if TYPE_CHECKING:
    from numpy.typing import NDArray

BYTES_PER_SECOND = 20_000
"""Of one job: its own text, without labels and times of the entries."""
STEP_SECONDS = 2
"""A step line comes in every second chunk of a job."""
FIRST_JOB = 100_000
NODES_PER_JOB = 12
VARIANTS = 4
_JOB, _NODE, _STEP = "######", "@@@@@", "%%%%%%%%"
_ANY = "~"
"""A digit that differs from job to job and from second to second."""
_CLOCK = "^" * 19
_SECONDS_MARK = (1 << 31) - 12345
_STEP_TIME_MS = 1000.0 * STEP_SECONDS


class Made(NamedTuple):
    """A body, the rows in it, and the bytes of lines' texts (0 for samples)."""

    body: bytes
    rows: int
    text_bytes: int


class JobLines:
    """What jobs print, as one body for some of them and a second.

    Parameters
    ----------
    seed
        Of the words.
    """

    def __init__(self, seed: int = 1) -> None:
        source = random.Random(seed)
        chunks = [_chunk(source, has_step=number % 2 == 0) for number in range(VARIANTS)]
        self._random = np.random.default_rng(seed)
        self._templates = [message(1, _labels() + entries) for entries, _, _ in chunks]
        self._lines = [lines for _, lines, _ in chunks]
        self._bytes = [size for _, _, size in chunks]

    def body(self, jobs: NDArray[np.int64], slots: NDArray[np.int64], second: int) -> Made:
        """Return what `jobs`, each in its slot of nodes, print in a `second` since 1970."""
        variant = second % VARIANTS
        template = self._templates[variant]
        rows = copies(template, len(jobs))
        for mark, numbers in ((_JOB, jobs), (_NODE, slots * NODES_PER_JOB)):
            at = places(template, mark.encode())
            rows[:, at.columns] = digits(numbers, at.width)[:, None, :]
        steps = np.full(len(jobs), second // STEP_SECONDS % 10**8)
        at = places(template, _STEP.encode())
        rows[:, at.columns] = digits(steps, at.width)[:, None, :]
        clock = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%d %H:%M:%S").encode()
        at = places(template, _CLOCK.encode())
        rows[:, at.columns] = np.frombuffer(clock, dtype=np.uint8)
        at = places(template, varint(_SECONDS_MARK))
        rows[:, at.columns] = np.frombuffer(varint(second), dtype=np.uint8)
        at = places(template, _ANY.encode())
        shape = (len(jobs), len(at.starts))
        rows[:, at.starts] = self._random.integers(ord("0"), ord("9") + 1, shape, dtype=np.uint8)
        body = bytes(cramjam.snappy.compress_raw(rows.reshape(-1).data))
        return Made(body, len(jobs) * self._lines[variant], len(jobs) * self._bytes[variant])


def labels_of(job: int, node: int) -> str:
    """Return the labels of a job's log as Loki writes them."""
    return _LABELS.format(job=f"{job:06d}", node=f"{node:05d}")


_LABELS = (
    '{{cluster="lab", filename="/logs/train-{job}.out", job_id="{job}", node="gpu{node}", '
    'stream="stdout"}}'
)


def _labels() -> bytes:
    return message(1, _LABELS.format(job=_JOB, node=_NODE).encode())


def _chunk(source: random.Random, *, has_step: bool) -> tuple[bytes, int, int]:
    """Return the entries of one second, how many they are, and the bytes of their text."""
    texts: list[str] = []
    while sum(map(len, texts)) < BYTES_PER_SECOND:
        texts.append(_other_line(source))
    if has_step:
        texts.insert(len(texts) // 2, _step_line(source))
    entries = [
        message(2, message(1, _time(number)) + message(2, text.encode()))
        for number, text in enumerate(texts)
    ]
    return b"".join(entries), len(texts), sum(map(len, texts))


def _time(number: int) -> bytes:
    nanoseconds = 300_000_000 + number * 1_000_000  # five bytes for each, as for those of now
    return integer(1, _SECONDS_MARK) + integer(2, nanoseconds)


def _step_line(source: random.Random) -> str:
    loss = source.uniform(1.9, 2.4)
    return (
        f" [{_CLOCK}] iteration {_STEP}/99999999 | consumed samples: {_STEP}000 | "
        f"elapsed time per iteration (ms): {_STEP_TIME_MS:.1f} | learning rate: 1.500000E-04 | "
        f"global batch size: 1024 | lm loss: {loss:.6E} | loss scale: 1.0 | grad norm: 0.312 | "
        "number of skipped iterations:   0 | number of nan iterations:   0 |"
    )


def _other_line(source: random.Random) -> str:
    rank, near = source.randrange(96), source.randrange(64)
    timers = "forward-compute 1~~.~~ ms, backward-compute 3~~.~~ ms, optimizer 2~.~~ ms"
    ring = f"{rank}[{rank % 8}] -> {(rank + 1) % 96}[{(rank + 1) % 8}] via P2P/CUMEM"
    held = "allocated 5~.~~ GiB, reserved 71.30 GiB, fragmentation 0.0~~"
    kinds = (
        f"[{_CLOCK}] [INFO] [data.py:212] rank {rank}: shard ~~~~~~ opened in 0.~~~ s",
        f"[{_CLOCK}] INFO:timers: rank {rank} {timers}",
        f"[{_CLOCK}] DEBUG prefetch queue of rank {rank}: {near} of 64 batches are waiting",
        f"gpu{_NODE}:4~~~:5~~~ [{rank % 8}] NCCL INFO Channel {rank % 16:02d}/16 : {ring}",
        f"[{_CLOCK}] memory of rank {rank}: {held}",
    )
    return source.choice(kinds)
