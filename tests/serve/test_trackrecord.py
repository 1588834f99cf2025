"""What earlier Advice tells of one: counts by rule, and the estimate that learns from all."""

from __future__ import annotations

from pathlib import Path

from advising import CREATED, make_advice
from relume.advice import Advice
from relume.models.worth.outcomes import Label
from relume.serve.ledger import LabelRecord, Ledger, OutcomeRecord, sqlite_url
from relume.serve.trackrecord import track_record


def advised(number: int, rule: str) -> Advice:
    at = CREATED + number
    attempt = f"lab/{number}@1767323045.0"
    return make_advice(attempt=attempt, rule=rule, created_at=at, decided_at=at)


def outcome(advice: Advice, label: Label) -> OutcomeRecord:
    return OutcomeRecord(
        advice_id=advice.advice_id,
        attempt=advice.attempt,
        rule=advice.rule,
        label=label,
        reason="of this test",
        alarm_at=advice.created_at,
        known_at=advice.created_at,
    )


def test_a_rule_that_was_right_is_believed_more_than_one_that_was_not() -> None:
    earlier = [(advised(n, "good" if n % 2 else "bad"), bool(n % 2)) for n in range(60)]
    good, bad = (track_record(advised(99, rule), earlier) for rule in ("good", "bad"))
    assert (good.right, good.wrong, bad.right, bad.wrong) == (30, 0, 0, 30)
    assert good.learned == 60
    assert (good.estimate or 0) > 0.8
    assert (bad.estimate or 1) < 0.2


def test_few_outcomes_give_counts_and_no_estimate() -> None:
    found = track_record(advised(9, "good"), [(advised(1, "good"), True), (advised(2, "x"), False)])
    assert (found.right, found.wrong, found.estimate, found.learned) == (1, 0, None, 2)


def test_only_what_is_known_of_earlier_advice_counts_and_people_win(tmp_path: Path) -> None:
    with Ledger.open(sqlite_url(tmp_path / "ledger.db")) as ledger:
        told = [advised(number, "good") for number in range(5)]
        for one in told:
            ledger.put_advice(one)
        for one, label in zip(told, (Label.TRUE, Label.UNLABELLED, Label.TRUE), strict=False):
            ledger.note(outcome(one, label))
        for number in (2, 4):
            name = told[number].advice_id
            ledger.put_label(LabelRecord(advice_id=name, right=False, who="on call", at=CREATED))
        assert ledger.known(told[4]) == [(told[0], True), (told[2], False)]
        assert ledger.known(told[4], limit=1) == [(told[2], False)]
        assert ledger.known(told[0]) == []
