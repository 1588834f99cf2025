"""False alarms: what each cost, and the setting that would have avoided it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from advising import CREATED, make_advice
from relume.advice import Advice, Disposition, Mode, Operation, Reconciliation
from relume.models.hang.settings import HangSettings
from relume.models.worth.outcomes import Label
from relume.serve.ledger import Ledger, Milestone, sqlite_url
from relume.serve.reports.falsepositives import FalsePositive, false_positives
from relume.verdict import Kind, Measurement
from telling import HOUR, alarm, became, name, ran, say, silence

HOLDER = "test"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(sqlite_url(tmp_path / "ledger.db")) as opened:
        yield opened


def listed(ledger: Ledger, gpus_per_node: int | None = 8) -> list[FalsePositive]:
    told, attempts = ledger.told(0), ledger.attempts()
    return false_positives(told, attempts, ledger.milestones, gpus_per_node=gpus_per_node)


def only(ledger: Ledger, gpus_per_node: int | None = 8) -> FalsePositive:
    [found] = listed(ledger, gpus_per_node)
    return found


def wrong(ledger: Ledger, seconds: float | None, measured: Measurement) -> FalsePositive:
    became(ledger, alarm(ledger, measured=measured), Label.FALSE, seconds)
    return only(ledger)


def test_only_what_is_known_to_be_false_is_listed_newest_first(ledger: Ledger) -> None:
    for number, label in enumerate((Label.TRUE, Label.UNLABELLED, Label.FALSE, Label.FALSE)):
        at = CREATED + number
        became(ledger, alarm(ledger, number, created_at=at, decided_at=at), label)
    assert [one.advice.attempt for one in listed(ledger)] == [name(3), name(2)]


def test_it_says_who_says_so_and_why(ledger: Ledger) -> None:
    advice = alarm(ledger)
    became(ledger, advice, Label.FALSE)
    assert (only(ledger).by, only(ledger).why) == ("its outcome", "new steps came")
    say(ledger, advice, right=False)
    assert (only(ledger).by, only(ledger).why) == ("on call", "I saw it")


def test_a_silence_of_known_pauses_is_covered_by_the_least_actionable_one(ledger: Ledger) -> None:
    found = wrong(ledger, 130.2, silence())
    avoided = found.avoiding
    assert (avoided.setting, avoided.value) == ("hang.actionable_seconds", 131.0)
    assert (found.seen, "130 s" in avoided.words) == (130.2, True)


def test_a_silence_of_unknown_pauses_is_covered_by_a_smaller_budget(ledger: Ledger) -> None:
    budget = wrong(ledger, 400.0, silence(setting="hang.false_alarms_per_job_day")).avoiding
    assert budget.setting == "hang.false_alarms_per_job_day"
    assert budget.value is not None
    assert 400.0 <= HangSettings.of_budget(budget.value).unknown_seconds < 410.0


@pytest.mark.parametrize(
    ("seconds", "setting", "words"),
    [
        (None, "hang.actionable_seconds", "nobody saw"),
        (130.0, None, "no setting"),
        (90_000.0, "hang.actionable_seconds", "86400 at most"),
        (1e6, "hang.false_alarms_per_job_day", "no budget"),
    ],
)
def test_what_cannot_be_computed_is_unknown(
    ledger: Ledger, seconds: float | None, setting: str | None, words: str
) -> None:
    avoided = wrong(ledger, seconds, silence(setting=setting)).avoiding
    assert (avoided.setting, avoided.value) == (None, None)
    assert words in avoided.words


def test_slow_steps_are_usual_at_a_larger_effect(ledger: Ledger) -> None:
    slow = Measurement("slow_ratio", 1.31, 1.05, CREATED, "straggler.effect_ratio")
    advice = alarm(ledger, kind=Kind.STRAGGLER, operation=Operation.OBSERVE, measured=slow)
    say(ledger, advice, right=False)
    found = only(ledger)
    assert (found.seen, found.avoiding.value) == (1.31, 0.31)
    assert found.avoiding.setting == "straggler.effect_ratio"


def test_a_rule_is_kept_from_a_line_by_one_in_its_place(ledger: Ledger) -> None:
    advice = make_advice(mode=Mode.MONITOR)
    ledger.put_advice(advice)
    say(ledger, advice, right=False)
    avoided = only(ledger).avoiding
    assert (avoided.setting, avoided.value) == ("rules.folders", None)
    assert "xid_79" in avoided.words
    assert "kernel.log:4" in avoided.words


@pytest.mark.parametrize("rule", [None, "unknown_exit"])
def test_what_no_line_shows_has_nothing_to_set(ledger: Ledger, rule: str | None) -> None:
    advice = make_advice(rule=rule, evidence=())
    ledger.put_advice(advice)
    say(ledger, advice, right=False)
    assert only(ledger).avoiding.setting is None


def acted(ledger: Ledger, **changes: Any) -> Advice:
    """A false alarm that a controller has carried out."""
    token = ledger.take_lease("lab", HOLDER, 60.0, CREATED).fencing_token
    advice = alarm(ledger, mode=Mode.ACT, **changes)
    done = Reconciliation(Disposition.CONVERGED, None, 1)
    say(ledger, advice, right=False)
    return ledger.reconcile(advice.advice_id, done, token, CREATED)


def test_what_was_watched_or_not_carried_out_cost_nothing(ledger: Ledger) -> None:
    say(ledger, alarm(ledger, 1, mode=Mode.ACT), right=False)
    say(ledger, alarm(ledger, 2), right=False)
    costs = {one.advice.mode: one.cost for one in listed(ledger)}
    assert {cost.node_hours for cost in costs.values()} == {0.0}
    assert "watched" in costs[Mode.MONITOR].words
    assert "carried out" in costs[Mode.ACT].words


def test_a_restart_cost_its_nodes_up_to_the_first_new_step(ledger: Ledger) -> None:
    acted(ledger)
    assert "its nodes" in only(ledger).cost.words
    ran(ledger, 1, -HOUR, 0)
    assert (only(ledger).cost.node_hours, "nobody saw" in only(ledger).cost.words) == (None, True)
    ledger.put_milestone(name(1, 1), Milestone.ALLOCATION_RESTARTED, event_time=CREATED + 1)
    ledger.put_milestone(name(1, 1), Milestone.PROGRESS_RESTORED, event_time=CREATED + HOUR // 2)
    assert (only(ledger).cost.node_hours, only(ledger).cost.gpu_hours) == (1.0, 8.0)
    assert only(ledger, None).cost.gpu_hours is None


def test_nobody_knows_what_a_stopped_job_had_still_to_do(ledger: Ledger) -> None:
    acted(ledger, operation=Operation.STOP)
    assert only(ledger).cost.node_hours is None
    assert "stopped" in only(ledger).cost.words
