"""Incidents, outcomes, labels and the audit: what a call writes, and what is refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from alembic import command
from sqlalchemy import create_engine
from sqlalchemy.exc import IntegrityError

from advising import ATTEMPT, CREATED, make_advice
from relume.advice import Disposition, Operation, Reconciliation, Scope, advice_id
from relume.errors import InputError
from relume.models.worth.outcomes import Label
from relume.serve.ledger import (
    AdviceConflictError,
    Closing,
    LabelRecord,
    Ledger,
    NotFoundError,
    OutcomeRecord,
    StaleFencingTokenError,
    Struck,
    sqlite_url,
)
from relume.serve.ledger.audit import FIRST
from relume.serve.ledger.migrate import alembic_config
from relume.serve.ledger.store import Store

SECOND = 1_000_000
FIRST_ID, SECOND_ID = advice_id(ATTEMPT, 1), advice_id(ATTEMPT, 2)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of a ledger."""
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(file: Path) -> Iterator[Ledger]:
    """An empty ledger."""
    with Ledger.open(sqlite_url(file)) as opened:
        yield opened


def advised(ledger: Ledger, generation: int, operation: Operation, **changes: Any) -> str:
    """Write a generation a second after the one before; return its id."""
    at = CREATED + generation * SECOND
    advice = make_advice(
        generation=generation, operation=operation, created_at=at, decided_at=at, **changes
    )
    assert ledger.put_advice(advice)
    return advice.advice_id


def make_label(**changes: Any) -> LabelRecord:
    fields: dict[str, Any] = {"advice_id": FIRST_ID, "right": True, "who": "on call", "at": CREATED}
    return LabelRecord(**(fields | changes))


def make_outcome(label: Label, **changes: Any) -> OutcomeRecord:
    fields: dict[str, Any] = {
        "advice_id": FIRST_ID,
        "attempt": ATTEMPT,
        "rule": "no_new_step",
        "label": label,
        "reason": "of this test",
        "alarm_at": CREATED,
        "known_at": CREATED + 1,
    }
    return OutcomeRecord(**(fields | changes))


# --- incidents ---


def test_advice_opens_an_incident_moves_it_on_and_takes_it_back(ledger: Ledger) -> None:
    first = advised(ledger, 1, Operation.HOLD)
    (opened,) = ledger.incidents()
    assert (opened.opened_at, opened.closed_at) == (CREATED + SECOND, None)
    second = advised(ledger, 2, Operation.RESTART, cause="oom")
    (moved,) = ledger.incidents(is_open=True)
    assert moved.incident_id == opened.incident_id
    assert (moved.cause, moved.operation) == ("oom", Operation.RESTART)
    third = advised(ledger, 3, Operation.OBSERVE, cause=None)
    (over,) = ledger.incidents(is_open=False)
    assert over.advice == (first, second, third)
    assert (over.closed_at, over.cause) == (CREATED + 3 * SECOND, "oom")
    advised(ledger, 4, Operation.RESTART)
    assert [one.number for one in ledger.incidents()] == [2, 1]
    assert len(ledger.incidents(is_open=True)) == 1


def test_a_suspicion_stays_open_until_it_is_closed_and_only_once(ledger: Ledger) -> None:
    first = advised(ledger, 1, Operation.OBSERVE)
    second = advised(ledger, 2, Operation.OBSERVE)
    assert ledger.note(Closing(advice_id=second, at=CREATED + 9 * SECOND, ending="steps"))
    third = advised(ledger, 3, Operation.OBSERVE)
    # A service that was killed says again what it said before.
    assert not ledger.note(Closing(advice_id=first, at=CREATED + 10 * SECOND, ending="again"))
    newest, oldest = ledger.incidents()
    assert (newest.advice, newest.closed_at) == ((third,), None)
    assert (oldest.advice, oldest.ending) == ((first, second), "steps")


def test_the_same_advice_again_changes_no_incident(ledger: Ledger) -> None:
    advised(ledger, 1, Operation.RESTART)
    before = ledger.incidents()
    assert not ledger.put_advice(make_advice(created_at=CREATED + 90, decided_at=CREATED + 90))
    with pytest.raises(AdviceConflictError):
        ledger.put_advice(make_advice(cause="oom"))
    assert ledger.incidents() == before


