"""SQL over a lake, whoever wrote it: one statement that reads, its rows as they come."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from relume.errors import InputError

BATCH_ROWS = 10_000
_READING_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
_TABLE_FUNCTIONS = frozenset(
    {"duckdb_columns", "duckdb_functions", "duckdb_views", "generate_series", "range", "unnest"}
)
"""Functions in FROM that are let through: others run SQL that they are given, or read files."""


# What Arrow or Python has no type for, or one that holds less. TIME reaches 24:00:00.
_AS_TEXT = re.compile(
    r"\b(?:INTERVAL|UHUGEINT|BIGNUM|VARINT|BIT|TIME_NS|TIMESTAMP_NS|(?<!WITH )TIME)\b"
)
_NOT_HELD = (OverflowError, ValueError, pa.ArrowException)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query gives: the names of its columns, and its rows as they are computed.

    Reading `batches` raises `InputError` where the query fails half-way.
    """

    names: tuple[str, ...]
    batches: Iterator[pa.RecordBatch]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows, with values as Python has them.

        What Python can't hold (years above 9999 or BC, infinity) is text, as DuckDB writes it.
        """
        for batch in self.batches:
            yield from zip(*map(_values, batch.columns), strict=True)


def query(connection: duckdb.DuckDBPyConnection, sql: str) -> Answer:
    """Run one statement that reads.

    Parameters
    ----------
    connection
        What `relume.ingest.lake.sql.connect` gave; good for one query at a time.
    sql
        SELECT, FROM, VALUES, DESCRIBE, SUMMARIZE or SHOW.

    Raises
    ------
    InputError
        For any other statement, also within one that reads, and for what makes no sense to DuckDB.
        Nothing has been run by then.
    """
    try:
        [(text,)] = connection.execute("SELECT json_serialize_sql($sql)", {"sql": sql}).fetchall()
        _require_reading(json.loads(text))
        relation = _holdable(connection.sql(sql))
        reader = relation.to_arrow_reader(BATCH_ROWS)
    except RecursionError as error:
        raise _refused("a query that is nested too deeply") from error
    except (duckdb.Error, OSError, pa.ArrowException) as error:
        raise _failed(error) from error
    return Answer(tuple(relation.columns), _batches(reader))


def _batches(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    try:
        yield from reader
    except (duckdb.Error, OSError, pa.ArrowException) as error:
        raise _failed(error) from error


def _holdable(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Have DuckDB write the columns as text that would lose something on their way to Python."""
    is_text = [_AS_TEXT.search(str(kind)) is not None for kind in relation.types]
    if not any(is_text):
        return relation
    columns = []
    for number, (name, as_text) in enumerate(zip(relation.columns, is_text, strict=True), 1):
        value = f"CAST(#{number} AS VARCHAR)" if as_text else f"#{number}"
        quoted = name.replace('"', '""')
        columns.append(f'{value} AS "{quoted}"')
    return relation.project(", ".join(columns))


def _values(column: pa.Array) -> list[Any]:
    try:
        return list(column.to_pylist())
    except _NOT_HELD:
        texts = _texts(column)
    values = []
    for scalar, text in zip(column, texts, strict=True):
        try:
            values.append(scalar.as_py())
        except _NOT_HELD:
            values.append(text)
    return values


def _texts(column: pa.Array) -> list[str | None]:
    with duckdb.connect(config={"autoload_known_extensions": "false"}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        table = connection.from_arrow(pa.table({"value": column}))
        return [text for (text,) in table.project("CAST(value AS VARCHAR)").fetchall()]


def _require_reading(tree: dict[str, Any]) -> None:
    """Refuse what does more than read the views: DuckDB has COPY and INSERT in a WITH, too."""
    if tree["error"]:
        raise _refused(tree["error_message"])
    if len(tree["statements"]) != 1:
        raise _refused(f"{len(tree['statements'])} statements")
    for node in _objects(tree):
        kind, function = str(node.get("type")), node.get("function")
        if kind.endswith("_NODE") and kind not in _READING_NODES:
            raise _refused(kind.removesuffix("_NODE").removesuffix("_QUERY"))
        if kind == "TABLE_FUNCTION" and isinstance(function, dict):
            name = str(function.get("function_name"))
            if name not in _TABLE_FUNCTIONS:
                raise _refused(f"the function {name} in FROM")


def _objects(tree: object) -> Iterator[dict[str, Any]]:
    """Every object of a JSON document; without recursion, since queries may be deep."""
    waiting = [tree]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            yield found
            waiting += found.values()
        elif isinstance(found, list):
            waiting += found


def _refused(found: str) -> InputError:
    return InputError(
        "SQL over a lake",
        found=found,
        expected="one statement that reads: SELECT, FROM, DESCRIBE, SUMMARIZE or SHOW",
        hint="SQL can change nothing in a lake, and reads nothing else",
    )


def _failed(error: Exception) -> InputError:
    return InputError(
        "SQL over a lake",
        found=str(error).strip(),
        expected="a query over its tables",
        hint="`relume lake tables` lists them",
    )
