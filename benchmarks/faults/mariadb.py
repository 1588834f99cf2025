"""A MariaDB of a few MiB on a socket in a folder, to be taken away and given back."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Self

import pymysql
from sqlalchemy import URL

from relume.benchmarks.loop.daemon import Daemon
from relume.errors import UnreachableError
from relume.serve.ledger.serversocket import Connection

START_SECONDS = 120.0
DATABASE = "relume"
_WHERE = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
_COMMANDS = ("mariadbd", "mariadb-install-db")


def is_there() -> bool:
    """Whether MariaDB is installed."""
    return all(shutil.which(name, path=_WHERE) for name in _COMMANDS)


class MariaDB:
    """One server, whose account is the operating system's user; a context manager.

    Its folder's path must be short, since a unix socket lies in it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._socket = folder / "s"
        program = shutil.which("mariadbd", path=_WHERE) or "mariadbd"
        command = [
            *(program, "--no-defaults", f"--datadir={folder / 'data'}", "--skip-networking"),
            *(f"--socket={self._socket}", f"--pid-file={folder / 'pid'}"),
            *("--innodb-buffer-pool-size=32M", f"--user={getpass.getuser()}"),
        ]
        self.process = Daemon("mariadbd", command, folder=folder, log=folder / "mariadb.log")

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        program = shutil.which("mariadb-install-db", path=_WHERE) or "mariadb-install-db"
        command = [
            *(program, "--no-defaults", f"--datadir={self._folder / 'data'}"),
            *("--auth-root-authentication-method=normal", "--skip-test-db"),
            f"--user={getpass.getuser()}",
        ]
        subprocess.run(command, capture_output=True, check=True)
        self.start()
        with closing(self._connect()) as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {DATABASE}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.stop()

    @property
    def url(self) -> str:
        """The URL of its database."""
        query = {"unix_socket": str(self._socket)}
        url = URL.create("mysql+pymysql", "root", database=DATABASE, query=query)
        return url.render_as_string()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._socket.unlink(missing_ok=True)  # of one that was killed
        self.process.start()
        deadline = monotonic() + START_SECONDS
        while True:
            try:
                self._connect().close()
            except pymysql.err.OperationalError as error:
                if monotonic() > deadline:
                    raise UnreachableError("MariaDB", found=str(error)) from error
                sleep(0.1)
            else:
                return

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()

    def _connect(self) -> Connection:
        # Ours: that of PyMySQL leaves its socket open when the server isn't there.
        return Connection(unix_socket=str(self._socket), user="root", autocommit=True)
