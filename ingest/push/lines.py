"""Lines as they were pushed: columns, and one buffer that holds their texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from relume.errors import InputError
from relume.ingest.push.wire import joined, view

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_TIME: Final = -(2**63)
"""Stands in `PushedLines.times` for a time that the sender doesn't say."""
MAX_ENTRIES: Final = 500_000
"""Lines of one body; more are refused, since each costs memory, however short it is."""
_LF = 10
_MICROSECOND = 1_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PushedLines:
    r"""Entries of one stream in the order they came. Its arrays must not be written to.

    An entry may have several lines, and bytes that are no UTF-8.

    Attributes
    ----------
    labels
        What is the same for all of them, as the sender calls it: `relume.ingest.push.labels`.
    times
        When each was written, UTC nanoseconds; `NO_TIME` where nobody says.
    data, starts, stops
        A buffer that holds the texts (and other things: the body), and where each stands in it.

    Examples
    --------
    >>> lines = lines_of({"host": "n1"}, [("one", 1_000), ("two", NO_TIME)])
    >>> lines.texts(), lines.microseconds().tolist() == [1, NO_TIME], lines.joined()
    (['one', 'two'], True, b'one\ntwo\n')
    """

    labels: Mapping[str, str]
    times: NDArray[np.int64]
    data: bytes
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.times)

    def texts(self) -> list[str]:
        """Return the texts; bytes that are no UTF-8 become U+FFFD."""
        data = self.data
        bounds = zip(self.starts.tolist(), self.stops.tolist(), strict=True)
        return [data[start:stop].decode("utf-8", "replace") for start, stop in bounds]

    def joined(self) -> bytes:
        """Return the texts in one buffer, each with a line feed behind it; undecoded."""
        return joined(view(self.data), self.starts, self.stops, _LF).tobytes()

    def microseconds(self) -> NDArray[np.int64]:
        """Return the times in UTC microseconds; `NO_TIME` where nobody says."""
        return np.where(self.times == NO_TIME, NO_TIME, self.times // _MICROSECOND)


def lines_of(labels: Mapping[str, str], entries: Sequence[tuple[str, int]]) -> PushedLines:
    """Return lines given as texts with their times in nanoseconds."""
    texts = [text.encode("utf-8", "replace") for text, _ in entries]
    stops = np.cumsum([len(text) for text in texts], dtype=np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), stops[:-1]])[: len(texts)]
    times = np.array([time for _, time in entries], np.int64)
    return PushedLines(labels=labels, times=times, data=b"".join(texts), starts=starts, stops=stops)


def grouped(
    labels: Mapping[str, str], entries: Iterable[tuple[str, int, tuple[tuple[str, str], ...]]]
) -> list[PushedLines]:
    """Return the entries of one stream (text, time, telling labels of its own), apart by those."""
    groups: dict[tuple[tuple[str, str], ...], list[tuple[str, int]]] = {}
    for text, time, own in entries:
        groups.setdefault(own, []).append((text, time))
    return [lines_of({**labels, **dict(own)}, group) for own, group in groups.items()]


def require_few(count: int) -> None:
    """Refuse a body of too many lines.

    Raises
    ------
    InputError
        When there are more than `MAX_ENTRIES`.
    """
    if count > MAX_ENTRIES:
        raise InputError(
            "body", found=f"{count:,} lines", expected=f"at most {MAX_ENTRIES:,}", hint="send parts"
        )
