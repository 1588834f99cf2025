"""Where a ledger is: the URL of a SQLite file, or of a database on MySQL or MariaDB."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from relume.errors import ConfigError
from relume.files import require_private, small_text

SERVER_DRIVERS = frozenset({"mysql+pymysql", "mariadb+pymysql"})
_SOCKET = "unix_socket"
_EXPECTED = (
    "sqlite:/// and the path of a file, such as sqlite:////var/lib/relume/ledger.db, or "
    "mysql+pymysql://USER@HOST/DATABASE"
)


@dataclass(frozen=True, slots=True)
class Access:
    """How a database server is entered; a SQLite file needs nothing.

    Attributes
    ----------
    password_file
        Holds the password in its first line; null for an account without one (a unix socket).
    ca_file
        Certificates (PEM) against which the server's is checked; null for no TLS.
    """

    password_file: Path | None = None
    ca_file: Path | None = None


def sqlite_url(file: Path) -> str:
    """Return the URL under which `Ledger.open` finds a SQLite file, whatever its name holds.

    Examples
    --------
    >>> sqlite_url(Path("/data/ledger.db"))
    'sqlite:////data/ledger.db'
    """
    return URL.create("sqlite", database=str(file.absolute())).render_as_string()


def parse(url: str) -> URL:
    """Return the parts of a URL of a ledger.

    Raises
    ------
    ConfigError
        For anything but a SQLite file or a database of a server, and for a password in it.

    Examples
    --------
    >>> parse("mysql+pymysql://relume@db.example/relume").host
    'db.example'
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise ConfigError("ledger URL", found=repr(url), expected=_EXPECTED) from error
    if parsed.password is not None:
        raise ConfigError(
            "ledger URL",
            found="a password in it",
            expected="a URL without one, which logs and lists of processes may show",
            hint="write it into a file that only the service reads, and name that file as "
            "serve.ledger_password_file",
        )
    is_fit = _names_file(parsed) if is_file(parsed) else _names_server(parsed)
    if not is_fit:
        raise ConfigError("ledger URL", found=repr(url), expected=_EXPECTED)
    return parsed


def is_file(url: URL) -> bool:
    """Whether a URL is one of SQLite."""
    return url.get_backend_name() == "sqlite"


def file_of(url: str) -> Path | None:
    """Return the file of a URL, null for a server's; raises as `parse`."""
    parsed = parse(url)
    return Path(str(parsed.database)) if is_file(parsed) else None


def read_password(file: Path) -> str:
    """Return the first line of a file that not everybody can read.

    Raises
    ------
    ConfigError
        When it can't be read or is empty, and when everybody on the machine can read it.
    """
    try:
        require_private(file, "password file")
        lines = small_text(file).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"password file {file}", found=str(error), expected="a readable file of UTF-8 text"
        ) from error
    if not lines or not lines[0]:
        raise ConfigError(
            f"password file {file}", found="no password", expected="one in its first line"
        )
    return lines[0]


def _names_file(url: URL) -> bool:
    database = url.database or ""
    is_memory = not database or database == ":memory:" or database.startswith("file:")
    return not is_memory and not url.query and url.drivername == "sqlite"


def _names_server(url: URL) -> bool:
    has_place = bool(url.host) or _SOCKET in url.query
    is_known = url.drivername in SERVER_DRIVERS and url.query.keys() <= {_SOCKET}
    return is_known and has_place and bool(url.username) and bool(url.database)
