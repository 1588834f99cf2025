"""The ledger on a server: what is broken off is done in the end, once; errors have names."""

from __future__ import annotations

import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event, insert, make_url, select
from sqlalchemy.exc import DBAPIError, IntegrityError

from advising import ATTEMPT, CREATED, make_advice, make_attempt
from mariadb_server import USER, MariaDB
from relume.errors import ConfigError, InputError, UnreachableError
from relume.serve.ledger import Access, LabelRecord, Ledger
from relume.serve.ledger import server as server_module
from relume.serve.ledger.server import ServerDatabase
from relume.serve.ledger.store import Store
from relume.serve.ledger.tables import CURSORS, WRITERS

pytestmark = pytest.mark.needs_server("mariadb")
WAIT_SECONDS = 120


def database_of(url: str) -> str:
    return str(make_url(url).database)


def engine_of(store: Store) -> ServerDatabase:
    database = store.database
    assert isinstance(database, ServerDatabase)
    return database


@contextmanager
def after_commit(store: Store, act: Any) -> Iterator[None]:
    """Do something once, right after a COMMIT was done and before its answer is there."""
    engine = engine_of(store).writer
    plain, left = engine.dialect.do_commit, [act]

    def commit(connection: Any) -> None:
        plain(connection)
        if left:
            left.pop()(connection)

    engine.dialect.do_commit = commit  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        engine.dialect.do_commit = plain  # type: ignore[method-assign]


# --- broken off ---


def put(connection: Connection, source: str) -> str:
    connection.execute(insert(CURSORS).values(source=source, position="1"))
    return source


def positions(store: Store) -> list[str]:
    with store.reading() as connection:
        return list(connection.execute(select(CURSORS.c.source)).scalars())


def test_a_deadlock_is_gone_through_again(
    mariadb_server: MariaDB, served_store: Store, url: str
) -> None:
    served_store.write(put, "a")
    name, runs = database_of(url), []
    other = mariadb_server.admin(name)
    with closing(other), other.cursor() as cursor:
        cursor.execute("BEGIN")
        # Who has changed more isn't the victim.
        cursor.executemany("INSERT INTO fleets VALUES (%s, '')", [(n,) for n in range(500)])
        cursor.execute("UPDATE cursors SET position = '2' WHERE source = 'a'")

        def work(connection: Connection) -> str:
            runs.append(1)
            if len(runs) > 1:
                return put(connection, "b")
            blocked = threading.Thread(
                target=cursor.execute, args=("SELECT * FROM writers FOR UPDATE",)
            )
            blocked.start()
            try:
                connection.execute(CURSORS.delete())  # waits for `other`, which waits for us
            finally:
                blocked.join(WAIT_SECONDS)
                other.rollback()
            return "the server chose the other one"

        assert served_store.write(work) == "b"
    assert len(runs) == 2
    assert positions(served_store) == ["a", "b"]


def test_a_connection_killed_in_mid_transaction_writes_once(
    mariadb_server: MariaDB, served_store: Store
) -> None:
    runs: list[int] = []

    def work(connection: Connection) -> str:
        runs.append(connection.exec_driver_sql("SELECT CONNECTION_ID()").scalar_one())
        put(connection, "a")
        if len(runs) == 1:
            mariadb_server.ask(f"KILL {runs[0]}")
        return put(connection, "b")

    assert served_store.write(work) == "b"
    assert len(set(runs)) == 2
    assert positions(served_store) == ["a", "b"]


def test_a_read_that_was_broken_off_is_read_again(
    mariadb_server: MariaDB, served_store: Store
) -> None:
    killed: list[int] = []

    def work(connection: Connection) -> int:
        number = int(connection.exec_driver_sql("SELECT CONNECTION_ID()").scalar_one())
        if not killed:
            killed.append(number)
            mariadb_server.ask(f"KILL {number}")
        return int(connection.exec_driver_sql("SELECT 5").scalar_one())

    assert served_store.read(work) == 5


def test_a_commit_whose_answer_was_lost_is_not_done_again(
    mariadb_server: MariaDB, served_store: Store
) -> None:
    runs: list[int] = []

    def work(connection: Connection) -> str:
        runs.append(1)
        return put(connection, f"run {len(runs)}")

    def lose(connection: Any) -> None:
        mariadb_server.ask(f"KILL {connection.thread_id()}")
        connection.ping(reconnect=False)

    with after_commit(served_store, lose):
        assert served_store.write(work) == "run 1"
    assert runs == [1]
    assert positions(served_store) == ["run 1"]


def test_a_label_whose_answer_was_lost_is_there_once(
    mariadb_server: MariaDB, served_store: Store
) -> None:
    served = Ledger(served_store)
    advice = make_advice()
    served.put_advice(advice)
    label = LabelRecord(advice_id=advice.advice_id, right=True, who="a", at=CREATED)

    def lose(connection: Any) -> None:
        mariadb_server.ask(f"KILL {connection.thread_id()}")
        connection.ping(reconnect=False)

    with after_commit(served_store, lose):
        standing = served.put_label(label)
    assert standing.labels == (label,)
    assert len(served.audit()) == 1
    with after_commit(served_store, lose):
        assert served.put_advice(make_advice(generation=2))  # true: it was new


