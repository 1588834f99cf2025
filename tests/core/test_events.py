"""Events: frozen, and never *not healthy* without a reason."""

from __future__ import annotations

import dataclasses
import typing

import pytest

from relume.errors import InputError
from relume.events import (
    CheckOutcome,
    Event,
    LogLine,
    NodeEvent,
    Sample,
    SourceStatus,
    Tick,
)
from relume.verdict import Health

EVENTS = typing.get_args(Event)


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_says_where_it_comes_from_and_when_it_was(event: type) -> None:
    names = {field.name for field in dataclasses.fields(event)}
    assert {"cluster", "source", "event_time", "observed_at"} <= names


@pytest.mark.parametrize("event", EVENTS)
def test_events_are_frozen_and_slotted(event: type) -> None:
    assert event.__dataclass_params__.frozen  # type: ignore[attr-defined] # of every dataclass
    assert "__slots__" in vars(event)


def test_events_are_values() -> None:
    sample = Sample(source="dcgm", metric="power_watts", value=1.0)
    assert {sample, dataclasses.replace(sample)} == {sample}
    with pytest.raises(dataclasses.FrozenInstanceError):
        sample.value = 2.0  # type: ignore[misc]


def test_the_message_of_a_line_is_what_follows_its_prefixes() -> None:
    assert LogLine("3: hello", 0, 0, "f", message_start=3).message == "hello"


@pytest.mark.parametrize("status", [Health.UNHEALTHY, Health.UNKNOWN])
@pytest.mark.parametrize("reason", [None, ""])
def test_a_source_that_is_not_healthy_has_a_reason(status: Health, reason: str | None) -> None:
    with pytest.raises(InputError, match=f"source kernel; found '{status.value}' without a reason"):
        SourceStatus(source="kernel", status=status, reason=reason)
    assert SourceStatus(source="kernel", status=status, reason="pipe closed").status is status


def test_a_healthy_source_needs_no_reason() -> None:
    assert SourceStatus(source="kernel", status=Health.HEALTHY).reason is None


def test_a_check_that_could_not_run_has_a_reason() -> None:
    with pytest.raises(InputError, match="check nhc of node n1; found 'unknown' without a reason"):
        NodeEvent(source="nhc", node="n1", check="nhc", outcome=CheckOutcome.UNKNOWN)
    event = NodeEvent(source="nhc", node="n1", outcome=CheckOutcome.UNKNOWN, reason="timed out")
    assert event.outcome is CheckOutcome.UNKNOWN


@pytest.mark.parametrize("outcome", [None, CheckOutcome.OK, CheckOutcome.FAILED])
def test_a_check_that_ran_needs_none(outcome: CheckOutcome | None) -> None:
    assert NodeEvent(source="nhc", node="n1", outcome=outcome).outcome is outcome


def test_a_tick_always_has_a_time() -> None:
    with pytest.raises(TypeError, match="event_time"):
        Tick()  # type: ignore[call-arg]