def test_what_struck_many_is_one_incident_and_the_others_are_part_of_it(ledger: Ledger) -> None:
    whole = make_advice(scope=Scope.CLUSTER, operation=Operation.HOLD)
    ledger.put_advice(whole)
    mine = advised(ledger, 1, Operation.HOLD)
    struck = Struck(advice_id=mine, subject=whole.subject)
    assert ledger.note(struck)
    assert not ledger.note(struck)
    incident, many = ledger.incident_of(mine), ledger.incident_of(whole.advice_id)
    assert incident is not None
    assert many is not None
    assert (incident.part_of, many.part_of) == (many.incident_id, None)
    ledger.put_advice(make_advice(scope=Scope.CLUSTER, generation=2, operation=Operation.OBSERVE))
    assert [one.scope for one in ledger.incidents(is_open=True)] == [Scope.ATTEMPT]


def test_pages_of_incidents_and_advice_leave_nothing_out(ledger: Ledger) -> None:
    for number in range(7):
        at = CREATED + number // 2  # two of a time
        attempt = f"lab/{number}@1767323045.0"
        ledger.put_advice(make_advice(attempt=attempt, created_at=at, decided_at=at))
    seen: list[str] = []
    while page := ledger.incidents(before=seen[-1] if seen else "", limit=3):
        seen += [one.incident_id for one in page]
    assert len(set(seen)) == len(seen) == 7
    listed: list[str] = []
    while found := ledger.listed(before=listed[-1] if listed else "", limit=3):
        listed += [one.advice_id for one in found]
    assert len(set(listed)) == len(listed) == 7
    assert len(ledger.listed(attempt="lab/3@1767323045.0")) == 1
    assert ledger.incidents(cluster="far") == []
    with pytest.raises(InputError, match="no such incident"):
        ledger.incidents(before="x")


# --- outcomes and labels ---


def test_people_win_over_what_became_of_it_and_the_newest_label_stands(ledger: Ledger) -> None:
    ledger.put_advice(make_advice())
    assert ledger.standing(FIRST_ID).label is None
    assert ledger.note(make_outcome(Label.FALSE))
    assert not ledger.note(make_outcome(Label.TRUE))
    stands = ledger.standing(FIRST_ID)
    assert (stands.label, stands.by) == (Label.FALSE, "its outcome")
    ledger.put_label(make_label(cause="slow_storage", why="\x1b[2J seen it"))
    stands = ledger.put_label(make_label(right=False, who="somebody else"))
    assert (stands.label, stands.by) == (Label.FALSE, "somebody else")
    assert [one.right for one in stands.labels] == [True, False]
    assert stands.outcome == make_outcome(Label.FALSE)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"who": ""}, "1 to 200 printable"),
        ({"who": "a\x1b[2J"}, "1 to 200 printable"),
        ({"cause": "x" * 201}, "1 to 200 printable"),
        ({"why": "x" * 10_001}, "10000 at most"),
        ({"why": "\udcff"}, "not all of them text"),
        ({"who": "\udcff"}, "1 to 200 printable"),
    ],
)
def test_labels_that_no_terminal_should_show_are_refused(
    changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        make_label(**changes)


def test_nothing_is_said_of_advice_that_is_not_there(ledger: Ledger) -> None:
    for call in (
        lambda: ledger.put_label(make_label()),
        lambda: ledger.note(make_outcome(Label.TRUE)),
        lambda: ledger.standing(FIRST_ID),
    ):
        with pytest.raises(NotFoundError):
            call()
    assert not ledger.note(Closing(advice_id=FIRST_ID, at=1, ending="x"))
    assert ledger.audit() == []


# --- audit ---


def filled(ledger: Ledger) -> None:
    """Let three things be done: a lease, a report, a label."""
    ledger.put_advice(make_advice())
    token = ledger.take_lease("lab", "host:1", 30, CREATED).fencing_token
    ledger.take_lease("lab", "host:1", 30, CREATED + 1)
    report = Reconciliation(Disposition.CONVERGED, "runs", 1)
    for at in (2, 3):  # said twice, done once
        ledger.reconcile(FIRST_ID, report, token, CREATED + at)
    ledger.put_label(make_label(at=CREATED + 4))


def test_who_did_what_is_chained(ledger: Ledger) -> None:
    filled(ledger)
    rows = ledger.audit()
    assert [(one.what, one.who, one.about, one.at - CREATED) for one in rows] == [
        ("lease", "host:1", "lab", 0),
        ("reconciliation", "host:1", FIRST_ID, 2),
        ("label", "on call", FIRST_ID, 4),
    ]
    assert [one.previous for one in rows] == [FIRST, *(one.hash for one in rows[:-1])]
    assert ledger.audit(after=1, limit=1) == rows[1:2]
    found = ledger.verify()
    assert (found.rows, found.last, found.broken) == (3, rows[-1].hash, None)


def test_what_is_refused_leaves_no_trace_in_the_audit(ledger: Ledger) -> None:
    filled(ledger)
    before = ledger.audit()
    report = Reconciliation(Disposition.CONVERGED, "runs", 1)
    with pytest.raises(StaleFencingTokenError):
        ledger.reconcile(FIRST_ID, report, 9, CREATED)
    with pytest.raises(NotFoundError):
        ledger.put_label(make_label(advice_id="x"))
    assert ledger.audit() == before


@pytest.mark.parametrize("table", ["audit", "labels"])
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {} SET document = '{{}}'",
        "UPDATE OR REPLACE {} SET document = '{{}}'",
        "DELETE FROM {}",
        "INSERT OR REPLACE INTO {0} SELECT * FROM {0}",
    ],
)
def test_the_database_itself_refuses_changes(
    file: Path, ledger: Ledger, table: str, statement: str
) -> None:
    filled(ledger)
    store = Store.open(sqlite_url(file))
    with pytest.raises(IntegrityError, match="never changes"), store.writing() as connection:
        connection.exec_driver_sql(statement.format(table))
    store.close()
    assert ledger.verify().rows == 3


