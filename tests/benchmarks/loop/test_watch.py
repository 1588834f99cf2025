from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from advising import CREATED, make_advice
from relume.benchmarks.loop.watch import AdviceWatch, about, attempt_of
from relume.benchmarks.slurm.processes import wait_until
from relume.clock import ManualClock
from relume.serve.ledger import Ledger, sqlite_url


def test_what_is_written_is_seen_once_and_in_order(tmp_path: Path) -> None:
    clock = ManualClock(CREATED + 7)
    first, second = make_advice(generation=1), make_advice(generation=2)
    with Ledger.open(sqlite_url(tmp_path / "ledger.db")) as ledger:
        ledger.put_advice(first)
        with AdviceWatch(tmp_path / "ledger.db", clock) as watch:
            wait_until(lambda: len(watch.seen()) == 1, what="the first")
            ledger.put_advice(second)
            wait_until(lambda: len(watch.seen()) == 2, what="the second")
            assert [one.advice for one in watch.seen()] == [first, second]
            assert watch.seen()[0].at == CREATED + 7
            job_id = attempt_of(watch.seen()[0]).job_key.job_id
            assert about(watch.seen(), job_id) == watch.seen()
            assert about(watch.seen(), "99") == ()


def test_a_ledger_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with AdviceWatch(tmp_path / "ledger.db") as watch:

        def failed() -> bool:
            try:
                watch.seen()
            except sqlite3.Error:
                return True
            return False

        wait_until(failed, what="the error")
        with pytest.raises(sqlite3.OperationalError, match="unable to open"):
            watch.seen()
