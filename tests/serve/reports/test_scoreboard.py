"""The scoreboard of a service counts alarms as `docs/scoreboard.md` says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from advising import CREATED, make_advice
from relume.advice import Mode, Operation
from relume.models.scoring.intervals import Proportion, Rate
from relume.models.worth.outcomes import Label
from relume.serve.ledger import Ledger, sqlite_url
from relume.serve.reports.alarms import alarms_of
from relume.serve.reports.scoreboard import Estimate, RuleScore, Scoreboard, scoreboard
from relume.verdict import Domain, Kind
from telling import DAY, HANG, HOUR, alarm, became, name, ran, say


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(sqlite_url(tmp_path / "ledger.db")) as opened:
        yield opened


def board(ledger: Ledger, since: int = CREATED, until: int = CREATED + 10 * DAY) -> Scoreboard:
    return scoreboard(ledger.told(since), ledger.attempts(), since=since, until=until)


def only(ledger: Ledger) -> RuleScore:
    [score] = board(ledger).rules
    return score


def test_an_empty_ledger_has_no_numbers(ledger: Ledger) -> None:
    found = board(ledger)
    assert (found.rules, found.kinds, found.attempts, found.job_days) == ((), (), 0, 0.0)
    assert found.total.precision == Estimate(None, None, None)
    assert found.total.false_per_job_day == Estimate(None, None, None)


def test_alarms_are_counted_by_what_became_of_them(ledger: Ledger) -> None:
    labels = [Label.TRUE, Label.TRUE, Label.FALSE, Label.UNLABELLED]
    for number, label in enumerate(labels):
        became(ledger, alarm(ledger, number), label)
    alarm(ledger, 9)
    score = only(ledger)
    assert (score.rule, score.kind) == (HANG, Kind.HANG)
    assert (score.alarms, score.true, score.false, score.unlabelled) == (5, 2, 1, 2)
    assert score.precision == Estimate.of(Proportion(2, 3))
    assert (score.by_people, score.unlabelled_acted) == (0, 0)


def test_a_person_wins_and_the_newest_word_counts_about_any_generation(ledger: Ledger) -> None:
    first = alarm(ledger, settled=False, decided_at=None)
    second = alarm(ledger, generation=2, created_at=CREATED + 10, decided_at=CREATED + 10)
    became(ledger, first, Label.TRUE)
    say(ledger, first, right=True, at=CREATED + 20)
    say(ledger, second, right=False, at=CREATED + 30)
    score = only(ledger)
    assert (score.alarms, score.true, score.false, score.by_people) == (1, 0, 1, 1)


def test_what_somebody_may_have_acted_on_waits_for_a_person(ledger: Ledger) -> None:
    alarm(ledger, 1, mode=Mode.ACT)
    alarm(ledger, 2, mode=Mode.APPROVE, decided_at=None)
    say(ledger, alarm(ledger, 3, mode=Mode.ACT), right=True)
    score = only(ledger)
    assert (score.unlabelled, score.unlabelled_acted, score.true) == (2, 2, 1)


def test_suspicions_and_good_ends_are_no_alarms(ledger: Ledger) -> None:
    for number, kind in enumerate((Kind.UNKNOWN, Kind.BENIGN)):
        alarm(ledger, number, kind=kind, operation=Operation.OBSERVE, rule="suspicious_gap")
    assert alarms_of(ledger.told(0)) == []


def test_rules_and_kinds_stand_apart_the_most_alarms_first(ledger: Ledger) -> None:
    ledger.put_advice(make_advice(attempt=name(8), rule=None, domain=Domain.UNKNOWN))
    for number in (1, 2):
        alarm(ledger, number)
    found = board(ledger)
    assert [(one.rule, one.kind, one.alarms) for one in found.rules] == [
        (HANG, Kind.HANG, 2),
        (None, Kind.CRASH, 1),
    ]
    assert [(one.kind, one.alarms) for one in found.kinds] == [(Kind.HANG, 2), (Kind.CRASH, 1)]
    assert found.total.alarms == 3


def test_only_alarms_of_the_time_count(ledger: Ledger) -> None:
    alarm(ledger)
    assert board(ledger, CREATED + 1).total.alarms == 0
    assert board(ledger, CREATED, CREATED).total.alarms == 1
    assert board(ledger, CREATED - 2, CREATED - 1).total.alarms == 0


def test_false_alarms_a_job_day_leave_out_the_time_of_true_ones(ledger: Ledger) -> None:
    ran(ledger, 1, -5 * DAY, 2 * DAY)  # two days of it within
    ran(ledger, 2, 0, None, nodes=("a", "b", "c", "d"))  # goes on: ten days
    ran(ledger, 3, 1 * DAY, 5 * DAY)  # hangs after a day
    ran(ledger, 4, 0, None, start_time=None)  # nobody knows since when
    ran(ledger, 5, 0, None, ended=True)  # nobody knows to when
    at = CREATED + 2 * DAY
    hung = alarm(ledger, 3, created_at=at, decided_at=at, expires_at=at + HOUR)
    became(ledger, hung, Label.TRUE)
    became(ledger, alarm(ledger, 2), Label.FALSE)
    found = board(ledger)
    assert (found.attempts, found.job_days, found.node_days) == (3, 13.0, 46.0)
    assert found.total.false_per_job_day == Estimate.of(Rate(1, 13.0))
    assert found.total.false_per_1000_node_days == Estimate.of(Rate(1, 46.0), 1000.0)
    assert found.incidents_per_job_day == Estimate.of(Rate(1, 13.0))


@pytest.mark.parametrize(
    ("after", "restarts", "futile"),
    [
        (None, 0, 0),
        ({"end": None, "fingerprint": "f", "last_step": 10}, 0, 0),
        ({"end": 2 * HOUR, "fingerprint": "f", "last_step": 10}, 1, 1),
        ({"end": 2 * HOUR, "fingerprint": "f", "last_step": 11}, 1, 0),
        ({"end": 2 * HOUR, "fingerprint": "g", "last_step": 10}, 1, 0),
        ({"end": 2 * HOUR, "fingerprint": None, "last_step": 10}, 1, 0),
    ],
)
def test_restarts_that_fail_alike_and_get_no_further_are_futile(
    ledger: Ledger, after: dict[str, int | str | None] | None, restarts: int, futile: int
) -> None:
    ran(ledger, 1, 0, HOUR, fingerprint="f", last_step=10, state="FAILED")
    if after is not None:
        ran(ledger, 1, HOUR, after.pop("end"), count=1, **after)  # type: ignore[arg-type]
    alarm(ledger)
    score = only(ledger)
    assert (score.restarts, score.futile) == (restarts, futile)


def test_people_agree_when_they_do_what_was_advised(ledger: Ledger) -> None:
    ran(ledger, 1, 0, HOUR, state="FAILED")
    ran(ledger, 1, HOUR, None, count=1)  # started again, as was advised
    alarm(ledger, 1)
    ran(ledger, 2, 0, HOUR, state="COMPLETED")  # nobody did anything
    alarm(ledger, 2)
    ran(ledger, 3, 0, HOUR, state="FAILED")  # may still be started again
    alarm(ledger, 3)
    ran(ledger, 4, 0, HOUR, state="FAILED")
    alarm(ledger, 4, mode=Mode.ACT)  # done by us
    alarm(ledger, 5, operation=Operation.OBSERVE)  # of an attempt that nobody knows
    assert only(ledger).agreement == Estimate.of(Proportion(1, 2))
