"""Logs that are made to take all time and memory there is. Seeded; none of it is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice, repeat
from pathlib import Path

_FAILURE = (
    b"[rank3]: Traceback (most recent call last):\n"
    b'[rank3]:   File "/app/train.py", line 40, in main\n'
    b"[rank3]: RuntimeError: CUDA error: an illegal memory access was encountered\n"
)
_STEP = b"2026-03-02 04:00:%02d step %d | loss 2.6010 | lr 1.0e-04\n"
_STEPS = b"".join(_STEP % (n, n) for n in range(60))
_WORDS = (
    b"Killed FAILED NCCL WARN Xid Traceback loss: 2.5 step 40 error timeout Nodes [rank3]: "
    b"iteration 7/ 900 | 4%|# | 4/100 [00:01<00:20, 3.1it/s] (((((([[[[[{{{{{ 10.0.0.1 "
)
_PIECE = 1 << 20
WAVE_RANKS = 1024


def write_pieces(path: Path, size: int, pieces: Iterator[bytes]) -> int:
    """Write at least `size` bytes of `pieces`, which goes on for long enough; return how many."""
    written = 0
    with path.open("wb") as stream:
        for piece in pieces:
            written += stream.write(piece)
            if written >= size:
                break
    return written


def no_newline() -> Iterator[bytes]:
    """Yield one line without end that is full of what rules look for."""
    yield from repeat(_WORDS * (_PIECE // len(_WORDS)))


def one_letter() -> Iterator[bytes]:
    """Yield one letter without end."""
    yield from repeat(b"a" * _PIECE)


def nuls(size: int) -> Iterator[bytes]:
    """Yield steps, then NULs such as a file system leaves after a crash, then a failure."""
    yield _STEPS
    yield from repeat(bytes(_PIECE), size // _PIECE)
    yield _FAILURE


def returns() -> Iterator[bytes]:
    """Yield carriage returns without end, each after one character: a bar of a million states."""
    yield from repeat(b"7\r" * (_PIECE // 2))


def empty_lines() -> Iterator[bytes]:
    """Yield line feeds without end."""
    yield from repeat(b"\n" * _PIECE)


def wave(name: str, lines: int) -> Iterator[bytes]:
    """Yield steps, then so many lines in which every rank says that it failed."""
    make = WAVES[name]
    return chain([_STEPS], islice((make(n) for n in range(lines)), lines))


def _timeout(n: int) -> bytes:
    rank = n % WAVE_RANKS
    return (
        b"[rank%d]:[E302 05:00:%02d.%06d ProcessGroupNCCL.cpp:632] [Rank %d] Watchdog caught "
        b"collective operation timeout: WorkNCCL(SeqNum=%d, OpType=ALLREDUCE, NumelIn=%d, "
        b"NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds before timing out.\n"
    ) % (rank, n // WAVE_RANKS % 60, n, rank, n // WAVE_RANKS, n)


def _traceback(n: int) -> bytes:
    return b"[rank%d]: Traceback (most recent call last):\n" % (n % WAVE_RANKS)


def _exception(n: int) -> bytes:
    return b"[rank%d]: ValueError: no shard %d of %d\n" % (n % WAVE_RANKS, n, n * n)


def _kernel(n: int) -> bytes:
    return b"Mar  2 05:00:00 gpu-%05d kernel: NVRM: Xid (PCI:0000:%02x:00): %d, pid=%d\n" % (
        *(n, n % 256),
        *(n % 150, n),
    )


def _unknown(n: int) -> bytes:
    return b"ERROR %x failed %x broken %d\n" % (n * 7919, n * 104_729, n)


def _nan(n: int) -> bytes:
    return b"step %d | loss nan | lr 1.0e-04\n" % n


WAVES: dict[str, Callable[[int], bytes]] = {
    "timeouts": _timeout,
    "tracebacks": _traceback,
    "exceptions": _exception,
    "kernel": _kernel,
    "unknown": _unknown,
    "nan_steps": _nan,
}
"""Kinds of waves: how each makes its n-th line."""
