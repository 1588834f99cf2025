"""Prometheus' marker for a series that ended: a NaN with bits of its own, no measurement."""

from __future__ import annotations

import struct

_BITS = 0x7FF0_0000_0000_0002
_QUIET = 1 << 51
"""Arithmetic on some machines sets this bit of a NaN."""
STALE = struct.unpack("<d", struct.pack("<Q", _BITS))[0]


def is_stale(value: float) -> bool:
    """Whether a value is the marker: the series isn't there any more from its time on.

    Remote write carries it; the query API leaves such values out.

    >>> is_stale(STALE), is_stale(float("nan")), is_stale(0.0)
    (True, False, False)
    """
    bits: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    return bits & ~_QUIET == _BITS
