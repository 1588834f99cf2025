from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from importing import landed, log_text, make_dataset, make_entry
from relume.cli import app
from relume.cli.rows import FORMS
from relume.clock import ManualClock, from_iso
from relume.errors import InputError
from relume.events import Sample, Tick
from relume.ingest.lake import LakeReader, LakeWriter

LONG_AGO = from_iso("2020-01-02T12:00:00Z")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["lake", *map(str, arguments)])


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Return a lake with two commits of long ago."""
    folder = tmp_path / "lake"
    with LakeWriter(folder, clock=ManualClock(LONG_AGO)) as writer:
        for number in range(2):
            at = LONG_AGO + number * 1_000_000
            writer.append([Tick(event_time=at), Sample(source="x,y", metric="m", value=number)])
            writer.commit({"source": str(number)})
    return folder


def test_import_says_what_it_did(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "7.out").write_bytes(b"step 1\nstep 2\n")
    (folder / "core").write_bytes(b"\x7fELF")
    make_dataset(folder, [make_entry(7, "7.out", "core"), make_entry(8)])
    result = run("import", folder, "--lake", tmp_path / "lake")
    assert result.exit_code == 0, result.output
    first, second, third = result.stdout.splitlines()
    assert first == "2 imported, 0 gone on with, 0 there already"
    assert second.startswith("2 lines (0.0 MB), 4 events in ")
    assert third == f"not read: 1 x binary ({folder}/core)"
    assert len(landed(tmp_path / "lake")) == 6
    again = run("import", folder, "--lake", tmp_path / "lake")
    assert again.stdout.splitlines() == [
        "0 imported, 0 gone on with, 2 there already",
        "nothing new",
    ]


def test_import_as_json_is_one_document(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"one\n" + b"x" * 3_000_000)
    result = run("import", tmp_path / "a.log", "--lake", tmp_path / "lake", "--json")
    document = json.loads(result.stdout)
    assert document["schema_version"] == 1
    assert (document["imported"], document["lines"], document["refused"]) == (1, 4, 0)
    assert document["mended"] == {"long_line_split": 1}


def test_a_source_that_cannot_be_imported_hides_no_other(tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_bytes(b"one\n")
    lake = tmp_path / "lake"
    assert run("import", tmp_path / "a.log", "--lake", lake).exit_code == 0
    (tmp_path / "a.log").write_bytes(b"two\n")
    result = run("import", tmp_path / "a.log", tmp_path / "b.log", "--lake", lake)
    assert result.exit_code == 2
    assert "1 imported" in result.stdout
    assert "found other content than what was imported" in result.stderr


def test_nothing_is_written_for_a_source_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"one\n")
    result = run("import", tmp_path / "a.log", tmp_path / "b.log", "--lake", tmp_path / "lake")
    assert "no such file" in str(result.exception)
    assert not (tmp_path / "lake").exists()


def test_progress_is_shown_on_a_terminal_only(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(log_text(1, 20_000))
    command = [sys.executable, "-m", "relume", "lake", "import", str(tmp_path / "a.log"), "--lake"]
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    on_terminal = subprocess.run(
        [*command, str(tmp_path / "one")],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment,
        check=True,
    )
    os.close(theirs)
    assert "MB" in os.read(ours, 65536).decode()
    os.close(ours)
    piped = subprocess.run([*command, str(tmp_path / "two")], capture_output=True, check=True)
    assert piped.stderr == b""
    assert on_terminal.stdout.splitlines()[0] == piped.stdout.splitlines()[0]


def test_sql_prints_fields_tables_and_documents(lake: Path) -> None:
    query = 'SELECT source, value::INT AS n, sum(value) OVER () AS "all", NULL AS no FROM sample ORDER BY 2'
    assert (
        run("sql", query, "--lake", lake).stdout
        == "source\tn\tall\tno\nx,y\t0\t1.0\t\nx,y\t1\t1.0\t\n"
    )
    rows = [{"source": "x,y", "n": n, "all": 1.0, "no": None} for n in (0, 1)]
    assert json.loads(run("sql", query, "--lake", lake, "--json").stdout) == {
        "schema_version": 1,
        "columns": ["source", "n", "all", "no"],
        "rows": rows,
    }
    lines = run("sql", query, "--lake", lake, "--jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == rows
    table = list(csv.reader(io.StringIO(run("sql", query, "--lake", lake, "--csv").stdout)))
    assert table == [["source", "n", "all", "no"], ["x,y", "0", "1.0", ""], ["x,y", "1", "1.0", ""]]


def test_every_kind_of_value_has_a_form(lake: Path) -> None:
    query = (
        "SELECT TIMESTAMPTZ '2026-01-02 03:04:05+01' AS time, [1, 2] AS list, {'a': 'b'} AS struct, "
        "10::HUGEINT AS huge, 1.5::DECIMAL(3, 1) AS part, 'nan'::DOUBLE AS none, "
        "'\\xFF'::BLOB AS blob, INTERVAL 1 DAY AS span, DATE '2026-01-02' AS date"
    )
    [row] = json.loads(run("sql", query, "--lake", lake, "--json").stdout)["rows"]
    assert row.pop("span") == "1 day"
    assert row == {
        "time": "2026-01-02T02:04:05Z",
        "list": [1, 2],
        "struct": {"a": "b"},
        "huge": 10,
        "part": 1.5,
        "none": None,
        "blob": "\\xff",
        "date": "2026-01-02",
    }
    fields = run("sql", query, "--lake", lake).stdout.splitlines()[1].split("\t")
    assert fields[:4] == ["2026-01-02T02:04:05Z", "[1,2]", '{"a":"b"}', "10"]
    assert (fields[5], fields[7]) == ("nan", "1 day")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("TIMESTAMPTZ '99999-01-01'", "99999-01-01 00:00:00+00"),
        ("TIMESTAMP 'infinity'", "infinity"),
        ("DATE '0044-03-15 (BC)'", "0044-03-15 (BC)"),
        ("TIMESTAMP_NS '2026-01-02 03:04:05.123456789'", "2026-01-02 03:04:05.123456789"),
        ("TIME '24:00:00'", "24:00:00"),
        ("INTERVAL '1 month -2 days 3 seconds'", "1 month -2 days 00:00:03"),
        ("[DATE '99999-01-01']", "[99999-01-01]"),
        ("{'a': INTERVAL 1 DAY}", "{'a': 1 day}"),
        (f"{2**128 - 1}::UHUGEINT", f"{2**128 - 1}"),
    ],
)
def test_what_python_cannot_hold_is_text(lake: Path, value: str, text: str) -> None:
    query = f'FROM sample SELECT {value} AS "x""y", source ORDER BY value'
    rows = [{'x"y': text, "source": "x,y"}] * 2
    assert json.loads(run("sql", query, "--lake", lake, "--json").stdout)["rows"] == rows
    lines = run("sql", query, "--lake", lake, "--jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == rows
    table = list(csv.reader(io.StringIO(run("sql", query, "--lake", lake, "--csv").stdout)))
    assert table[1] == [text, "x,y"]
    assert run("sql", query, "--lake", lake).stdout.splitlines()[1].split("\t")[0] == text


def test_only_the_values_that_python_cannot_hold_are_text(lake: Path) -> None:
    query = "SELECT unnest([DATE '2026-01-02', DATE 'infinity', NULL]) AS day"
    lines = run("sql", query, "--lake", lake, "--jsonl").stdout.splitlines()
    assert [json.loads(line)["day"] for line in lines] == ["2026-01-02", "infinity", None]


@pytest.mark.parametrize("form", ["--json", "--jsonl", "--csv", None])
def test_a_query_that_fails_at_once_prints_nothing(lake: Path, form: str | None) -> None:
    query = "SELECT CAST(source AS INT) AS n FROM sample"
    result = run("sql", query, "--lake", lake, *([form] if form else []))
    assert isinstance(result.exception, InputError)
    assert not result.stdout


def test_a_value_that_json_has_no_form_for_is_one_error(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    deep: list[object] = []
    for _ in range(300):
        deep = [deep]
    for write in FORMS.values():
        with pytest.raises(InputError, match="can't be printed"):
            write(["deep"], [[deep]])
    assert capsysbinary.readouterr().out == b""


def test_hostile_text_does_not_reach_the_terminal(lake: Path) -> None:
    result = run("sql", "SELECT chr(27) || '[2J' AS text", "--lake", lake)
    assert "\x1b" not in result.stdout


def test_sql_draws_a_table_on_a_terminal(lake: Path) -> None:
    ours, theirs = os.openpty()
    query = "SELECT value FROM sample, range(600)"
    command = [sys.executable, "-m", "relume", "lake", "sql", query, "--lake", str(lake)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "40"}
    with subprocess.Popen(
        command, stdout=theirs, stderr=subprocess.PIPE, env=environment
    ) as process:
        os.close(theirs)
        text = b""
        with suppress(OSError):  # the end of a terminal
            while piece := os.read(ours, 4096):
                text += piece
        _, error = process.communicate()
    os.close(ours)
    assert "│ 0.0   │" in text.decode()
    assert text.count(b"\n") == 1000 + 4
    assert "only the first 1000 rows are shown" in error.decode()


def test_sql_refuses_two_forms_at_once(lake: Path) -> None:
    result = run("sql", "SELECT 1", "--lake", lake, "--json", "--csv")
    assert "can't be used together" in str(result.exception)


def test_sql_that_writes_is_refused(lake: Path, tmp_path: Path) -> None:
    result = run("sql", f"COPY (SELECT 1) TO '{tmp_path}/x.csv'", "--lake", lake)
    assert "expected one statement that reads" in str(result.exception)
    assert not (tmp_path / "x.csv").exists()


def test_tables_lists_what_a_lake_holds(lake: Path, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"one\n")
    run("import", tmp_path / "a.log", "--lake", lake)
    rows = {
        row["table"]: row
        for row in json.loads(run("tables", "--lake", lake, "--json").stdout)["rows"]
    }
    assert list(rows) == ["tick", "sample", "log_line"]
    tick = rows["tick"]
    assert (tick["segments"], tick["rows"], tick["schema_versions"]) == (2, 2, [1])
    assert (tick["first"], tick["last"]) == (
        "2020-01-02T12:00:00.000000Z",
        "2020-01-02T12:00:01.000000Z",
    )
    assert tick["bytes"] == sum(path.stat().st_size for path in LakeReader(lake).tables()["tick"])
    assert rows["log_line"]["first"] is None
    assert run("tables", "--lake", lake).stdout.startswith("table\tsegments\trows\t")


def test_prune_says_what_would_go_and_then_does_it(lake: Path) -> None:
    with LakeWriter(lake) as writer:
        writer.append([Tick(event_time=7)])
        writer.commit()
    result = run("prune", "--lake", lake, "--keep", "90d")
    first, _, last = result.stdout.splitlines()
    assert first.startswith("tick: 2 segments, 2 rows, ")
    assert last == "that would go; --yes does it"
    assert len(landed(lake)) == 5
    assert run("prune", "--lake", lake, "--keep", "90d", "--yes").stdout.endswith("it is gone\n")
    assert landed(lake) == [Tick(event_time=7)]
    assert (
        run("prune", "--lake", lake, "--keep", "12w", "--yes").stdout
        == "nothing is older than 84 days\n"
    )


def test_prune_goes_by_the_setting(lake: Path, tmp_path: Path) -> None:
    config = tmp_path / "relume.toml"
    config.write_text("[lake]\nkeep_days = 365\n")
    assert "that would go" in run("prune", "--lake", lake, "--config", config).stdout
    config.write_text("")
    result = run("prune", "--lake", lake, "--config", config)
    assert "lake.keep_days keeps everything" in str(result.exception)


def test_what_a_service_needs_is_told_to_stay(lake: Path) -> None:
    with LakeWriter(lake) as writer:
        writer.commit({"judge": "1"})
    result = run("prune", "--lake", lake, "--keep", "1y", "--yes")
    assert "still needs it" in result.stderr
    assert len(landed(lake)) == 2


@pytest.mark.parametrize("age", ["", "90", "0d", "-1d", "1h", "9" * 9 + "d"])
def test_an_age_must_be_one(lake: Path, age: str) -> None:
    result = run("prune", "--lake", lake, "--keep", age)
    assert "such as 90d, 12w or 2y" in str(result.exception)


@pytest.mark.parametrize("age", ["0", "0d", "0s", "00w"])
def test_an_age_of_0_is_told_as_one(lake: Path, age: str) -> None:
    result = run("prune", "--lake", lake, "--keep", age, "--yes")
    assert "an age of 0" in str(result.exception)
    assert len(landed(lake)) == 4


def test_compact_merges_what_an_import_landed(lake: Path, tmp_path: Path) -> None:
    with LakeWriter(lake) as writer:
        for time in range(3):
            writer.append([Tick(event_time=time)])
            writer.commit()
    before = list(LakeReader(lake).landings())
    assert "became" in run("compact", "--lake", lake).stdout
    told = json.loads(run("compact", "--lake", lake, "--json").stdout)
    assert (told["commits"], told["segments_before"], told["removed"]) == (0, 0, 0)
    assert len(list(LakeReader(lake).landings())) == len(before)
    missing = run("compact", "--lake", tmp_path / "none")
    assert missing.exit_code
    assert not (tmp_path / "none").exists()
