"""Rows of a query for people and for programs: a table, tab-separated lines, CSV, JSON."""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import chain, islice
from typing import TypeVar

from relume.cli.output import say
from relume.errors import InputError
from relume.printing import printable
from relume.records import SCHEMA_VERSION

MAX_DRAWN = 1000
"""Rows of a table on a terminal; it is laid out as a whole."""
Row = Sequence[object]
T = TypeVar("T")


def write_json(names: Sequence[str], rows: Iterable[Row]) -> None:
    """Write one JSON document, row by row."""
    head = _json({"schema_version": SCHEMA_VERSION, "columns": list(names)})
    records = _begun(_json(dict(zip(names, row, strict=True))) for row in rows)
    sys.stdout.buffer.write(head[:-1] + b',"rows":[')
    comma = b"\n"
    for record in records:
        sys.stdout.buffer.write(comma + record)
        comma = b",\n"
    sys.stdout.buffer.write(b"\n]}\n")
    sys.stdout.buffer.flush()


def write_jsonl(names: Sequence[str], rows: Iterable[Row]) -> None:
    """Write one JSON object a row."""
    for row in rows:
        sys.stdout.buffer.write(_json(dict(zip(names, row, strict=True))) + b"\n")
    sys.stdout.buffer.flush()


def write_csv(names: Sequence[str], rows: Iterable[Row]) -> None:
    """Write CSV with a header; lists and structures are JSON, null is empty."""
    cells = _begun([_text(value) for value in row] for row in rows)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(cells)
    sys.stdout.flush()


def write_text(names: Sequence[str], rows: Iterable[Row]) -> None:
    """Draw a table on a terminal; write lines of tab-separated fields elsewhere."""
    shown = _begun([printable(_text(value)) for value in row] for row in rows)
    if not sys.stdout.isatty():
        for cells in chain([names], shown):
            sys.stdout.write("\t".join(cells) + "\n")
        return
    _draw(names, shown)


def _begun(found: Iterable[T]) -> Iterator[T]:
    """Compute the first: what fails at once fails before anything is printed."""
    rest = iter(found)
    return chain(list(islice(rest, 1)), rest)


def _draw(names: Sequence[str], shown: Iterator[list[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(*map(printable, names))
    for cells in islice(shown, MAX_DRAWN):
        table.add_row(*cells)
    Console(markup=False, highlight=False).print(table)
    if next(shown, None) is not None:
        say(f"only the first {MAX_DRAWN} rows are shown; --csv gives all")


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str) else _json(value).decode().strip('"')


def _json(value: object) -> bytes:
    import orjson

    try:
        return orjson.dumps(
            value, default=_plain, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS
        )
    except orjson.JSONEncodeError as error:
        raise InputError(
            "rows of a query",
            found=f"a value that can't be printed ({error})",
            expected="values that JSON has a form for",
            hint="have the query make text of it: CAST(... AS VARCHAR)",
        ) from error


def _plain(value: object) -> object:
    """What JSON has no form for: sums are decimals in DuckDB, blobs are bytes."""
    if isinstance(value, Decimal):
        whole = int(value)
        return whole if value == whole and abs(whole) < 1 << 63 else float(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return str(value)


FORMS: dict[str, Callable[[Sequence[str], Iterable[Row]], None]] = {
    "json": write_json,
    "jsonl": write_jsonl,
    "csv": write_csv,
    "text": write_text,
}
"""How rows are written, by the name of the option."""
