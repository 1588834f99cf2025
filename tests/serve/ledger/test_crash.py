"""A writer killed at any moment loses nothing that was acknowledged, and leaves nothing by halves."""

from __future__ import annotations

import dataclasses
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

import pytest
from sqlalchemy import make_url

import crash_writer
from crash_writer import REPORT, advice_of, label_of, pair_of
from mariadb_server import MariaDB
from relume.advice import Reconciliation
from relume.serve.ledger import Ledger, sqlite_url

KILLS, SERVER_KILLS = 20, 8
ROWS = "SELECT count(*) FROM advice"
TOGETHER = [
    (ROWS, "SELECT count(*) FROM incident_advice"),
    ("SELECT count(*) FROM labels", "SELECT count(*) FROM audit WHERE what = 'label'"),
    (
        "SELECT count(*) FROM reconciliations",
        "SELECT count(*) FROM audit WHERE what = 'reconciliation'",
    ),
]
"""What is written in one transaction, and so as often."""


class Writers:
    """Starts writers one after the other, and kills them."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._commands: IO[str] = process.stdin
        self._said: IO[str] = process.stdout

    def kill_one(self, first: int, draw: random.Random) -> dict[str, int]:
        """Let one write from number `first` on, kill it; return the last number of each call."""
        print(first, file=self._commands, flush=True)
        pid = int(self._said.readline().removeprefix("pid "))
        last: dict[str, int] = {}
        for _ in range(draw.randint(1, 30)):
            self._note(self._said.readline(), last)
        # A transaction takes about this long: the kill may hit any part of one.
        spin_until = time.perf_counter() + draw.uniform(0, 0.002)
        while time.perf_counter() < spin_until:
            pass
        os.kill(pid, signal.SIGKILL)
        for line in iter(self._said.readline, "ended\n"):
            self._note(line, last)
        return last

    def _note(self, line: str, last: dict[str, int]) -> None:
        call, number = line.split()
        last[call] = int(number)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of a ledger that doesn't exist yet."""
    return tmp_path / "ledger.db"


@pytest.fixture
def writers(file: Path) -> Iterator[Writers]:
    """What starts and kills the writers of `file`."""
    with started(sqlite_url(file)) as found:
        yield found


@contextmanager
def started(url: str, password_file: str = "") -> Iterator[Writers]:
    """Start what starts and kills the writers of a ledger."""
    command = [sys.executable, crash_writer.__file__, url, password_file]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Writers(process)


def check_advice(ledger: Ledger, first: int, last: dict[str, int]) -> None:
    """Each Advice and report that was acknowledged is there, whole."""
    for number in range(first, last["advice"] + 1):
        expected = advice_of(number)
        found = ledger.get(expected.advice_id)
        assert found is not None
        assert dataclasses.replace(found, reconciliation=Reconciliation()) == expected
        assert found.reconciliation == REPORT or number > last["report"]


def check_aftermath(ledger: Ledger, first: int, last: dict[str, int]) -> None:
    """Each label that was acknowledged is there, and each Advice has its incident."""
    for number in range(first, last["advice"] + 1):
        name = advice_of(number).advice_id
        incident = ledger.incident_of(name)
        assert incident is not None
        assert incident.advice == (name,)
        assert ledger.standing(name).labels == (label_of(number),) or number > last["label"]


def check_pairs(ledger: Ledger, last: dict[str, int]) -> None:
    """What was written in one call is there together, and as new as was acknowledged."""
    left, right = ledger.attempts()
    step = left.last_step or 0
    assert (left, right) == pair_of(step)
    assert last["attempts"] <= step <= last["advice"]
    positions = ledger.cursors()
    assert positions["left"] == positions["right"]
    assert last["cursors"] <= int(positions["left"]) <= last["attempts"]


def kill_and_check(writers: Writers, reopen: Callable[[], Ledger], kills: int) -> int:
    """Kill writers and look at what they left; return how much Advice was acknowledged."""
    draw = random.Random(20260302)
    with reopen() as ledger:
        ledger.put_attempts(pair_of(0))
        ledger.put_cursors({"left": "0", "right": "0"})
    last = dict.fromkeys(("advice", "attempts", "cursors", "report", "label"), 0)
    rows = 0
    for _ in range(kills):
        first = last["advice"] + 2  # the next one may have been written, unsaid
        last |= writers.kill_one(first, draw)
        rows += last["advice"] + 1 - first
        with reopen() as ledger:
            check_advice(ledger, first, last)
            check_pairs(ledger, last)
            check_aftermath(ledger, first, last)
            assert ledger.verify().broken is None
    return rows


def test_a_killed_writer_loses_nothing_and_leaves_nothing_by_halves(
    file: Path, writers: Writers
) -> None:
    rows = kill_and_check(writers, lambda: Ledger.open(sqlite_url(file)), KILLS)
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        (found,) = connection.execute(ROWS).fetchone()
        for told, audited in TOGETHER:
            assert connection.execute(told).fetchone() == connection.execute(audited).fetchone()
    assert rows <= found <= rows + KILLS


@pytest.mark.needs_server("mariadb")
def test_on_a_server_it_is_the_same(mariadb_server: MariaDB) -> None:
    url = mariadb_server.url()
    with started(url, str(mariadb_server.password_file)) as writers:
        rows = kill_and_check(writers, lambda: mariadb_server.open(url), SERVER_KILLS)
    name = make_url(url).database
    ((found,),) = mariadb_server.ask(ROWS, name)
    for told, audited in TOGETHER:
        assert mariadb_server.ask(told, name) == mariadb_server.ask(audited, name)
    assert rows <= found <= rows + SERVER_KILLS
