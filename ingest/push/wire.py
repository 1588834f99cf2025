"""Protocol buffers of Loki and Prometheus, taken apart where they lie: no object a line or sample.

The format is https://protobuf.dev/programming-guides/encoding. Fields that aren't known are passed
over, of fields that come twice the last counts. Groups, which proto3 has not, are refused.

All kernels stand in this one file: their cache on disk notices no changes of another one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeAlias, TypeVar, cast

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

P = ParamSpec("P")
T = TypeVar("T")
Number: TypeAlias = Any
"""A signed number of 64 bits: `int` for Python, `numpy.int64` for what is compiled."""
TEXT_1: Final = 10
"""Tag of field 1 with a length (a text, a message); the next ones are of 2, 3 and 4."""
TEXT_2: Final = 18
TEXT_3: Final = 26
TEXT_4: Final = 34
NUMBER_1: Final = 8
"""Tag of field 1 that is a varint; the next one is of 2."""
NUMBER_2: Final = 16
DOUBLE_1: Final = 9
"""Tag of field 1 that is eight bytes."""
CUT, BAD_VARINT, BAD_TAG, BAD_WIRE, BAD_TIME = -1, -2, -3, -4, -5
WRONG = {
    CUT: "a field that goes on after its message ends",
    BAD_VARINT: "a number of more than ten bytes",
    BAD_TAG: "a field without a number",
    BAD_WIRE: "a field of no known wire type, or a group",
    BAD_TIME: "a time that 64 bits of nanoseconds don't hold",
}
"""What a negative result of a kernel means."""
_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5
_MORE = 128
"""Bit of a byte after which a varint goes on."""
_FIRST_TAG = 8
_WORD_BYTES = 8
_MAX_TAG = (1 << 32) - 1
_MAX_SECONDS = 9_223_372_035
_NANOS = 1_000_000_000
_M1, _M2 = np.int64(-7046029288634856825), np.int64(-4417276706812531889)
"""Odd numbers with bits as good as random: those of xxHash."""


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a kernel: cached on disk, and without holding the GIL."""
    return cast("Callable[P, T]", njit(cache=True, nogil=True, error_model="numpy")(function))


@compiled
def varint(data: NDArray[np.uint8], at: int, end: int) -> tuple[Number, int]:
    """Return the number at `at`, 64 bits as a signed one, and where it ends; negative: WRONG."""
    value: Number = np.int64(0)
    for place in range(10):
        if at >= end:
            return value, CUT
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 127) << np.int64(7 * place)
        if byte < _MORE:
            return value, at
    return value, BAD_VARINT


@compiled
def field(  # noqa: PLR0911 - each way to be wrong is one
    data: NDArray[np.uint8], at: int, end: int
) -> tuple[int, Number, int, int]:
    """Return number and wire type as ``8 n + w``, and start, stop of what the field at `at` holds.

    The last is where the next field begins; the third one is negative where there is none: WRONG.
    Of a varint the second one is the number itself.
    """
    tag, at = varint(data, at, end)
    if at < 0:
        return 0, 0, at, at
    if tag < 0 or tag > _MAX_TAG:
        return 0, 0, BAD_VARINT, BAD_VARINT
    if tag < _FIRST_TAG:
        return 0, 0, BAD_TAG, BAD_TAG
    wire = tag & 7
    if wire == _LENGTH:
        size, at = varint(data, at, end)
        if at < 0:
            return 0, 0, at, at
        if size < 0 or size > end - at:
            return 0, 0, CUT, CUT
        return tag, at, at + size, at + size
    if wire == _VARINT:
        value, at = varint(data, at, end)
        return tag, value, at, at
    size = 8 if wire == _EIGHT_BYTES else 4
    if wire not in (_EIGHT_BYTES, _FOUR_BYTES):
        return 0, 0, BAD_WIRE, BAD_WIRE
    if size > end - at:
        return 0, 0, CUT, CUT
    return tag, at, at + size, at + size


@compiled
def fixed64(data: NDArray[np.uint8], at: int) -> Number:
    """Return the eight bytes at `at` as a signed number, the lowest first."""
    return (
        np.int64(data[at])
        | np.int64(data[at + 1]) << 8
        | np.int64(data[at + 2]) << 16
        | np.int64(data[at + 3]) << 24
        | np.int64(data[at + 4]) << 32
        | np.int64(data[at + 5]) << 40
        | np.int64(data[at + 6]) << 48
        | np.int64(data[at + 7]) << 56
    )


