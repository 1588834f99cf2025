"""How a server is reached: time-outs always, TLS where it is asked for; and whether it is fit."""

from __future__ import annotations

import logging
import ssl
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

from relume.errors import ConfigError
from relume.serve.ledger.address import Access, read_password
from relume.serve.ledger.serversocket import connect

log = logging.getLogger(__name__)
CONNECT_SECONDS = 5
ANSWER_SECONDS = 30
"""How long one statement may take, and how long a connection waits for a free one."""
LOCK_SECONDS = 10
IDLE_SECONDS = 60
"""The server ends a connection that asks nothing for so long, and with it what it has locked: of a
client that is gone without a word. Ours are asked whether they live before they are used again."""
_SESSION = (
    f"SET SESSION innodb_lock_wait_timeout = {LOCK_SECONDS}, lock_wait_timeout = {LOCK_SECONDS}, "
    f"wait_timeout = {IDLE_SECONDS}, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'"
)
_OLDEST = {True: (10, 6), False: (8, 0)}
_SNAPSHOT = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
_LOOPBACK = frozenset({None, "", "localhost", "127.0.0.1", "::1"})


def make_engines(url: URL, access: Access) -> tuple[Engine, Engine]:
    """Return what makes connections for reading, and for writing, where one at a time is at work.

    Raises
    ------
    ConfigError
        For a file of a password or of certificates that can't be used.
    """
    url = url.set(drivername="mysql+pymysql")
    if access.password_file is not None:
        url = url.set(password=read_password(access.password_file))
    arguments: dict[str, Any] = {
        "charset": "utf8mb4",
        "connect_timeout": CONNECT_SECONDS,
        "read_timeout": ANSWER_SECONDS,
        "write_timeout": ANSWER_SECONDS,
        "init_command": _SESSION,
        "local_infile": False,
    }
    if access.ca_file is not None:
        arguments["ssl"] = _tls(access)
    elif url.host not in _LOOPBACK:
        log.warning("the ledger's server %s isn't checked: set serve.ledger_ca_file", url.host)
    common: dict[str, Any] = {
        "connect_args": arguments,
        "pool_pre_ping": True,
        "pool_timeout": ANSWER_SECONDS,
    }
    reader = create_engine(url, isolation_level="REPEATABLE READ", max_overflow=15, **common)
    event.listen(reader, "begin", lambda connection: connection.exec_driver_sql(_SNAPSHOT))
    writer = create_engine(url, isolation_level="READ COMMITTED", pool_size=1, **common)
    for engine in (reader, writer):
        event.listen(engine, "do_connect", connect)
    return reader, writer


def require_fit(connection: Connection, name: str) -> None:
    """Refuse a server that would lose what it acknowledged, or break off a change of tables.

    Raises
    ------
    ConfigError
        For a release before MariaDB 10.6 and MySQL 8.0, whose changes of tables aren't atomic, and
        for one that acknowledges a commit before it is on disk.
    """
    is_mariadb = bool(getattr(connection.dialect, "is_mariadb", False))
    version = connection.dialect.server_version_info or ()
    if tuple(version[:2]) < _OLDEST[is_mariadb]:
        raise ConfigError(
            f"ledger {name}",
            found=f"{'MariaDB' if is_mariadb else 'MySQL'} {'.'.join(map(str, version))}",
            expected="MariaDB from 10.6, or MySQL from 8.0",
        )
    asked = "SELECT @@innodb_flush_log_at_trx_commit, @@log_bin, @@sync_binlog"
    flushes, logs, syncs = connection.exec_driver_sql(asked).one()
    if flushes not in {1, 3}:
        raise ConfigError(
            f"ledger {name}",
            found=f"innodb_flush_log_at_trx_commit = {flushes}: a commit is lost with the machine",
            expected="1, its default",
            hint="set it in the server's configuration",
        )
    if logs and syncs != 1:
        log.warning(
            "ledger %s: sync_binlog is %s: when the server's machine (not only its process) dies, "
            "the last commits may be lost; set it to 1",
            name,
            syncs,
        )


def _tls(access: Access) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=access.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"serve.ledger_ca_file {access.ca_file}",
            found=str(error),
            expected="a readable file of certificates (PEM)",
        ) from error
