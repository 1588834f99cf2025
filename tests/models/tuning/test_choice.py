"""What keeps a budget, finds most and soonest; where little is known, caution wins."""

from __future__ import annotations

import pytest

from alarming import make_alarm, make_attempt, make_incident
from relume.models.tuning.choice import Tally, Trial, best, tally
from relume.verdict import Kind


def trial(
    value: float, false: int = 0, *, days: float = 1000.0, found: int = 5, **more: bool
) -> Trial:
    return Trial((value,), Tally(false, days, found, 5 - found, [100.0] * found), **more)


def test_of_those_that_keep_to_the_budget_the_one_that_finds_most_is_chosen() -> None:
    tried = [
        trial(1, found=3, is_present=True),
        trial(2, found=5),
        trial(3, false=20, found=5),
    ]
    assert best(tried, 0.01).values == (2,)


def test_what_is_no_better_changes_nothing() -> None:
    assert best([trial(1), trial(2, is_present=True), trial(3)], 0.01).values == (2,)


def test_fewer_false_alarms_are_chosen_where_the_present_value_has_too_many() -> None:
    tried = [trial(1, false=30, is_present=True), trial(2, false=20), trial(3, false=12)]
    assert best(tried, 0.01).values == (3,)


@pytest.mark.parametrize(("days", "value"), [(1000.0, 2), (200.0, 1)])
def test_what_alarms_sooner_must_have_shown_that_it_keeps_to_the_budget(
    days: float, value: float
) -> None:
    tried = [
        trial(1, days=days, found=3, is_present=True),
        trial(2, days=days, found=5, is_eager=True),
    ]
    assert best(tried, 0.01).values == (value,)


def test_what_alarms_sooner_is_never_the_way_out_of_too_many_false_alarms() -> None:
    tried = [trial(1, false=50, is_present=True), trial(2, false=40, is_eager=True)]
    assert best(tried, 0.01).values == (1,)


def test_only_labelled_attempts_and_alarms_of_the_kind_count() -> None:
    attempts = [
        make_attempt((make_incident(100, 4000, Kind.HANG),), make_alarm(400, Kind.HANG)),
        make_attempt((), make_alarm(900, Kind.HANG), make_alarm(9000, Kind.STRAGGLER)),
        make_attempt(None, make_alarm(900, Kind.HANG)),
        make_attempt((make_incident(None, None, Kind.HANG),), make_alarm(5, Kind.STRAGGLER)),
    ]
    hangs, slow = (tally(attempts, kind) for kind in (Kind.HANG, Kind.STRAGGLER))
    assert (hangs.false_alarms, hangs.found, hangs.missed, hangs.delays) == (1, 1, 1, [300.0])
    assert (slow.false_alarms, slow.found) == (1, 0)  # the last one's exposure isn't known
    assert hangs.quiet_days == slow.quiet_days
    assert 0.15 < hangs.quiet_days < 0.2
