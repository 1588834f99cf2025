"""A server's database for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mariadb_server import MariaDB
from relume.serve.ledger import Ledger
from relume.serve.ledger.store import Store


@pytest.fixture(scope="module")
def url(mariadb_server: MariaDB) -> str:
    """The URL of a database for one module: to make its tables takes a second."""
    return mariadb_server.url()


@pytest.fixture
def served(mariadb_server: MariaDB, url: str) -> Iterator[Ledger]:
    """An empty ledger on a server."""
    mariadb_server.empty()
    with mariadb_server.open(url) as ledger:
        yield ledger


@pytest.fixture
def served_store(mariadb_server: MariaDB, served: Ledger, url: str) -> Iterator[Store]:
    """The database of the same ledger, opened a second time."""
    del served  # its tables are there
    store = Store.open(url, mariadb_server.access)
    yield store
    store.close()
