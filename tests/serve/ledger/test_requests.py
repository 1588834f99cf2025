"""Requests with a key are done once, in a file and on a server, also when they come at once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from advising import CREATED, make_advice
from relume.advice import Answer, Approval, Mode
from relume.serve.ledger import (
    KeyUsedError,
    LabelRecord,
    Ledger,
    NotFoundError,
    NotWaitingError,
    RequestKey,
    sqlite_url,
)

DAY = 24 * 3600 * 1_000_000
ADVICE = make_advice(mode=Mode.APPROVE, decided_at=None)
KEY = RequestKey("r" * 64, "b" * 64, CREATED)
SAID = LabelRecord(advice_id=ADVICE.advice_id, right=True, who="me", at=CREATED)


@pytest.fixture(params=["file", pytest.param("server", marks=pytest.mark.needs_server("mariadb"))])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """A ledger with one Advice that waits, in a file, and on a server."""
    if request.param == "server":
        served: Ledger = request.getfixturevalue("served")
        served.put_advice(ADVICE)
        yield served
        return
    with Ledger.open(sqlite_url(tmp_path / "ledger.db")) as found:
        found.put_advice(ADVICE)
        yield found


def test_a_label_with_a_key_is_written_once(ledger: Ledger) -> None:
    first = ledger.put_label(SAID, KEY)
    assert ledger.put_label(replace(SAID, at=CREATED + 5), replace(KEY, at=CREATED + 5)) == first
    assert len(ledger.put_label(SAID).labels) == 2
    # As it stood then.
    assert ledger.put_label(SAID, KEY) == first


def test_a_key_of_another_body_is_refused(ledger: Ledger) -> None:
    ledger.put_label(SAID, KEY)
    with pytest.raises(KeyUsedError):
        ledger.put_label(replace(SAID, right=False), replace(KEY, body="c" * 64))
    assert len(ledger.standing(ADVICE.advice_id).labels) == 1


def test_after_a_day_a_key_is_new(ledger: Ledger) -> None:
    ledger.put_label(SAID, KEY)
    late = RequestKey(KEY.request, "c" * 64, CREATED + DAY)
    assert len(ledger.put_label(SAID, late).labels) == 2


def test_what_failed_has_used_no_key(ledger: Ledger) -> None:
    with pytest.raises(NotFoundError):
        ledger.put_label(replace(SAID, advice_id="nothing"), KEY)
    assert len(ledger.put_label(SAID, replace(KEY, body="c" * 64)).labels) == 1


def test_at_once_they_are_one(ledger: Ledger) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: ledger.put_label(SAID, KEY), range(16)))
    assert all(one == found[0] for one in found)
    assert len(ledger.standing(ADVICE.advice_id).labels) == 1


def test_of_two_answers_at_once_one_wins(ledger: Ledger) -> None:
    def say(answer: Answer) -> bool:
        try:
            ledger.answer(ADVICE.advice_id, Approval(answer, answer.value, None, CREATED + 1))
        except NotWaitingError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        won = list(pool.map(say, [Answer.APPROVED, Answer.REJECTED]))
    assert sorted(won) == [False, True]
    [row] = ledger.audit()
    assert row.what == (Answer.APPROVED if won[0] else Answer.REJECTED)


def test_an_answer_with_a_key_is_said_again_as_it_was(ledger: Ledger) -> None:
    approval = Approval(Answer.APPROVED, "me", None, CREATED + 1)
    first = ledger.answer(ADVICE.advice_id, approval, KEY)
    assert ledger.answer(ADVICE.advice_id, replace(approval, at=CREATED + 9), KEY) == first
