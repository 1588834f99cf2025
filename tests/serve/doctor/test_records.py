"""What the doctor says of ledger and lake, and that it changes neither."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from relume.clock import ManualClock
from relume.events import Tick
from relume.ingest.lake import LakeWriter
from relume.serve.doctor.records import lake, ledger
from relume.serve.ledger import Ledger, sqlite_url
from relume.serve.ledger.address import Access

SECOND = 1_000_000


def of_ledger(file: Path) -> str:
    [found] = ledger(sqlite_url(file), Access(), file)
    return found.status.value


def test_a_ledger_is_looked_at_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    assert (of_ledger(file), file.exists()) == ("unknown", False)
    with Ledger.open(sqlite_url(file)):
        assert of_ledger(file) == "ok"
    with closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE alembic_version SET version_num = '0001'")
        database.commit()
    assert of_ledger(file) == "warning"
    with closing(sqlite3.connect(file)) as database:
        rows = database.execute("SELECT version_num FROM alembic_version").fetchall()
        assert rows == [("0001",)]
        database.execute("UPDATE alembic_version SET version_num = '9999'")
        database.commit()
    assert of_ledger(file) == "failing"


def test_a_lake_is_told_by_its_newest_commit(tmp_path: Path) -> None:
    folder, clock = tmp_path / "lake", ManualClock(100 * SECOND)
    [found] = lake(folder, clock.now())
    assert (found.status, folder.exists()) == ("unknown", False)
    writer = LakeWriter(folder, clock=clock)
    assert [one.status for one in lake(folder, clock.now())] == ["unknown"]
    writer.append([Tick(event_time=1, observed_at=1, cluster="lab")])
    writer.commit({})
    writer.close()
    ages = [(0, "ok"), (60, "ok"), (61, "warning"), (-5, "warning")]
    for seconds, status in ages:
        [found] = lake(folder, clock.now() + seconds * SECOND)
        assert found.status == status, seconds
