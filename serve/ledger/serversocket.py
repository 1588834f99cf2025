"""A connection of PyMySQL that leaves no socket open when nobody listens at a unix socket."""

from __future__ import annotations

import socket
from typing import Any

import pymysql
from pymysql.constants import CR


class Connection(pymysql.connections.Connection):  # type: ignore[misc]  # it has no types
    """As PyMySQL's own; a socket that doesn't connect is closed at once."""

    def connect(self, sock: socket.socket | None = None) -> None:
        """Connect, through `sock` when it is given."""
        if sock is None and self.unix_socket:
            sock = _dial(self.unix_socket, self.connect_timeout)
            self.host_info, self._secure = "Localhost via UNIX socket", True
        super().connect(sock)


def connect(
    _dialect: object, _record: object, _args: object, parameters: dict[str, Any]
) -> Connection:
    """Make a connection for SQLAlchemy (its event ``do_connect``)."""
    return Connection(**parameters)


def _dial(path: str, seconds: float) -> socket.socket:
    dialled = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    dialled.settimeout(seconds)
    try:
        dialled.connect(path)
    except OSError as error:
        dialled.close()
        words = f"Can't connect to MySQL server on {path!r} ({error})"
        raise pymysql.err.OperationalError(CR.CR_CONN_HOST_ERROR, words) from error
    return dialled
