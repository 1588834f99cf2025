"""What pages ask of the whole ledger at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from advising import ATTEMPT, make_advice, make_attempt
from relume.advice import Operation
from relume.identity import AttemptId
from relume.serve.ledger import Closing, Ledger, sqlite_url
from relume.verdict import Kind


@pytest.fixture(params=["file", pytest.param("server", marks=pytest.mark.needs_server("mariadb"))])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """An empty ledger in a file, and one on a server."""
    if request.param == "server":
        yield request.getfixturevalue("served")
        return
    with Ledger.open(sqlite_url(tmp_path / "ledger.db")) as found:
        yield found


def named(number: int, count: int = 0) -> str:
    return f"lab/{number}@{1767323045 + number}.{count}"


def test_open_incidents_are_counted_by_kind_and_operation(ledger: Ledger) -> None:
    assert ledger.count_incidents() == (0, Counter(), Counter())
    for number in range(3):
        kind = Kind.HANG if number else Kind.CRASH
        ledger.put_advice(make_advice(attempt=named(number), kind=kind))
    over = make_advice(attempt=named(1))
    ledger.note(Closing(advice_id=over.advice_id, at=over.created_at, ending="it went on"))
    total, kinds, operations = ledger.count_incidents()
    assert (total, kinds) == (2, Counter({Kind.CRASH: 1, Kind.HANG: 1}))
    assert operations == Counter({Operation.RESTART: 2})


def test_records_are_looked_up_by_many_names_at_once(ledger: Ledger) -> None:
    ledger.put_attempts(make_attempt(attempt=named(number)) for number in range(3))
    ledger.put_fleet("b", "{}")
    ledger.put_fleet("a", "[]")
    advice = make_advice()
    ledger.put_advice(advice)
    assert ledger.fleets() == {"a": "[]", "b": "{}"}
    assert set(ledger.attempts_named([named(0), named(2), ATTEMPT])) == {named(0), named(2)}
    assert ledger.attempts_named([]) == {}
    assert ledger.advice_named([advice.advice_id, "none"]) == {advice.advice_id: advice}


def test_attempts_come_newest_first_and_are_found_by_words(ledger: Ledger) -> None:
    for number in range(3):
        for count in range(2):
            record = make_attempt(attempt=named(number, count), run="opus", ended=not count)
            ledger.put_attempt(record)
    ledger.put_attempt(make_attempt(attempt="lab/1_4@1767323045.0", run="other"))
    names = [one.attempt for one in ledger.newest_attempts(limit=2)]
    assert names == [named(2, 1), named(2)]
    assert ledger.newest_attempts(active=True, limit=9)[0].attempt == named(2, 1)
    assert (ledger.count_attempts(), ledger.count_attempts(active=True)) == (7, 4)
    found = [one.attempt for one in ledger.attempts_like("1", limit=9)]
    assert found == [named(1, 1), named(1), "lab/1_4@1767323045.0"]
    assert len(ledger.attempts_like("opus", limit=9)) == 6
    assert ledger.attempts_like("%", limit=9) == []
    key = AttemptId.parse(named(1)).job_key
    assert [one.attempt for one in ledger.attempts_of_job(key, limit=9)] == [
        named(1, 1),
        named(1),
    ]
