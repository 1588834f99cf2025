"""Rows in the order in which their jobs were submitted, however many there are."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator
from itertools import chain, islice

import msgspec

from relume.ingest.accounting.row import AccountingRow

HELD_ROWS = 50_000
"""As many rows are sorted in memory (some 50 MB); more go through a temporary file."""


def by_submit_time(
    rows: Iterable[AccountingRow], *, held: int = HELD_ROWS
) -> Iterator[AccountingRow]:
    """Yield the rows by submit time, those without one first; rows of one time keep their order.

    Of more than `held` rows only 16 bytes each stay in memory, the rest is in a temporary file.

    Examples
    --------
    >>> rows = [AccountingRow("8", "FAILED", submit=2), AccountingRow("7", "FAILED", submit=1)]
    >>> [row.job_id for row in by_submit_time(rows)]
    ['7', '8']
    """
    source = iter(rows)
    first = list(islice(source, held + 1))
    if len(first) <= held:
        yield from sorted(first, key=lambda row: row.submit or 0)
    else:
        yield from _by_way_of_a_file(chain(_taken_from(first), source))


def _taken_from(rows: list[AccountingRow]) -> Iterator[AccountingRow]:
    """Yield the rows in their order, and let go of each."""
    rows.reverse()
    while rows:
        yield rows.pop()


def _by_way_of_a_file(rows: Iterable[AccountingRow]) -> Iterator[AccountingRow]:
    times, ends = array("q"), array("q")
    encode, decoder = msgspec.msgpack.encode, msgspec.msgpack.Decoder(AccountingRow)
    with tempfile.TemporaryFile() as spill:
        for row in rows:
            spill.write(encode(row))
            times.append(row.submit or 0)
            ends.append(spill.tell())
        for index in sorted(range(len(times)), key=times.__getitem__):
            begin = ends[index - 1] if index else 0
            spill.seek(begin)
            yield decoder.decode(spill.read(ends[index] - begin))