@compiled
def mixed(
    data: NDArray[np.uint8], start: int, stop: int, one: Number, two: Number
) -> tuple[Number, Number]:
    """Take bytes into two independent hashes of 64 bits each."""
    at = start
    one = (one ^ (stop - start)) * _M1
    two = (two + (stop - start)) * _M2
    while at < stop:
        word: Number = np.int64(0)
        if at + _WORD_BYTES <= stop:
            word = fixed64(data, at)
        else:
            for place in range(stop - at):
                word |= np.int64(data[at + place]) << np.int64(8 * place)
        one = (one ^ word) * _M1
        one ^= (one >> 29) & np.int64(0x7FFFFFFFF)
        two = (two + word) * _M2
        two ^= (two >> 32) & np.int64(0xFFFFFFFF)
        at += _WORD_BYTES
    return one, two


@compiled
def count_nested(data: NDArray[np.uint8], outer: int, inner: int) -> tuple[int, int]:
    """Count the fields `outer` (tags) of a message, and the fields `inner` in them.

    The first is negative where it can't be read: WRONG.
    """
    outers, inners, at, size = 0, 0, 0, len(data)
    while at < size:
        tag, start, stop, at = field(data, at, size)
        if stop < 0:
            return stop, 0
        if tag != outer:
            continue
        outers += 1
        while start < stop:
            tag, _, end, start = field(data, start, stop)
            if end < 0:
                return end, 0
            inners += tag == inner
    return outers, inners


@compiled
def read_series(
    data: NDArray[np.uint8],
    seed: NDArray[np.int64],
    series: NDArray[np.int64],
    samples: NDArray[np.int64],
) -> tuple[int, int]:
    """Take a WriteRequest apart; return how many series and samples, or WRONG first.

    Where the columns hold fewer, nothing is right but these counts.

    Parameters
    ----------
    data
        The message.
    seed
        Two numbers that the hashes begin with.
    series
        A column each: start and stop of the message, two hashes of its labels, native histograms.
    samples
        A column each: row of the series, bits of the value, milliseconds.
    """
    row, count, at, size = 0, 0, 0, len(data)
    last_row, last_sample = series.shape[1] - 1, samples.shape[1] - 1
    while at < size:
        tag, start, stop, at = field(data, at, size)
        if stop < 0:
            return stop, 0
        if tag != TEXT_1:
            continue
        one, two, histograms = seed[0], seed[1], 0
        place = min(row, last_row)
        series[0, place], series[1, place] = start, stop
        while start < stop:
            tag, begin, end, start = field(data, start, stop)
            if end < 0:
                return end, 0
            if tag == TEXT_1:
                one, two = mixed(data, begin, end, one, two)
            elif tag == TEXT_2:
                samples[0, min(count, last_sample)] = row
                wrong = _sample(data, begin, end, samples, min(count, last_sample))
                if wrong < 0:
                    return wrong, 0
                count += 1
            histograms += tag == TEXT_4
        series[2, place], series[3, place], series[4, place] = one, two, histograms
        row += 1
    return row, count


@compiled
def _sample(
    data: NDArray[np.uint8], at: int, end: int, samples: NDArray[np.int64], row: int
) -> int:
    """Take one sample of a series apart."""
    samples[1:, row] = 0
    while at < end:
        tag, value, stop, at = field(data, at, end)
        if stop < 0:
            return stop
        if tag == DOUBLE_1:
            samples[1, row] = fixed64(data, value)
        elif tag == NUMBER_2:
            samples[2, row] = value
    return 0


