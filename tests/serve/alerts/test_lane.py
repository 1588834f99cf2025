"""A lane tells a real receiver once of each thing that happens to an incident."""

from __future__ import annotations

from typing import Any

import pytest

from desk import Desk
from relume.advice import Operation
from relume.serve.alerts import lane as lanes
from relume.serve.alerts.memory import Rules
from relume.serve.alerts.message import Level
from relume.serve.alerts.metrics import AlertMetrics
from relume.verdict import Kind


def test_an_incident_is_opened_updated_and_resolved_once_each(desk: Desk) -> None:
    one = desk.begun()
    first = desk.advise()
    for _ in range(3):
        one.step()
    assert desk.receiver.events == [("opened", 1)]
    desk.clock.advance(301)
    desk.advise(generation=2, cause="ecc_error")
    for _ in range(3):
        one.step()
    desk.close(first)
    for _ in range(3):
        one.step()
    assert desk.receiver.events == [("opened", 1), ("updated", 2), ("resolved", 3)]
    body = desk.receiver.bodies[-1]
    assert (body["cause"], body["ending"]) == ("ecc_error", "it is over")
    assert body["opened_at"] < body["closed_at"]


def test_a_restart_neither_repeats_nor_forgets(desk: Desk) -> None:
    desk.begun()
    advice = desk.advise()
    desk.lane().step()
    desk.lane().step()
    desk.close(advice)
    other = desk.advise(2)
    desk.close(other)  # opened and over while nobody looked
    for _ in range(3):
        desk.lane().step()
    assert sorted(desk.receiver.events) == [
        ("opened", 1),
        ("opened", 1),
        ("resolved", 2),
        ("resolved", 2),
    ]


def test_what_is_over_is_forgotten_after_a_while_and_not_told_again(desk: Desk) -> None:
    one = desk.begun()
    desk.close(desk.advise())
    one.step()
    one.step()
    desk.clock.advance(3600)
    one.step()
    one.step()
    assert [key for key in desk.ledger.cursors() if not key.endswith(" since")] == []
    desk.lane().step()
    assert desk.receiver.events == [("opened", 1), ("resolved", 2)]


def test_a_new_target_is_told_what_goes_on_and_not_what_is_long_over(desk: Desk) -> None:
    desk.close(desk.advise(1))
    desk.advise(2)
    desk.clock.advance(10)
    desk.lane().step()
    assert [one["attempt"] for one in desk.receiver.bodies] == ["lab/2@1767323045.0"]


def test_what_flaps_waits_for_the_cooldown_unless_it_matters_more(desk: Desk) -> None:
    one = desk.begun()
    slow: dict[str, Any] = {"kind": Kind.STRAGGLER, "operation": Operation.OBSERVE}
    desk.advise(**slow)
    one.step()
    desk.clock.advance(10)
    desk.advise(generation=2, cause="thermal", **slow)
    one.step()
    assert desk.receiver.events == [("opened", 1)]
    desk.clock.advance(10)
    desk.advise(generation=3)  # to be restarted
    one.step()
    assert desk.receiver.events == [("opened", 1), ("updated", 2)]
    assert desk.receiver.bodies[-1]["level"] == "critical"
    desk.clock.advance(10)
    desk.advise(generation=4, cause="ecc_error")
    one.step()
    desk.clock.advance(300)
    one.step()
    assert desk.receiver.events[2:] == [("updated", 3)]


@pytest.mark.parametrize(
    ("least", "count"), [(Level.INFO, 3), (Level.WARNING, 2), (Level.CRITICAL, 1)]
)
def test_only_what_matters_enough_is_told(desk: Desk, least: Level, count: int) -> None:
    one = desk.begun(rules=Rules(least))
    desk.advise(1)
    desk.advise(2, kind=Kind.STRAGGLER, operation=Operation.OBSERVE)
    desk.advise(3, kind=Kind.UNKNOWN, operation=Operation.OBSERVE)
    one.step()
    assert len(desk.receiver.bodies) == count


@pytest.mark.parametrize("status", [500, 503, 429])
def test_what_fails_is_sent_again_later_and_later(desk: Desk, status: int) -> None:
    one = desk.begun(metrics=AlertMetrics(desk.registry))
    desk.advise()
    desk.receiver.status = status
    one.step()
    desk.receiver.status = 200
    one.step()  # too early
    assert desk.receiver.events == []
    failures = {"target": "webhook"}
    assert desk.registry.get_sample_value("relume_alert_failures_total", failures) == 1.0
    desk.clock.advance(1)
    one.step()
    assert desk.receiver.events == [("opened", 1)]
    sent = {"target": "webhook", "event": "opened", "result": "sent"}
    assert desk.registry.get_sample_value("relume_alert_messages_total", sent) == 1.0


def test_pauses_grow_to_five_minutes_and_a_clock_put_back_ends_them(desk: Desk) -> None:
    one = desk.begun()
    desk.advise()
    desk.receiver.status = 500
    for _ in range(12):
        one.step()
        desk.clock.advance(lanes.MOST_SECONDS)
    one.step()
    desk.receiver.status = 200
    desk.clock.advance(lanes.MOST_SECONDS - 1)
    one.step()
    assert desk.receiver.events == []
    desk.clock.advance(-3600)
    one.step()
    assert desk.receiver.events == [("opened", 1)]


def test_what_is_refused_for_good_keeps_nothing_waiting(desk: Desk) -> None:
    one = desk.begun(metrics=AlertMetrics(desk.registry))
    desk.receiver.refuses = "lab/1@"
    desk.advise(1)
    desk.advise(2)
    one.step()
    one.step()
    assert desk.receiver.events == [("opened", 1)]
    refused = {"target": "webhook", "event": "opened", "result": "refused"}
    assert desk.registry.get_sample_value("relume_alert_messages_total", refused) == 1.0


def test_a_redirect_is_not_followed(desk: Desk) -> None:
    one = desk.begun()
    desk.receiver.status = 302
    desk.advise()
    one.step()
    desk.receiver.status = 200
    desk.clock.advance(60)
    one.step()
    assert desk.receiver.paths == []


def test_a_flood_is_told_in_several_looks(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "MAX_MESSAGES", 2)
    one = desk.begun()
    for number in range(5):
        desk.advise(number)
    for expected in (2, 4, 5, 5):
        desk.clock.advance(700)  # what waits isn't passed over, however long it takes
        one.step()
        assert len(desk.receiver.bodies) == expected


def test_what_was_kept_in_another_form_is_told_anew(desk: Desk) -> None:
    desk.begun().step()
    desk.advise()
    [incident] = desk.ledger.incidents()
    desk.ledger.put_cursor(f"alerts webhook 1 {incident.incident_id}", "{}")
    desk.lane().step()
    assert desk.receiver.events == [("opened", 1)]