def test_a_commit_that_was_lost_before_the_server_had_it_is_done_again(
    mariadb_server: MariaDB, served_store: Store
) -> None:
    engine = engine_of(served_store).writer
    left = [1]

    def lose(connection: Connection) -> None:
        if left:
            left.pop()
            raw: Any = connection.connection.dbapi_connection
            mariadb_server.ask(f"KILL {raw.thread_id()}")

    event.listen(engine, "commit", lose)
    try:
        assert served_store.write(put, "a") == "a"
    finally:
        event.remove(engine, "commit", lose)
    assert positions(served_store) == ["a"]


def test_a_server_that_was_started_again_is_found_again(
    mariadb_server: MariaDB, served: Ledger
) -> None:
    served.put_advice(make_advice())
    mariadb_server.stop()
    for call in (served.ping, lambda: served.put_attempt(make_attempt())):
        with pytest.raises(UnreachableError, match=r"error 20\d\d"):
            call()
    mariadb_server.start()
    served.ping()
    assert served.newest(ATTEMPT) == make_advice()
    assert not served.put_advice(make_advice())
    mariadb_server.stop(signal.SIGKILL)
    mariadb_server.start()
    served.put_attempt(make_attempt())
    assert served.newest(ATTEMPT) == make_advice()


def test_a_lock_that_stays_is_named_and_nothing_is_changed(
    mariadb_server: MariaDB, served_store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "AGAIN_SECONDS", 0.0)
    engine = engine_of(served_store).writer
    event.listen(
        engine, "begin", lambda c: c.exec_driver_sql("SET SESSION innodb_lock_wait_timeout = 1")
    )
    other = mariadb_server.admin(database_of(url))
    with closing(other), other.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT * FROM writers FOR UPDATE")
        with pytest.raises(UnreachableError, match=r"error 1205: .*nothing was changed"):
            served_store.write(put, "a")
    assert served_store.write(put, "b") == "b"
    assert positions(served_store) == ["b"]


def test_writers_that_are_gone_for_a_week_are_forgotten(
    served_store: Store, mariadb_server: MariaDB, url: str
) -> None:
    name = database_of(url)
    mariadb_server.ask("INSERT INTO writers VALUES ('old', 7, 0)", name)
    served_store.write(put, "a")
    with served_store.reading() as connection:
        writers = list(connection.execute(select(WRITERS.c.writer)).scalars())
    assert len(writers) >= 2  # the turn's row, this writer, and those of other tests
    assert "old" not in writers


def test_an_error_of_the_work_is_its_own_and_changes_nothing(served_store: Store) -> None:
    def work(connection: Connection) -> None:
        put(connection, "a")
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        served_store.write(work)
    with pytest.raises(IntegrityError):
        served_store.write(lambda connection: [put(connection, "b"), put(connection, "b")])
    assert positions(served_store) == []


# --- transactions ---


def test_a_reader_sees_one_state_throughout(served_store: Store) -> None:
    with served_store.reading() as reader:
        assert reader.execute(CURSORS.select()).all() == []
        served_store.write(put, "a")
        assert reader.execute(CURSORS.select()).all() == []
    assert positions(served_store) == ["a"]


def test_a_writer_sees_what_was_committed_before_its_turn(
    mariadb_server: MariaDB, served_store: Store, url: str
) -> None:
    second = Store.open(url, mariadb_server.access)
    began = threading.Event()
    seen: list[list[Any]] = []

    def wait() -> None:
        began.set()
        seen.append(second.write(lambda c: list(c.execute(CURSORS.select()).scalars())))

    thread = threading.Thread(target=wait)
    with served_store.writing() as connection:
        thread.start()
        assert began.wait(WAIT_SECONDS)
        put(connection, "a")
    thread.join(WAIT_SECONDS)
    second.close()
    assert seen == [["a"]]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE advice SET settled = 0",
        "UPDATE labels SET document = ''",
        "DELETE FROM audit",
        "REPLACE INTO audit SELECT * FROM audit",
    ],
)
def test_the_database_itself_keeps_what_was_written_from_changing(
    served: Ledger, served_store: Store, statement: str
) -> None:
    advice = make_advice()
    served.put_advice(advice)
    served.put_label(LabelRecord(advice_id=advice.advice_id, right=True, who="a", at=CREATED))
    with pytest.raises(DBAPIError, match="never changes"), served_store.writing() as connection:
        connection.exec_driver_sql(statement)
    assert served.verify().broken is None


def test_names_are_compared_by_their_bytes(served: Ledger) -> None:
    names = ["a", "A", "a ", "ä", "a\u0308", "ﬁ", "fi", "🚀", ""]
    served.put_cursors({name: str(number) for number, name in enumerate(names)})
    assert list(served.cursors()) == sorted(names, key=str.encode)
    assert [served.get_cursor(name) for name in names] == [str(n) for n in range(len(names))]


