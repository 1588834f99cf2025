"""Advice of a ledger and of a backtest, as frames of the same columns."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from advising import ATTEMPT, make_advice
from mariadb_server import MariaDB
from relume.analysis.advised import SCHEMA, of_backtest, of_ledger
from relume.errors import InputError
from relume.serve.backtest.results import RESULTS_FILE, AdviceResult, AttemptResult, UnitResult
from relume.serve.ledger import Ledger, sqlite_url


def test_the_advice_of_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger.open(sqlite_url(path)) as ledger:
        ledger.put_advice(make_advice())
    [row] = of_ledger(path).to_dicts()
    assert list(row) == list(SCHEMA)
    assert (row["attempt"], row["generation"], row["operation"]) == (ATTEMPT, 1, "RESTART")
    assert row["created_at"].year == 2026


@pytest.mark.needs_server("mariadb")
def test_the_advice_of_a_ledger_on_a_server(mariadb_server: MariaDB) -> None:
    url = mariadb_server.url()
    assert of_ledger(url, mariadb_server.access).is_empty()  # and no tables are made
    assert mariadb_server.ask(f"SHOW TABLES FROM {mariadb_server.last_database}") == []
    with mariadb_server.open(url) as ledger:
        ledger.put_advice(make_advice())
    [row] = of_ledger(url, mariadb_server.access).to_dicts()
    assert row["attempt"] == ATTEMPT


def test_the_advice_of_a_backtest(tmp_path: Path) -> None:
    advice = make_advice()
    attempt = AttemptResult(
        attempt=ATTEMPT,
        title="a",
        run="r",
        start=None,
        end=None,
        nodes=1,
        state=None,
        advice=[AdviceResult(advice, [], [])],
        verdict=None,
        first_step=None,
        last_step=None,
        logs=1,
        missing=[],
        skipped={},
    )
    line = msgspec.json.encode(UnitResult("u", [attempt])) + b"\n"
    (tmp_path / RESULTS_FILE).write_bytes(line)
    frame = of_backtest(tmp_path)
    assert frame.schema == SCHEMA
    assert frame["attempt"].to_list() == [ATTEMPT]


@pytest.mark.parametrize("text", ["", "nonsense\n"])
def test_what_is_no_such_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(InputError, match="ledger"):
        of_ledger(path)
    with pytest.raises(InputError, match="backtest"):
        of_backtest(tmp_path)
    (tmp_path / RESULTS_FILE).write_text(text or "{}\n")
    with pytest.raises(InputError, match="backtest"):
        of_backtest(tmp_path)
