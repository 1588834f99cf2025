"""`relume advice` and `relume ledger`: lists, one Advice, labels, and the check of the audit."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from advising import ATTEMPT, CREATED, make_advice
from relume.advice import advice_id
from relume.cli import app
from relume.errors import InputError
from relume.models.worth.outcomes import Label
from relume.serve.ledger import Ledger, NotFoundError, OutcomeRecord, sqlite_url
from relume.verdict import Evidence

FIRST = advice_id(ATTEMPT, 1)
HOSTILE = "\x1b[2J[red]gone"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ledger with three attempts, advised in turn; the newest is about `ATTEMPT`."""
    file = tmp_path / "ledger.db"
    with Ledger.open(sqlite_url(file)) as ledger:
        for number in (2, 1):
            attempt = f"lab/{number}@1767323045.0"
            at = CREATED - number
            ledger.put_advice(make_advice(attempt=attempt, created_at=at, decided_at=at))
        said = Evidence("xid_79", "root", "kernel.log", 3, HOSTILE, 5)
        ledger.put_advice(make_advice(cause=HOSTILE, evidence=(said,)))
        ledger.note(
            OutcomeRecord(
                advice_id=FIRST,
                attempt=ATTEMPT,
                rule="no_new_step",
                label=Label.TRUE,
                reason="it died",
                alarm_at=CREATED,
                known_at=CREATED,
            )
        )
    return file


def label(file: Path, *arguments: str) -> Result:
    return run("advice", "label", FIRST[:6], "--who", "on call", "--ledger", file, *arguments)


def test_advice_is_listed_newest_first_page_by_page(file: Path) -> None:
    result = run("advice", "list", "--ledger", file, "--limit", "2")
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert [row[2] for row in rows] == ["about", ATTEMPT, "lab/1@1767323045.0"]
    assert rows[1][-1] == "true by its outcome"
    assert "\x1b" not in result.stdout
    last = result.stderr.split("--before ")[1].strip()
    rest = run("advice", "list", "--ledger", file, "--before", last, "--json")
    [one] = json.loads(rest.stdout)["advice"]
    assert one["attempt"] == "lab/2@1767323045.0"
    assert one["standing"]["label"] is None
    mine = run("advice", "list", "--ledger", file, "--attempt", ATTEMPT)
    assert len(mine.stdout.splitlines()) == 2


def test_one_is_shown_with_all_that_is_known_of_it(file: Path) -> None:
    assert label(file, "--wrong", "--cause", "oom", "--why", HOSTILE).exit_code == 0
    result = run("advice", "show", FIRST[:6], "--ledger", file)
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    for words in (FIRST, "goes on", "true: it died", "wrong, oom, by on call", "false by on call"):
        assert words in result.stdout
    asked = run("advice", "show", FIRST, "--ledger", file, "--estimate")
    assert "too little is known to say; rule xid_79 was right 0 times" in asked.stdout
    document = json.loads(run("advice", "show", FIRST, "--ledger", file, "--json").stdout)
    assert "record" not in document
    assert document["standing"]["label"] == "false"
    assert document["incident"]["advice"] == [FIRST]
    assert document["evidence"][0]["text"] == HOSTILE


def test_a_label_needs_to_say_right_or_wrong_and_who(file: Path) -> None:
    assert label(file).exit_code == 2
    assert run("advice", "label", FIRST, "--right", "--ledger", file).exit_code == 2
    with Ledger.open(sqlite_url(file)) as ledger:
        assert ledger.audit() == []


def test_what_can_not_be_found_is_said(file: Path, tmp_path: Path) -> None:
    missing = run("advice", "show", "zzz", "--ledger", file)
    assert isinstance(missing.exception, NotFoundError)
    assert isinstance(run("advice", "show", "\udcff", "--ledger", file).exception, NotFoundError)
    assert run("advice", "list", "--attempt", "\udcff", "--ledger", file).exit_code == 0
    nothing = run("advice", "list", "--ledger", tmp_path / "none.db")
    assert isinstance(nothing.exception, InputError)
    assert "no such file" in str(nothing.exception)
    assert not (tmp_path / "none.db").exists()


def test_a_beginning_that_several_share_names_none_of_them(file: Path) -> None:
    with Ledger.open(sqlite_url(file)) as ledger:
        begun = {one.advice_id[0] for one in ledger.listed()}
        for number in range(10, 60):
            ledger.put_advice(make_advice(attempt=f"lab/{number}@1767323045.0"))
    result = run("advice", "show", begun.pop(), "--ledger", file)
    assert isinstance(result.exception, InputError)
    assert "more than one" in str(result.exception)


def test_the_configured_data_folder_is_where_it_looks(file: Path, tmp_path: Path) -> None:
    config = tmp_path / "relume.toml"
    config.write_text(f'[serve]\nfolder = "{file.parent}"\n')
    assert len(run("advice", "list", "--config", config).stdout.splitlines()) == 4


def test_the_audit_is_listed_and_a_broken_chain_is_found(file: Path) -> None:
    for way in ("--right", "--wrong"):
        label(file, way)
    whole = run("ledger", "verify", "--ledger", file)
    assert (whole.exit_code, whole.stdout[:11]) == (0, "rows that h")
    rows = json.loads(run("ledger", "audit", "--ledger", file, "--json").stdout)["audit"]
    assert rows[-1]["hash"] in whole.stdout
    listed = run("ledger", "audit", "--ledger", file, "--after", "1").stdout.splitlines()
    assert [line.split("\t")[0] for line in listed] == ["number", "2"]
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DROP TRIGGER audit_refuses_update")
        connection.execute("UPDATE audit SET who = 'somebody' WHERE number = 2")
        connection.commit()
    broken = run("ledger", "verify", "--ledger", file)
    assert broken.exit_code == 1
    assert "row 2 was changed" in broken.stderr
    assert json.loads(run("ledger", "verify", "--ledger", file, "--json").stdout)["rows"] == 1