@compiled
def read_pairs(
    data: NDArray[np.uint8], at: int, end: int, of: int, found: NDArray[np.int64]
) -> int:
    """Find the pairs of texts (fields 1 and 2) in the fields `of` (a tag) of a message.

    `found` gets a row each: start and stop of the first text and of the second, equal where there
    is none. Returns how many there are, also where `found` holds fewer; negative: WRONG.
    """
    count = 0
    while at < end:
        tag, begin, stop, at = field(data, at, end)
        if stop < 0:
            return stop
        if tag != of:
            continue
        name, name_end, value, value_end = 0, 0, 0, 0
        while begin < stop:
            tag, start, rest, begin = field(data, begin, stop)
            if rest < 0:
                return rest
            if tag == TEXT_1:
                name, name_end = start, rest
            elif tag == TEXT_2:
                value, value_end = start, rest
        if count < len(found):
            found[count, 0], found[count, 1] = name, name_end
            found[count, 2], found[count, 3] = value, value_end
        count += 1
    return count


@compiled
def read_all_pairs(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    found: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Find the labels (field 1) of several series as `read_pairs` does; return their counts."""
    counts = np.empty(len(starts), np.int64)
    for row in range(len(starts)):
        counts[row] = read_pairs(data, starts[row], stops[row], TEXT_1, found[row])
    return counts


@compiled
def read_streams(
    data: NDArray[np.uint8], streams: NDArray[np.int64], entries: NDArray[np.int64]
) -> tuple[int, int]:
    """Take Loki's PushRequest apart; return how many streams and entries, or WRONG first.

    Parameters
    ----------
    data
        The message.
    streams
        A column each: start and stop of the labels, and the entry after its last one.
    entries
        A column each: nanoseconds, start and stop of the line, and of the first to the last of its
        structured metadata (equal where it has none).
    """
    row, count, at, size = 0, 0, 0, len(data)
    while at < size:
        tag, start, stop, at = field(data, at, size)
        if stop < 0:
            return stop, 0
        if tag != TEXT_1:
            continue
        streams[0, row] = streams[1, row] = 0
        while start < stop:
            tag, begin, end, start = field(data, start, stop)
            if end < 0:
                return end, 0
            if tag == TEXT_1:
                streams[0, row], streams[1, row] = begin, end
            elif tag == TEXT_2:
                wrong = _entry(data, begin, end, entries, count)
                if wrong < 0:
                    return wrong, 0
                count += 1
        streams[2, row] = count
        row += 1
    return row, count


@compiled
def _entry(data: NDArray[np.uint8], at: int, end: int, entries: NDArray[np.int64], row: int) -> int:
    """Take one entry of a stream apart."""
    stamp = np.zeros(2, np.int64)
    entries[:, row] = 0
    while at < end:
        before = at
        tag, begin, stop, at = field(data, at, end)
        if stop < 0:
            return stop
        if tag == TEXT_1:
            wrong = _stamp(data, begin, stop, stamp)
            if wrong < 0:
                return wrong
        elif tag == TEXT_2:
            entries[1, row], entries[2, row] = begin, stop
        elif tag == TEXT_3:
            if entries[4, row] == 0:
                entries[3, row] = before
            entries[4, row] = stop
    if stamp[0] < -_MAX_SECONDS or stamp[0] > _MAX_SECONDS:
        return BAD_TIME
    entries[0, row] = stamp[0] * _NANOS + stamp[1]
    return 0


@compiled
def _stamp(data: NDArray[np.uint8], at: int, end: int, stamp: NDArray[np.int64]) -> int:
    """Read seconds and nanoseconds."""
    while at < end:
        tag, value, stop, at = field(data, at, end)
        if stop < 0:
            return stop
        if tag == NUMBER_1:
            stamp[0] = value
        elif tag == NUMBER_2:
            stamp[1] = (value << 32) >> 32  # an int32: the upper half is its sign
    return 0


@compiled
def joined(
    data: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64], end: int
) -> NDArray[np.uint8]:
    """Return pieces of `data` one after the other, the byte `end` behind each."""
    size = len(starts)
    for row in range(len(starts)):
        size += stops[row] - starts[row]
    made = np.empty(size, np.uint8)
    at = 0
    for row in range(len(starts)):
        count = stops[row] - starts[row]
        made[at : at + count] = data[starts[row] : stops[row]]
        made[at + count] = end
        at += count + 1
    return made


def view(data: bytes) -> NDArray[np.uint8]:
    """Return bytes as an array, without a copy."""
    return np.frombuffer(data, np.uint8)


def empty(rows: int, columns: int) -> NDArray[Any]:
    """Return columns of numbers to be filled by a kernel."""
    return np.empty((columns, rows), np.int64)
