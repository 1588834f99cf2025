"""Errors of MySQL and MariaDB in our words, and which of them may pass by themselves.

Numbers: https://mariadb.com/kb/en/mariadb-error-codes/ and PyMySQL's own for what the client sees.
"""

from __future__ import annotations

import ssl

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, ProgrammingError

from relume.errors import ConfigError, InputError, RelumeError, UnreachableError

BROKEN_OFF = frozenset({1020, 1205, 1213, 1317, 1412})
"""Another snapshot, a lock that took too long, deadlock, KILL QUERY, a table younger than the
snapshot: nothing is written."""
LOST = frozenset({0, 1053, 1927, 2006, 2013, 2055, 4031})
"""The connection is gone; whether a COMMIT was done isn't known."""
EXISTS = frozenset({1022, 1050, 1060, 1061, 1359, 1826})
"""A key, table, column, index, trigger or foreign key that was to be made is there."""
_NO_ENTRY = frozenset({1044, 1045, 1049, 1130, 1142, 1143, 1227, 1251, 1370, 1419, 1524, 1698})
_RAISED_BY_TRIGGER = 1644
_NO_TLS = 2026
_TOO_LARGE = 1153
_LOCKED_BINLOG = 1419


def code(error: DBAPIError) -> int:
    """Return the number of an error, -1 for one without."""
    arguments = getattr(error.orig, "args", ())
    return arguments[0] if arguments and isinstance(arguments[0], int) else -1


def may_pass(error: DBAPIError) -> bool:
    """Whether the same transaction, begun again on whatever connection, may get through."""
    return code(error) in BROKEN_OFF | LOST


def named(error: DBAPIError, name: str) -> RelumeError | None:
    """Return an error of a server in our words; null for a mistake in the code."""
    number = code(error)
    if number in _NO_ENTRY:
        return _no_entry(error, name)
    if number == _NO_TLS or isinstance(_cause(error), ssl.SSLError):
        return ConfigError(
            f"ledger {name}",
            found=_words(error),
            expected="a server with TLS, and a certificate that serve.ledger_ca_file stands for",
            hint="look at the name in the URL, at the file, and at ssl_cert of the server",
        )
    if number == _TOO_LARGE:
        return ConfigError(
            f"ledger {name}",
            found=_words(error),
            expected="a server that takes records of any size",
            hint="raise max_allowed_packet to 64M on the server",
        )
    if isinstance(error, DataError):
        return InputError(
            f"ledger {name}", found=_words(error), expected="names of at most 255 characters"
        )
    mistakes = (IntegrityError, ProgrammingError)
    if number == _RAISED_BY_TRIGGER or isinstance(error, mistakes):
        return None
    return UnreachableError(
        f"ledger {name}",
        found=_words(error),
        expected="a database that takes the transaction",
        hint=_what_to_do(error),
    )


def _cause(error: DBAPIError) -> object:
    return getattr(error.orig, "original_exception", None)


def _what_to_do(error: DBAPIError) -> str:
    if code(error) in LOST:
        return (
            "whether the last change was written isn't known: ask again, what is there already "
            "isn't written twice"
        )
    return "nothing was changed; look at the server, and at the network between"


def _no_entry(error: DBAPIError, name: str) -> ConfigError:
    hint = "look at the user's name, its password file and its grants (docs/serve.md)"
    if code(error) == _LOCKED_BINLOG:
        hint = "set log_bin_trust_function_creators = 1 on the server while the tables are made"
    return ConfigError(
        f"ledger {name}",
        found=_words(error),
        expected="a database, and a user who may do everything in it",
        hint=hint,
    )


def _words(error: DBAPIError) -> str:
    number, *words = getattr(error.orig, "args", ()) or ("",)
    return f"error {number}: {words[0]}" if words else str(error.orig)
