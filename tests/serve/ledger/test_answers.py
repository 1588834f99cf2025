"""Answers of people to Advice in mode approve, and what became known in which order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from advising import ATTEMPT, CREATED, EXPIRES, make_advice
from relume.advice import Advice, Answer, Approval, Disposition, Mode, Operation, Reconciliation
from relume.serve.ledger import (
    Closing,
    LabelRecord,
    Ledger,
    News,
    NotFoundError,
    NotWaitingError,
    sqlite_url,
)

NOW = CREATED + 60_000_000
YES = Approval(Answer.APPROVED, "on call", "it is the node", NOW)
NO = Approval(Answer.REJECTED, "on call", None, NOW)


MARIADB = pytest.param("mariadb", marks=pytest.mark.needs_server("mariadb"))


@pytest.fixture(params=["sqlite", MARIADB])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """An empty ledger, in a file and on a server."""
    if request.param == "mariadb":
        yield request.getfixturevalue("served")
    else:
        with Ledger.open(sqlite_url(tmp_path / "ledger.db")) as opened:
            yield opened


def asked(ledger: Ledger, **changes: Any) -> Advice:
    advice = make_advice(**{"mode": Mode.APPROVE, "decided_at": None, **changes})
    ledger.put_advice(advice)
    return advice


def answer_of(ledger: Ledger, advice: Advice) -> Approval | None:
    found = ledger.get(advice.advice_id)
    assert found is not None
    return found.approval


def test_an_approval_is_kept_audited_and_makes_it_actionable(ledger: Ledger) -> None:
    advice = asked(ledger)
    assert ledger.active(NOW) == [advice]
    approved = ledger.answer(advice.advice_id, YES)
    assert (approved.approval, approved.decided_at, approved.is_actionable) == (YES, NOW, True)
    assert ledger.active(NOW) == [approved] == [ledger.newest(ATTEMPT)]
    again = Approval(Answer.APPROVED, "somebody else", None, NOW + 1)
    assert ledger.answer(advice.advice_id, again) == approved
    [row] = ledger.audit()
    assert (row.who, row.what, row.about, row.at) == ("on call", "approved", advice.advice_id, NOW)
    assert ledger.verify().broken is None


def test_what_is_rejected_is_no_longer_to_be_carried_out(ledger: Ledger) -> None:
    advice = asked(ledger)
    rejected = ledger.answer(advice.advice_id, NO)
    assert (rejected.approval, rejected.decided_at) == (NO, NO.at)
    assert ledger.active(NOW) == []
    with pytest.raises(NotWaitingError, match="on call rejected it"):
        ledger.answer(advice.advice_id, YES)
    assert ledger.put_advice(advice) is False  # decided again after a crash: the same, answered


@pytest.mark.parametrize(
    "changes",
    [
        {"mode": Mode.ACT},
        {"mode": Mode.MONITOR},
        {"settled": False},
        {"operation": Operation.OBSERVE},
    ],
)
def test_what_waits_for_nobody_takes_no_answer(ledger: Ledger, changes: dict[str, Any]) -> None:
    advice = asked(ledger, **changes)
    with pytest.raises(NotWaitingError, match="waits for an answer"):
        ledger.answer(advice.advice_id, YES)
    assert ledger.expire_answers(EXPIRES) == []
    assert ledger.audit() == []
    with pytest.raises(NotFoundError):
        ledger.answer("x", YES)


def test_what_nobody_answers_expires(ledger: Ledger) -> None:
    advice = asked(ledger)
    assert ledger.expire_answers(EXPIRES - 1) == []
    late = Approval(Answer.APPROVED, "on call", None, EXPIRES)
    with pytest.raises(NotWaitingError, match="it expired"):
        ledger.answer(advice.advice_id, late)
    assert ledger.expire_answers(EXPIRES) == [advice.advice_id]
    assert ledger.expire_answers(EXPIRES) == []
    found = answer_of(ledger, advice)
    assert found is not None
    assert (found.answer, found.who, found.at) == (Answer.EXPIRED, "relume", EXPIRES)
    assert [row.what for row in ledger.audit()] == ["expired"]


def test_a_newer_generation_takes_the_place_of_one_that_waits(ledger: Ledger) -> None:
    older = asked(ledger)
    other = asked(ledger, attempt="lab/9@1767323045.0")
    newer = asked(ledger, generation=2, created_at=CREATED + 5)
    found = answer_of(ledger, older)
    assert found is not None
    assert (found.answer, found.at) == (Answer.EXPIRED, CREATED + 5)
    with pytest.raises(NotWaitingError, match="relume expired it"):
        ledger.answer(older.advice_id, YES)
    assert answer_of(ledger, newer) is answer_of(ledger, other) is None
    assert ledger.answer(newer.advice_id, YES).approval == YES


def test_everything_becomes_known_once_in_order_and_rings(ledger: Ledger) -> None:
    rung: list[int] = []
    end = ledger.bell.listen(lambda: rung.append(ledger.last_news()))
    advice = asked(ledger)
    ledger.put_advice(advice)
    ledger.answer(advice.advice_id, YES)
    token = ledger.take_lease("lab", "me", 60, NOW).fencing_token
    report = Reconciliation(Disposition.CONVERGED, None, 1)
    for _ in range(2):
        ledger.reconcile(advice.advice_id, report, token, NOW + 1)
    ledger.note(Closing(advice_id=advice.advice_id, at=NOW + 2, ending="over"))
    ledger.put_label(LabelRecord(advice_id=advice.advice_id, right=True, who="on call", at=NOW + 3))
    everything = [
        (1, News.ADVICE, CREATED),
        (2, News.ANSWER, NOW),
        (3, News.RECONCILIATION, NOW + 1),
        (4, News.CLOSED, NOW + 2),
        (5, News.LABEL, NOW + 3),
    ]
    found = ledger.news_after(0)
    assert [(one.number, one.what, one.at) for one, _ in found] == everything
    assert {about.reconciliation for _, about in found} == {report}
    assert [one.number for one, _ in ledger.news_after(2, limit=2)] == [3, 4]
    assert sorted(set(rung)) == [1, 2, 3, 4, 5]
    end()
    asked(ledger, attempt="lab/9@1767323045.0")
    assert max(rung) == 5