def test_documents_may_be_long_and_names_may_not(served: Ledger) -> None:
    served.put_fleet("lab", "ü" * 3_000_000)
    assert served.get_fleet("lab") == "ü" * 3_000_000
    with pytest.raises(InputError, match=r"error 1406: .*'cluster'.*at most 255 characters"):
        served.put_fleet("l" * 256, "")


# --- how it is entered ---


def test_a_server_that_is_away_is_named(tmp_path: Path) -> None:
    url = f"mysql+pymysql://me@/db?unix_socket={tmp_path}/s"
    with pytest.raises(UnreachableError, match=r"error 2003: Can't connect"):
        Ledger.open(url)


def test_who_is_not_let_in_is_told(url: str) -> None:
    with pytest.raises(ConfigError, match=r"error 1045: Access denied.*password file"):
        Ledger.open(url, Access())


def test_a_database_that_is_not_there_is_named(mariadb_server: MariaDB) -> None:
    with pytest.raises(ConfigError, match=r"error 104[49]: .*nowhere"):
        mariadb_server.open(mariadb_server.url("nowhere"))


def test_a_password_file_that_everybody_reads_is_refused(url: str, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("secret\n")
    file.chmod(0o644)
    with pytest.raises(ConfigError, match=r"mode 644, which lets everybody read it; .*chmod o="):
        Ledger.open(url, Access(file))
    file.chmod(0o600)
    file.write_text("\n")
    with pytest.raises(ConfigError, match="found no password"):
        Ledger.open(url, Access(file))
    with pytest.raises(ConfigError, match="a readable file of UTF-8"):
        Ledger.open(url, Access(tmp_path / "none"))


def test_a_server_that_forgets_commits_is_refused(mariadb_server: MariaDB, url: str) -> None:
    mariadb_server.ask("SET GLOBAL innodb_flush_log_at_trx_commit = 2")
    try:
        with pytest.raises(ConfigError, match=r"innodb_flush_log_at_trx_commit = 2.*expected 1"):
            mariadb_server.open(url)
    finally:
        mariadb_server.ask("SET GLOBAL innodb_flush_log_at_trx_commit = 1")


def test_sessions_have_time_outs(served_store: Store) -> None:
    asked = "SELECT @@innodb_lock_wait_timeout, @@lock_wait_timeout, @@wait_timeout, @@sql_mode"
    for transaction in (served_store.reading, served_store.writing):
        with transaction() as connection:
            row = connection.exec_driver_sql(asked).one()
            assert tuple(row) == (10, 10, 60, "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION")


def test_the_password_is_in_no_message(mariadb_server: MariaDB, url: str) -> None:
    store = Store.open(url, mariadb_server.access)
    assert store.name == url
    assert USER in store.name
    store.close()


def test_a_table_that_is_younger_than_the_snapshot_is_read_with_the_next_one(
    mariadb_server: MariaDB, served_store: Store, url: str
) -> None:
    made: list[int] = []

    def work(connection: Connection) -> int:
        if not made:
            made.append(1)
            mariadb_server.ask("CREATE OR REPLACE TABLE young (n INTEGER)", database_of(url))
        return len(connection.exec_driver_sql("SELECT * FROM young").all())

    try:
        assert served_store.read(work) == 0
    finally:
        mariadb_server.ask("DROP TABLE young", database_of(url))


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for localhost that stands for itself; its key is beside it."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl not found (apt-get install openssl)")
    file = tmp_path / "cert.pem"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost", "-days", "2"]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(file)]
    subprocess.run([*command, *names, *files], check=True, capture_output=True)
    return file


def test_the_certificate_of_the_server_is_checked_and_tls_is_a_must(
    mariadb_server: MariaDB, url: str, served: Ledger, certificate: Path
) -> None:
    del served  # its tables are there
    access = Access(mariadb_server.password_file, certificate)
    with pytest.raises(ConfigError, match=r"expected a server with TLS"):
        Store.open(url, access)
    mariadb_server.stop()
    key = certificate.with_name("key.pem")
    mariadb_server.start(f"--ssl-cert={certificate}", f"--ssl-key={key}")
    try:
        store = Store.open(url, access)
        with store.writing() as connection:
            asked = connection.exec_driver_sql("SHOW STATUS LIKE 'Ssl_cipher'").one()
        store.close()
        assert asked[1]
        other = mariadb_server.url().replace("@/", "@db.example/")  # not the certificate's name
        with pytest.raises(ConfigError, match=r"CERTIFICATE_VERIFY_FAILED"):
            Store.open(other, access)
    finally:
        mariadb_server.stop()
        mariadb_server.start()
    with pytest.raises(ConfigError, match=r"ledger_ca_file .*a readable file of certificates"):
        Store.open(url, Access(mariadb_server.password_file, key))
