"""What is kept of the ledger gives the numbers of the ledger, and is read once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from advising import CREATED
from relume.advice import Disposition, Mode, Operation, Reconciliation
from relume.errors import UnreachableError
from relume.models.worth.outcomes import Label
from relume.serve.ledger import Ledger, sqlite_url
from relume.serve.reports import kept as kept_module
from relume.serve.reports.falsepositives import false_positives
from relume.serve.reports.kept import KeptRecord
from relume.serve.reports.scoreboard import scoreboard
from telling import DAY, HOUR, alarm, became, ran, say

READS = ("told", "attempts", "attempts_after", "outcomes", "news_after", "standing", "advice_named")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(sqlite_url(tmp_path / "ledger.db")) as opened:
        yield opened


def carried_out(ledger: Ledger, advice: Any) -> None:
    token = ledger.take_lease("lab", "me", 60.0, CREATED).fencing_token
    done = Reconciliation(Disposition.CONVERGED, None, advice.generation)
    ledger.reconcile(advice.advice_id, done, token, CREATED)


def story(ledger: Ledger) -> list[Callable[[], object]]:
    """What happens to a ledger, one thing after the other."""
    first, acted = alarm(ledger), alarm(ledger, 2, mode=Mode.ACT, operation=Operation.RESTART)
    return [
        lambda: ran(ledger, 1, 0, None),
        lambda: ran(ledger, 1, 0, HOUR, state="FAILED"),
        lambda: became(ledger, first, Label.FALSE, 200.0),
        lambda: say(ledger, first, right=True),
        lambda: say(ledger, first, right=False, at=CREATED + 1),
        lambda: alarm(ledger, 1, generation=2, created_at=CREATED + 10, decided_at=CREATED + 10),
        lambda: carried_out(ledger, acted),
        lambda: ran(ledger, 2, 0, HOUR, fingerprint="a", last_step=5),
        lambda: ran(ledger, 2, HOUR, 2 * HOUR, count=1, fingerprint="a", last_step=5),
        lambda: became(ledger, acted, Label.TRUE),
        lambda: alarm(ledger, 3, created_at=CREATED - 20 * DAY),
    ]


def test_after_each_change_the_numbers_are_those_of_the_ledger(ledger: Ledger) -> None:
    kept = KeptRecord(ledger)
    for number, happens in enumerate([lambda: None, *story(ledger)]):
        happens()
        for days in (1, 30, 400):
            until = CREATED + number * HOUR + DAY
            since = until - days * DAY
            told, attempts = ledger.told(since), ledger.attempts()
            found = kept.rightness(since, until, most_false=2)
            assert found.board == scoreboard(told, attempts, since=since, until=until)
            wrong = false_positives(told, attempts, ledger.milestones)
            assert (found.false_total, found.false_alarms) == (len(wrong), wrong[:2])


def test_a_look_reads_what_changed_since_the_last_one(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    for happens in story(ledger):
        happens()
    reads: Counter[str] = Counter()

    def counting(name: str) -> Callable[..., Any]:
        real = getattr(ledger, name)

        def counted(*arguments: Any, **named: Any) -> Any:
            found = real(*arguments, **named)
            rows = found[1] if isinstance(found, tuple) else found
            reads[name] += len(rows) if isinstance(rows, list) else 1
            return found

        return counted

    for name in READS:
        monkeypatch.setattr(ledger, name, counting(name))
    kept = KeptRecord(ledger)
    until = CREATED + DAY

    def look() -> Counter[str]:
        reads.clear()
        kept.rightness(until - 30 * DAY, until)
        return +reads

    assert look() == {"told": 4, "attempts_after": 3, "outcomes": 2}
    assert look() == {}
    ran(ledger, 1, 0, HOUR, state="COMPLETED")
    assert look() == {"attempts_after": 1}
    new = alarm(ledger, 5)
    assert look() == {"news_after": 1}
    say(ledger, new, right=False)
    assert look() == {"news_after": 1, "standing": 1}
    became(ledger, new, Label.TRUE)
    assert look() == {"outcomes": 3}


def test_what_another_process_writes_counts(ledger: Ledger, tmp_path: Path) -> None:
    kept, until = KeptRecord(ledger), CREATED + DAY
    advice = alarm(ledger)
    assert kept.rightness(CREATED, until).board.total.false == 0
    with Ledger.open(sqlite_url(tmp_path / "ledger.db")) as other:
        say(other, advice, right=False)
        ran(other, 1, 0, HOUR)
    found = kept.rightness(CREATED, until).board
    assert (found.total.false, found.attempts) == (1, 1)


def test_what_is_old_is_forgotten(ledger: Ledger) -> None:
    kept = KeptRecord(ledger)
    say(ledger, alarm(ledger), right=True)
    ran(ledger, 1, 0, HOUR)
    ran(ledger, 2, 0, None)
    assert kept.rightness(CREATED, CREATED + DAY).board.total.alarms == 1
    later = CREATED + 200 * DAY
    found = kept.rightness(later - DAY, later)
    assert (found.board.total.alarms, found.board.attempts) == (0, 1)
    assert len(kept) == 1
    assert kept.rightness(CREATED, later).board.total.alarms == 1  # read anew


def test_a_ledger_that_fails_is_read_again(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, until = KeptRecord(ledger), CREATED + DAY
    alarm(ledger)

    def away(*_: object) -> None:
        raise UnreachableError("the ledger")

    with monkeypatch.context() as patch:
        patch.setattr(ledger, "told", away)
        with pytest.raises(UnreachableError):
            kept.rightness(CREATED, until)
    assert kept.rightness(CREATED, until).board.total.alarms == 1


def test_nobody_waits_for_long_behind_a_look_that_hangs(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, reading, over = KeptRecord(ledger), threading.Event(), threading.Event()
    real = ledger.last_news

    def hanging() -> int:
        reading.set()
        over.wait(120)
        return real()

    monkeypatch.setattr(ledger, "last_news", hanging)
    monkeypatch.setattr(kept_module, "TURN_SECONDS", 0.01)
    first = threading.Thread(target=kept.rightness, args=(CREATED, CREATED + DAY))
    first.start()
    try:
        assert reading.wait(120)
        with pytest.raises(UnreachableError, match="another look that has read the ledger"):
            kept.rightness(CREATED, CREATED + DAY)
    finally:
        over.set()
        first.join()
    assert kept.rightness(CREATED, CREATED + DAY).board.total.alarms == 0
