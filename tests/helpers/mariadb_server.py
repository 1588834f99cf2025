"""A real MariaDB behind a unix socket, with an account for the ledger; it ends with its user."""

from __future__ import annotations

import getpass
import itertools
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pymysql
from sqlalchemy import URL

from relume.serve.ledger import Access, Ledger
from relume.serve.ledger.serversocket import Connection

START_SECONDS = 120
USER, PASSWORD = "relume", "a 'quoted' secret"
_SYSTEM = "/usr/sbin:/sbin"
_SETTINGS = """\
[mariadbd]
datadir={folder}/data
tmpdir={folder}/tmp
socket={socket}
pid-file={folder}/mariadb.pid
log-error={folder}/mariadb.log
skip-networking
skip-name-resolve
innodb_buffer_pool_size=32M
innodb_log_file_size=16M
performance_schema=OFF
{more}
"""


class MariaDB:
    """One server in a folder, whose name must be short: a unix socket lies in it."""

    def __init__(self, folder: Path, more: str = "") -> None:
        self.folder = folder
        self.socket = folder / "s"
        self.defaults = folder / "my.cnf"
        (folder / "tmp").mkdir()  # a server that starts removes the tables of others from /tmp
        self.defaults.write_text(
            _SETTINGS.format(folder=folder, socket=self.socket, more=more), encoding="utf-8"
        )
        self.password_file = folder / "password"
        self.password_file.touch(mode=0o600)
        self.password_file.write_text(f"{PASSWORD}\n", encoding="utf-8")
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count(1)
        self.last_database = ""

    @property
    def access(self) -> Access:
        """How the ledger's account gets in."""
        return Access(password_file=self.password_file)

    def make(self) -> None:
        """Make the data folder."""
        command = [
            *(_program("mariadb-install-db"), f"--defaults-file={self.defaults}"),
            *("--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"),
            f"--user={getpass.getuser()}",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self, *options: str) -> None:
        """Start the server and wait until it answers."""
        command = [_program("mariadbd"), f"--defaults-file={self.defaults}", *options]
        self.socket.unlink(missing_ok=True)  # of one that was killed
        log = (self.folder / "out").open("ab")
        with log:
            self._process = subprocess.Popen(
                [*command, f"--user={getpass.getuser()}"], stdout=log, stderr=log
            )
        deadline = monotonic() + START_SECONDS
        while True:
            try:
                self.admin().close()
            except pymysql.err.OperationalError:
                said = (self.folder / "mariadb.log").read_text(errors="replace")[-2000:]
                assert self._process.poll() is None, said
                assert monotonic() < deadline, said
                sleep(0.02)
            else:
                return

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Stop the server and wait until it is gone."""
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(START_SECONDS)
        self._process = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let the server take connections, and neither answer nor end."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)  # all of its threads stand still
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """Stop the server if it runs."""
        if self._process is not None:
            self.stop()

    def admin(self, database: str | None = None) -> pymysql.Connection[Any]:
        """Return a connection of the administrator, which commits each statement."""
        return Connection(
            unix_socket=str(self.socket),
            user="root",
            database=database,
            autocommit=True,
            read_timeout=60,
        )

    def ask(self, statement: str, database: str | None = None) -> list[tuple[Any, ...]]:
        """Run a statement as administrator; return its rows."""
        with closing(self.admin(database)) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def add_user(self) -> None:
        """Make the ledger's account."""
        with closing(self.admin()) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE USER %s@localhost IDENTIFIED BY %s", (USER, PASSWORD))

    def new_database(self) -> str:
        """Make an empty database, whose defaults are none of ours; return its name."""
        name = self.last_database = f"ledger_{next(self._numbers)}"
        self.ask(f"CREATE DATABASE {name} CHARACTER SET latin1 COLLATE latin1_swedish_ci")
        self.ask(f"GRANT ALL ON {name}.* TO {USER}@localhost")
        return name

    def url(self, database: str | None = None) -> str:
        """Return the URL of a database; of a new one when null."""
        name = database or self.new_database()
        query = {"unix_socket": str(self.socket)}
        return URL.create("mysql+pymysql", USER, database=name, query=query).render_as_string()

    def open(self, url: str | None = None) -> Ledger:
        """Open a ledger; a new one when null."""
        return Ledger.open(url or self.url(), self.access)

    def empty(self) -> None:
        """Take every row out of every ledger, but for what the migrations put there."""
        asked = (
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE table_schema LIKE 'ledger\\_%' "
            "AND table_name NOT IN ('alembic_version', 'writers')"
        )
        with closing(self.admin()) as connection, connection.cursor() as cursor:
            cursor.execute("SET SESSION foreign_key_checks = 0")
            cursor.execute(asked)
            for database, table in cursor.fetchall():
                if cursor.execute(f"SELECT 1 FROM {database}.{table} LIMIT 1"):  # noqa: S608
                    cursor.execute(f"TRUNCATE TABLE {database}.{table}")

    def kill_connections(self) -> int:
        """End every connection of the ledger's account, as `KILL` does; return how many."""
        asked = f"SELECT id FROM information_schema.processlist WHERE user = '{USER}'"  # noqa: S608
        found = self.ask(asked)
        for (number,) in found:
            try:
                self.ask(f"KILL {number}")
            except pymysql.err.OperationalError:  # it has just gone by itself
                continue
        return len(found)


@contextmanager
def mariadb(folder: Path, more: str = "") -> Iterator[MariaDB]:
    """Make a server in a folder and run it; yield it."""
    server = MariaDB(folder, more)
    server.make()
    server.start()
    try:
        server.add_user()
        yield server
    finally:
        server.end()


def _program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=_SYSTEM)
    assert found is not None
    return found
