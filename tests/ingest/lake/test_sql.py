"""SQL reads what is committed, and nothing else, whoever wrote it."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from importing import landed, log_text
from relume.errors import InputError
from relume.events import SchedulerEvent, Tick
from relume.ingest.importing import import_units, units_of
from relume.ingest.lake import LakeError, LakeReader, LakeWriter
from relume.ingest.lake.frames import scan
from relume.ingest.lake.queries import query
from relume.ingest.lake.segments import EVENTS
from relume.ingest.lake.sql import connect

JOB = "lab/7@1772607600.0"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    # A name that globs, quotes and hives would take for something else.
    folder = tmp_path / "it's [a] date=x *"
    (tmp_path / "job.out").write_bytes(log_text(1, 500))
    with LakeWriter(folder) as writer:
        import_units(writer, units_of([tmp_path / "job.out"], attempt=JOB))
        writer.append([SchedulerEvent(source="s", attempt=JOB, state="FAILED", event_time=0)])
        writer.commit()
    return folder


def rows_of(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[object, ...]]:
    return list(query(connection, sql).rows())


@pytest.fixture
def connection(lake: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with connect(lake) as made:
        yield made


def test_every_table_has_a_view(connection: duckdb.DuckDBPyConnection) -> None:
    for table in EVENTS:
        assert connection.table(table).columns[-1] == "date"
    assert connection.sql("SELECT count(*) FROM tick").fetchall() == [(0,)]


def test_the_rows_are_those_of_the_lake(lake: Path, connection: duckdb.DuckDBPyConnection) -> None:
    rows = rows_of(
        connection,
        'SELECT attempt, node, stream, file, line, "offset", encode(text) FROM log_line ORDER BY landed',
    )
    assert rows == landed(lake)[:-1]
    frame = scan(lake, "log_line").select("text").collect()
    assert [text.encode() for text in frame["text"]] == [row[-1] for row in rows]


def test_times_are_utc(connection: duckdb.DuckDBPyConnection) -> None:
    sql = "SELECT event_time::VARCHAR, date FROM scheduler_event"
    [(time, date)] = rows_of(connection, sql)
    assert time == "1970-01-01 00:00:00+00"
    assert str(date) > "2026"


def test_files_that_no_commit_names_are_not_read(lake: Path) -> None:
    [path] = LakeReader(lake).tables()["scheduler_event"]
    (path.parent / "00000000000000000099.parquet").write_bytes(path.read_bytes())
    with connect(lake) as connection:
        assert connection.sql("SELECT count(*) FROM scheduler_event").fetchall() == [(1,)]
    assert scan(lake, "scheduler_event").collect().height == 1


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 AS one",
        "FROM log_line LIMIT 1",
        "WITH a AS (SELECT 1) SELECT * FROM a UNION ALL SELECT 2",
        "WITH RECURSIVE r AS (SELECT 1 a UNION ALL SELECT a + 1 FROM r WHERE a < 3) FROM r",
        "DESCRIBE log_line",
        "SUMMARIZE scheduler_event",
        "SHOW TABLES",
        "VALUES (1)",
        "SELECT * FROM range(3), unnest([1, 2])",
        "SELECT {'type': 'COPY_NODE', 'sql': 'COPY'} AS text",
        "SELECT count(*) FILTER (stream = 'stdout') FROM log_line WHERE date > '2020-01-01';",
    ],
)
def test_what_reads_is_done(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    assert rows_of(connection, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 1 a) TO '{segment}' (USE_TMP_FILE false)",
        "WITH x AS (COPY (SELECT 1 a) TO '{segment}' (USE_TMP_FILE false)) SELECT 1",
        "SELECT (SELECT count(*) FROM (WITH x AS (COPY (SELECT 1) TO '{other}') SELECT 1))",
        "SELECT * FROM query('WITH x AS (COPY (SELECT 1) TO ''{other}'') SELECT 1')",
        "SELECT * FROM query_table('log_line')",
        "SELECT * FROM json_execute_serialized_sql('')",
        "SELECT * FROM read_parquet('{segment}')",
        "SELECT 1; COPY (SELECT 1) TO '{other}'",
        "COPY (SELECT 1) TO '{other}'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{other}'",
        "EXPORT DATABASE '{other}'",
        "ATTACH '{other}'",
        "CREATE TABLE x AS SELECT 1",
        "WITH x AS (INSERT INTO tick SELECT * FROM tick RETURNING 1) SELECT * FROM x",
        "DROP VIEW log_line",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET memory_limit = '100GB'",
        "SET enable_external_access = true",
        "RESET allowed_paths",
        "PRAGMA database_list",
        "CALL pragma_version()",
        "SELECT * FROM '{secret}'",
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM read_csv('{secret}')",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM 'http://127.0.0.1:9/x.parquet'",
        "SELECT * FROM connection",
        "",
        "SELECT",
    ],
)
def test_what_does_more_than_read_is_refused(
    connection: duckdb.DuckDBPyConnection, lake: Path, tmp_path: Path, sql: str
) -> None:
    [segment] = LakeReader(lake).tables()["scheduler_event"]
    secret, other = tmp_path / "secret.csv", tmp_path / "other.csv"
    secret.write_text("a,b\n1,2\n")
    before = sorted(tmp_path.rglob("*")), segment.read_bytes()
    places = {"segment": segment, "secret": secret, "other": other, "folder": tmp_path}
    for name, path in places.items():
        sql = sql.replace(f"{{{name}}}", str(path).replace("'", "''"))
    with pytest.raises(InputError, match="SQL"):
        rows_of(connection, sql)
    assert (sorted(tmp_path.rglob("*")), segment.read_bytes()) == before


def test_a_connection_opens_no_other_file_either(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    for sql in (
        f"FROM read_csv('{tmp_path}/secret.csv')",
        f"COPY (SELECT 1) TO '{tmp_path}/other.csv'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
    ):
        with pytest.raises(duckdb.Error):
            connection.execute(sql)
    assert not (tmp_path / "other.csv").exists()


def test_memory_is_bounded(lake: Path) -> None:
    with connect(lake, memory_limit="200MB") as connection:
        [(limit,)] = rows_of(connection, "SELECT current_setting('memory_limit')")
        assert limit == "190.7 MiB"
        sql = "SELECT max(b) FROM (SELECT b FROM range(5_000_000) t(b) ORDER BY hash(b) LIMIT 4_999_999)"
        assert rows_of(connection, sql)


def test_what_did_not_fit_into_memory_is_removed(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    with connect(lake) as connection:
        [folder] = (tmp_path / "tmp").iterdir()
        assert folder.stat().st_mode & 0o077 == 0
    del connection
    gc.collect()
    assert list((tmp_path / "tmp").iterdir()) == []


def test_what_lands_later_needs_a_new_connection(lake: Path) -> None:
    with connect(lake) as connection:
        with LakeWriter(lake) as writer:
            writer.append([Tick(event_time=1)])
            writer.commit()
        assert rows_of(connection, "SELECT count(*) FROM tick") == [(0,)]
    with connect(lake) as connection:
        assert rows_of(connection, "SELECT count(*) FROM tick") == [(1,)]


def test_a_query_may_be_deep_but_not_endless(connection: duckdb.DuckDBPyConnection) -> None:
    assert rows_of(connection, "SELECT " + "+".join(["1"] * 100)) == [(100,)]
    for depth in (900, 100_000):
        with pytest.raises(InputError, match="SQL over a lake"):
            query(connection, "SELECT " + "+".join(["1"] * depth))


def test_a_query_that_fails_half_way_says_so(connection: duckdb.DuckDBPyConnection) -> None:
    answer = query(
        connection, "SELECT CAST(if(i = 150000, 'x', '1') AS INT) n FROM range(200000) t(i)"
    )
    assert answer.names == ("n",)
    with pytest.raises(InputError, match="Could not convert string 'x'"):
        list(answer.batches)


def test_a_wrong_query_says_why(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(InputError, match="log_lines does not exist"):
        query(connection, "SELECT * FROM log_lines")


def test_no_lake_is_named(tmp_path: Path) -> None:
    for read in (connect, lambda folder: scan(folder, "tick")):
        with pytest.raises(LakeError, match="no journal"):
            read(tmp_path)


def test_an_unknown_table_is_named(lake: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'log_line'"):
        scan(lake, "log_lines")