@pytest.mark.parametrize(
    ("statement", "rows", "words"),
    [
        ("UPDATE audit SET who = 'nobody' WHERE number = 2", 1, "row 2 was changed"),
        ("UPDATE audit SET at = at + 1 WHERE number = 1", 0, "row 1 was changed"),
        ("UPDATE audit SET previous = hash WHERE number = 3", 2, "row 3 doesn't follow"),
        ("DELETE FROM audit WHERE number = 2", 1, "row 3 follows row 1"),
        ("DELETE FROM audit WHERE number = 1", 0, "row 2 follows row 0"),
        ("INSERT INTO audit VALUES (0, 0, 'a', 'b', 'c', '{}', 'd', 'e')", 3, "before the first"),
    ],
)
def test_whoever_drops_the_triggers_breaks_the_chain(
    file: Path, ledger: Ledger, statement: str, rows: int, words: str
) -> None:
    filled(ledger)
    with closing(sqlite3.connect(file)) as connection:
        for change in ("update", "delete", "replace"):
            connection.execute(f"DROP TRIGGER audit_refuses_{change}")
        connection.execute(statement)
        connection.commit()
    found = ledger.verify()
    assert found.rows == rows
    assert words in str(found.broken)


# --- older ledgers ---


def test_a_ledger_of_before_keeps_its_advice_and_goes_on(file: Path) -> None:
    engine = create_engine(sqlite_url(file))
    with engine.begin() as connection:
        config = alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0003")
        connection.exec_driver_sql("INSERT INTO leases VALUES ('lab', 'host:1', 7, 1)")
        old = make_advice()
        connection.exec_driver_sql(
            "INSERT INTO advice VALUES (?, ?, 1, 'lab', 'RESTART', 1, ?, ?, ?)",
            (old.advice_id, ATTEMPT, old.created_at, old.expires_at, _json(old)),
        )
    engine.dispose()
    with Ledger.open(sqlite_url(file)) as ledger:
        assert ledger.get(FIRST_ID) == old
        assert ledger.incident_of(FIRST_ID) is None
        assert ledger.incidents() == []
        assert ledger.audit() == []
        ledger.put_label(make_label())
        assert ledger.verify().rows == 1
        advised(ledger, 2, Operation.STOP)
        assert [one.advice for one in ledger.incidents()] == [(SECOND_ID,)]
        assert ledger.take_lease("lab", "host:2", 30, CREATED).fencing_token == 8


def _json(advice: object) -> str:
    return msgspec.json.encode(advice).decode()
