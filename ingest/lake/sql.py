"""DuckDB over a lake: a view a table, over what is committed, with the columns of today.

Nothing is written, no other file is opened, no extension is loaded from anywhere, and memory is
bounded. The views hold what was committed when the lake was connected to.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from glob import escape
from pathlib import Path

import duckdb
import pyarrow as pa

from relume.ingest.lake.journal import Segment
from relume.ingest.lake.reader import LakeReader
from relume.ingest.lake.segments import (
    EVENTS,
    by_version,
    event_of_table,
    schema_of,
    schema_on_disk,
)
from relume.schemas import present_version

MEMORY_LIMIT = "1GB"
"""What a query may hold in memory; sorts and joins of more go to the temporary folder."""
TEMPORARY_LIMIT = "20GB"


def connect(
    folder: Path | str,
    *,
    memory_limit: str = MEMORY_LIMIT,
    segments: Mapping[str, list[Segment]] | None = None,
) -> duckdb.DuckDBPyConnection:
    """Return a connection with a view for each table of a lake.

    For SQL of your own; give SQL of others to `relume.ingest.lake.queries`, since DuckDB's COPY can
    write over the very files that a connection may read. Reading goes on while the lake is written
    to; what lands later needs a new connection.

    Parameters
    ----------
    folder
        The lake.
    memory_limit
        As DuckDB writes it: ``500MB``.
    segments
        What the views hold, as `LakeReader.segments` gave it; what is committed now when null.

    Raises
    ------
    LakeError
        When there is no lake, its journal is damaged, or a newer Relume wrote to it.

    Examples
    --------
    >>> from relume.events import Tick
    >>> from relume.ingest.lake import LakeWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with LakeWriter(folder) as lake:
    ...         lake.append([Tick(event_time=1), Tick(event_time=2)])
    ...         _ = lake.commit()
    ...     with connect(folder) as connection:
    ...         connection.sql("SELECT count(*) FROM tick").fetchall()
    [(2,)]
    """
    folder = Path(folder).absolute()
    committed = dict(LakeReader(folder).segments() if segments is None else segments)
    paths = [str(folder / one.path) for found in committed.values() for one in found]
    temporary = tempfile.mkdtemp(prefix="relume-sql-")  # nobody else's, and not in the way of any
    connection = duckdb.connect(
        config={
            "memory_limit": memory_limit,
            "temp_directory": temporary,
            "max_temp_directory_size": TEMPORARY_LIMIT,
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
            "python_enable_replacements": "false",  # a name is a view, never a variable
        }
    )
    weakref.finalize(connection, shutil.rmtree, temporary, ignore_errors=True)
    try:
        connection.execute("SET TimeZone = 'UTC'")
        for table in EVENTS:
            connection.execute(_view(connection, folder, table, committed.pop(table, [])))
        for others in committed.values():
            event_of_table(folder, others[0])  # says that a newer Relume wrote it
        # In this order: afterwards nothing can be allowed any more. DuckDB compares a path as it is
        # given, which is escaped, and once more when it is opened.
        connection.execute("SET allowed_paths = $paths", {"paths": [*paths, *map(escape, paths)]})
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
    except BaseException:
        connection.close()
        raise
    return connection


def _view(
    connection: duckdb.DuckDBPyConnection, folder: Path, table: str, segments: list[Segment]
) -> str:
    """The statement that makes the view of one table, whatever versions its segments have."""
    schema = schema_of(EVENTS[table])
    empty = connection.from_arrow(schema.empty_table())
    kinds = dict(zip(schema.names, map(str, empty.types), strict=True))
    parts = []
    for version, same in by_version(folder, segments).items():
        is_present = version == present_version(EVENTS[table])
        found = schema if is_present else schema_on_disk(folder, same[0])
        parts.append(f"{_select(schema, kinds, found)}, date FROM {_files(folder, same)}")
    if not parts:
        parts = [f"{_select(schema, kinds, pa.schema([]))}, CAST(NULL AS DATE) AS date WHERE false"]
    return f"CREATE VIEW {table} AS {' UNION ALL '.join(parts)}"


def _select(schema: pa.Schema, kinds: dict[str, str], found: pa.Schema) -> str:
    """The columns of today: as they are, cast from what an older version has, or made up."""
    columns = []
    for field in schema:
        value = f'"{field.name}"'
        if field.name not in found.names:
            value = f"CAST({'NULL' if field.nullable else '[]'} AS {kinds[field.name]})"
        elif found.field(field.name).type != field.type:
            value = f"CAST({value} AS {kinds[field.name]})"
        columns.append(f'{value} AS "{field.name}"')
    return f"SELECT {', '.join(columns)}"


def _files(folder: Path, segments: list[Segment]) -> str:
    paths = (escape(str(folder / segment.path)) for segment in segments)
    quoted = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    return (
        f"read_parquet([{quoted}], hive_partitioning = true, "
        "hive_types = {'date': DATE, 'table': VARCHAR})"
    )
