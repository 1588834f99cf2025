"""Advice that was written: by a service into its ledger, or by a backtest into its results."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from sqlalchemy import select

from relume.errors import InputError
from relume.serve.backtest.results import RESULTS_FILE, read_units
from relume.serve.ledger import Access
from relume.serve.ledger.copying import counts
from relume.serve.ledger.store import Store
from relume.serve.ledger.tables import ADVICE

SCHEMA = pl.Schema(
    {
        "attempt": pl.String(),
        "generation": pl.Int64(),
        "created_at": pl.Datetime("us", "UTC"),
        "operation": pl.String(),
        "exclude_nodes": pl.List(pl.String()),
        "kind": pl.String(),
        "domain": pl.String(),
        "cause": pl.String(),
        "rule": pl.String(),
        "confidence": pl.Float64(),
        "settled": pl.Boolean(),
        "mode": pl.String(),
    }
)


_DOCUMENTS = select(ADVICE.c.document)


def of_ledger(path: Path | str, access: Access | None = None) -> pl.DataFrame:
    """Return all Advice of a ledger, one row a generation, by time.

    It is opened for reading only; the service may go on writing.

    Parameters
    ----------
    path
        A SQLite file, or the URL of a database on a server (``serve.ledger_url``).
    access
        How a server is entered; null for no password and no TLS.

    Raises
    ------
    InputError
        When it is no ledger.
    UnreachableError
        When a server doesn't answer.
    """
    if "://" in str(path):
        return _frame(_of_server(str(path), access))
    path = Path(path)
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as ledger:
            texts = [text for (text,) in ledger.execute("SELECT document FROM advice")]
        return _frame(msgspec.json.decode(text) for text in texts)
    except (sqlite3.Error, msgspec.DecodeError) as error:
        raise InputError(
            f"ledger {path}",
            found=str(error),
            expected="the SQLite file of a service (`ledger.db` in `serve.folder`)",
        ) from error


def _of_server(url: str, access: Access | None) -> list[Any]:
    with closing(Store.connect(url, access)) as store:
        if not counts(store).get("advice"):
            return []
        documents = store.read(lambda connection: connection.execute(_DOCUMENTS).scalars().all())
    return [msgspec.json.decode(one) for one in documents]


def of_backtest(folder: Path | str) -> pl.DataFrame:
    """Return all Advice of a backtest that was kept with ``--out``, by time.

    Raises
    ------
    InputError
        When the folder holds no such results.
    """
    path = Path(folder) / RESULTS_FILE
    try:
        units = list(read_units(path))
    except OSError as error:
        raise InputError(
            f"results of a backtest in {folder}",
            found=str(error),
            expected=f"the file {RESULTS_FILE} that `relume backtest --out` writes",
        ) from error
    return _frame(
        msgspec.to_builtins(result.advice)
        for unit in units
        for attempt in unit.attempts
        for result in attempt.advice
    )


def _frame(documents: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    rows = [{name: document.get(name) for name in SCHEMA} for document in documents]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row").sort("created_at", "attempt")
