"""Random numbers that depend on what they are for, and not on who asked before."""

from __future__ import annotations

import hashlib

import numpy as np

from relume.models.baselines.compiled import compiled

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11))


def stream_key(seed: int, attempt: str, stream: str) -> int:
    """Return the key of one stream of draws, 64 bits.

    >>> stream_key(0, "lab/7@1.0", "train") == stream_key(0, "lab/7@1.0", "train")
    True
    >>> stream_key(0, "lab/7@1.0", "train") == stream_key(0, "lab/7@1.0", "evaluation")
    False
    """
    text = f"{seed}\x1f{attempt}\x1f{stream}".encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


@compiled
def uniform(key: int, index: int) -> float:
    """Return the draw number `index` of a stream, uniform in [0, 1): SplitMix64 of a counter.

    Source: Fast splittable pseudorandom number generators (OOPSLA 2014).
    """
    state = np.uint64(key) + np.uint64(index + 1) * _GOLDEN
    state = (state ^ (state >> _SHIFTS[0])) * _FIRST
    state = (state ^ (state >> _SHIFTS[1])) * _SECOND
    state ^= state >> _SHIFTS[2]
    return float(state >> _SHIFTS[3]) * (1.0 / 9007199254740992.0)
