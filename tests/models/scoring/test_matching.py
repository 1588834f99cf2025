from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alarming import make_alarm, make_attempt, make_incident
from relume.dataset import Incident
from relume.models.scoring.alarm import Alarm
from relume.models.scoring.attempt import SECOND, ScoredAttempt, ScoreSettings
from relume.models.scoring.matching import Matching, group_alarms, match
from relume.verdict import Kind

SETTINGS = ScoreSettings()


def matched(*alarms: Alarm, incidents: tuple[Incident, ...] = (), **fields: object) -> Matching:
    return match(make_attempt(incidents, *alarms, **fields), SETTINGS)


def outcome(alarm: Alarm, incident: Incident, **fields: object) -> str:
    """Where the one alarm went, with one incident."""
    result = matched(alarm, incidents=(incident,), **fields)
    places = ("found", "transient", "false_alarms", "ignored")
    (place,) = [place for place in places if getattr(result, place)]
    missed = bool(result.missed or result.transient_missed)
    assert missed is (place not in {"found", "transient"})
    return place


@pytest.mark.parametrize(
    ("at", "place"),
    [
        (999.999999, "false_alarms"),
        (1000, "found"),
        (1500, "found"),
        (2000, "found"),
        (2060, "found"),
        (2060.000001, "false_alarms"),
    ],
)
def test_an_alarm_is_of_an_incident_from_its_onset_to_a_minute_after_its_end(
    at: float, place: str
) -> None:
    assert outcome(make_alarm(at), make_incident(1000, 2000)) == place


def test_how_early_and_late_an_alarm_may_be_is_a_setting() -> None:
    attempt = make_attempt((make_incident(1000, 2000),), make_alarm(990))
    assert match(attempt, ScoreSettings(early_seconds=10)).found
    late = make_attempt((make_incident(1000, 2000),), make_alarm(2001))
    assert match(late, ScoreSettings(late_seconds=0)).false_alarms


def test_an_incident_without_end_lasts_to_the_end_of_the_attempt() -> None:
    incident = make_incident(1000)
    assert outcome(make_alarm(4060), incident, end=4000) == "found"
    assert outcome(make_alarm(4061), incident, end=4000) == "false_alarms"
    assert outcome(make_alarm(9e9), incident, end=None) == "found"


@pytest.mark.parametrize(
    ("said", "was", "watchdog", "place"),
    [
        (Kind.HANG, Kind.HANG, False, "found"),
        (Kind.CRASH, Kind.HANG, False, "false_alarms"),
        (Kind.CRASH, Kind.HANG, True, "found"),
        (Kind.HANG, Kind.CRASH, True, "found"),
        (Kind.STRAGGLER, Kind.HANG, True, "false_alarms"),
        (Kind.CRASH, Kind.NUMERIC, True, "false_alarms"),
        (Kind.NUMERIC, Kind.NUMERIC, False, "found"),
    ],
)
def test_kinds_must_agree_but_for_a_hang_that_a_watchdog_ended(
    said: Kind, was: Kind, *, watchdog: bool, place: str
) -> None:
    incident = make_incident(1000, 2000, was, watchdog=watchdog)
    assert outcome(make_alarm(1500, said), incident) == place


@pytest.mark.parametrize("kind", [Kind.BENIGN, Kind.UNKNOWN])
def test_what_claims_no_failure_is_no_alarm(kind: Kind) -> None:
    assert matched(make_alarm(5, kind)) == Matching()


def test_alarms_within_five_minutes_of_the_first_are_one() -> None:
    alarms = [make_alarm(at) for at in (0, 299, 300, 300.5, 600, 700)]
    groups = group_alarms(alarms, SETTINGS)
    assert [len(group.alarms) for group in groups] == [3, 2, 1]
    assert [group.first.time for group in groups] == [0, 300_500_000, 700_000_000]


def test_alarms_of_two_kinds_are_two() -> None:
    groups = group_alarms([make_alarm(1), make_alarm(0, Kind.HANG), make_alarm(2)], SETTINGS)
    assert [(one.first.kind, len(one.alarms)) for one in groups] == [
        (Kind.HANG, 1),
        (Kind.CRASH, 2),
    ]


def test_alarms_without_a_clock_are_one_of_their_kind_and_come_last() -> None:
    groups = group_alarms([make_alarm(), make_alarm(rule="b"), make_alarm(900)], SETTINGS)
    assert [(one.first.time, len(one.alarms)) for one in groups] == [(900_000_000, 1), (None, 2)]


def test_a_first_alarm_before_the_onset_hides_those_right_after_it() -> None:
    # De-duplication comes first (metrics 2.1): the one alarm is that at 990 s, and false.
    result = matched(make_alarm(990), make_alarm(1100), incidents=(make_incident(1000, 2000),))
    assert len(result.false_alarms) == 1
    assert len(result.missed) == 1


def test_further_alarms_of_an_incident_are_repeats() -> None:
    result = matched(
        make_alarm(1000),
        make_alarm(1400),
        make_alarm(1800),
        incidents=(make_incident(1000, 2000),),
    )
    (found,) = result.found
    assert (found.alarm.first.time, len(found.repeats)) == (1_000_000_000, 2)
    assert result.false_alarms == ()


def test_the_crash_after_a_hang_that_a_watchdog_ended_is_a_repeat() -> None:
    incident = make_incident(1000, 3000, Kind.HANG, watchdog=True)
    result = matched(make_alarm(1300, Kind.HANG), make_alarm(3000), incidents=(incident,))
    (found,) = result.found
    assert found.alarm.first.kind is Kind.HANG
    assert [group.first.kind for group in found.repeats] == [Kind.CRASH]


def test_a_wrong_kind_in_the_window_of_an_incident_is_false_before_and_after_the_right_one() -> (
    None
):
    incident = make_incident(1000, 2000)
    straggler = Kind.STRAGGLER
    result = matched(
        make_alarm(1100, straggler),
        make_alarm(1200),
        make_alarm(1700, straggler),
        incidents=(incident,),
    )
    assert len(result.found) == 1
    assert len(result.false_alarms) == 2


def test_matching_is_one_to_one_the_earliest_alarm_first() -> None:
    first, second = make_incident(1000, 4000), make_incident(2000, 5000)
    result = matched(make_alarm(3500), make_alarm(2500), incidents=(second, first))
    assert [(one.incident, one.alarm.first.time) for one in result.found] == [
        (first, 2_500_000_000),
        (second, 3_500_000_000),
    ]
    lone = matched(make_alarm(3000), incidents=(second, first))
    assert [one.incident for one in lone.found] == [first]
    assert lone.missed == (second,)


def test_an_alarm_is_of_the_incident_that_ends_first() -> None:
    long, short = make_incident(0, incident_id="long"), make_incident(500, 900, incident_id="short")
    result = matched(make_alarm(600), make_alarm(5000), incidents=(long, short))
    assert [(one.incident, one.alarm.first.time) for one in result.found] == [
        (long, 5_000_000_000),
        (short, 600_000_000),
    ]
    lone = matched(make_alarm(600), incidents=(long, short))
    assert [one.incident for one in lone.found] == [short]


def test_an_alarm_makes_way_for_one_of_another_kind() -> None:
    # The crash alarm may be of either, and of the watchdog's by its end; the hang only of that.
    crash = make_incident(0, 2000)
    watched = make_incident(0, 1500, Kind.HANG, watchdog=True)
    result = matched(make_alarm(1000), make_alarm(1100, Kind.HANG), incidents=(crash, watched))
    assert {one.incident: one.alarm.first.kind for one in result.found} == {
        crash: Kind.CRASH,
        watched: Kind.HANG,
    }


def told(at: float | None, kind: Kind = Kind.CRASH, **fields: object) -> Alarm:
    return make_alarm(at, kind, told_by_scheduler=True, **fields)


def test_an_incident_known_from_the_schedulers_word_alone_is_missed() -> None:
    incident = make_incident(1000, 1500)
    result = matched(told(1001), incidents=(incident,))
    assert (result.found, result.missed, result.false_alarms) == ((), (incident,), ())
    assert [(one.incident, len(one.alarms)) for one in result.told] == [(incident, 1)]


def test_the_schedulers_word_about_no_incident_is_not_false() -> None:
    result = matched(told(1001))
    assert result.false_alarms == ()
    assert [(one.incident, len(one.alarms)) for one in result.told] == [(None, 1)]
    assert len(matched(told(1001), ignore=[(900, 1100)]).ignored) == 1


@pytest.mark.parametrize("at", [1001, 1003])
def test_the_schedulers_word_neither_hides_nor_repeats_what_was_detected(at: float) -> None:
    result = matched(make_alarm(1002), told(at, cause="x"), incidents=(make_incident(1000, 1500),))
    (found,) = result.found
    assert found.alarm.first.time == 1_002_000_000
    assert (len(found.repeats), len(found.told), result.told) == (0, 1, ())
    assert found.settled is not None
    assert found.settled.told_by_scheduler == (at > 1002)  # what was said last, by whomever


def test_incidents_of_one_name_are_still_two() -> None:
    twins = (make_incident(1000, 2000, incident_id="x"), make_incident(5000, 6000, incident_id="x"))
    result = matched(make_alarm(1500), incidents=twins)
    assert (len(result.found), len(result.missed)) == (1, 1)


@pytest.mark.parametrize(
    ("at", "place"),
    [(99, "false_alarms"), (100, "ignored"), (200, "ignored"), (201, "false_alarms")],
)
def test_an_alarm_in_an_ignore_interval_is_not_false(at: float, place: str) -> None:
    result = matched(make_alarm(at), ignore=[(100, 200)])
    assert len(getattr(result, place)) == 1


def test_an_alarm_of_an_incident_is_found_in_an_ignore_interval_too() -> None:
    assert outcome(make_alarm(1500), make_incident(1000, 2000), ignore=[(0, 9000)]) == "found"


@pytest.mark.parametrize(
    ("kind", "lasted", "place"),
    [
        (Kind.HANG, 59.9, "transient"),
        (Kind.HANG, 60, "found"),
        (Kind.STRAGGLER, 299, "transient"),
        (Kind.STRAGGLER, 300, "found"),
        (Kind.CRASH, 0, "transient"),
    ],
)
def test_what_is_over_before_anybody_could_act_is_apart(
    kind: Kind, lasted: float, place: str
) -> None:
    incident = make_incident(1000, 1000 + lasted, kind)
    assert outcome(make_alarm(1001, kind), incident) == place
    result = matched(incidents=(incident,))
    assert len(result.transient_missed) == (place == "transient")
    assert len(result.missed) == (place == "found")


def test_a_crash_that_ends_its_attempt_is_not_transient() -> None:
    assert outcome(make_alarm(9999), make_incident(9999, 10_000)) == "found"
    assert outcome(make_alarm(9900), make_incident(9900, 9940), end=9990) == "found"
    assert outcome(make_alarm(9), make_incident(9, 9), start=None, end=None) == "found"


def test_without_a_clock_kind_alone_decides() -> None:
    assert outcome(make_alarm(), make_incident(1000, 2000)) == "found"
    assert outcome(make_alarm(77), make_incident()) == "found"
    assert outcome(make_alarm(), make_incident(kind=Kind.HANG)) == "false_alarms"


def test_an_alarm_without_a_clock_is_in_no_ignore_interval() -> None:
    assert matched(make_alarm(), ignore=[(0, 9000)]).false_alarms


def test_what_was_said_last_of_an_incident_counts_when_it_was_settled() -> None:
    result = matched(
        make_alarm(1000, cause="first", settled=False),
        make_alarm(1010, cause="second"),
        make_alarm(1500, cause="third"),
        make_alarm(1510, cause="fourth", settled=False),
        incidents=(make_incident(1000, 2000),),
    )
    settled = result.found[0].settled
    assert settled is not None
    assert settled.cause == "third"
    (found,) = matched(make_alarm(5, settled=False), incidents=(make_incident(1),)).found
    assert found.settled is None


TIMES = st.none() | st.integers(0, 3000).map(float)
KINDS = st.sampled_from([Kind.CRASH, Kind.HANG, Kind.STRAGGLER, Kind.NUMERIC, Kind.BENIGN])
ALARMS = st.builds(
    make_alarm,
    TIMES,
    KINDS,
    rule=st.sampled_from([None, "a", "b"]),
    settled=st.booleans(),
    confidence=st.sampled_from([0.2, 0.9]),
    told_by_scheduler=st.sampled_from([False, False, False, True]),
)


@st.composite
def incidents(draw: st.DrawFn) -> Incident:
    onset = draw(TIMES)
    lasted = draw(st.none() | st.integers(0, 1500))
    end = None if onset is None or lasted is None else onset + lasted
    kind = draw(KINDS.filter(lambda kind: kind is not Kind.BENIGN))
    return make_incident(
        onset,
        end,
        kind,
        watchdog=draw(st.booleans()),
        incident_id=draw(st.uuids().map(str)),
    )


@st.composite
def attempts(draw: st.DrawFn) -> ScoredAttempt:
    spans = st.tuples(st.integers(0, 3000), st.integers(0, 900)).map(lambda s: (s[0], sum(s)))
    return make_attempt(
        tuple(draw(st.lists(incidents(), max_size=4))),
        *draw(st.lists(ALARMS, max_size=8)),
        ignore=draw(st.lists(spans, max_size=3)),
        end=draw(st.sampled_from([None, 2000, 4000])),
    )


def remade(attempt: ScoredAttempt, **fields: object) -> ScoredAttempt:
    return replace(attempt, **fields)  # type: ignore[arg-type]


@given(attempts(), st.randoms())
def test_order_of_alarms_and_incidents_changes_nothing(
    attempt: ScoredAttempt, rng: random.Random
) -> None:
    alarms, labels = list(attempt.alarms), list(attempt.incidents or ())
    rng.shuffle(alarms)
    rng.shuffle(labels)
    shuffled = remade(attempt, alarms=tuple(alarms), incidents=tuple(labels))
    assert match(shuffled, SETTINGS) == match(attempt, SETTINGS)


@given(attempts())
def test_every_incident_and_every_alarm_is_somewhere_once(attempt: ScoredAttempt) -> None:
    result = match(attempt, SETTINGS)
    found = [*result.found, *result.transient]
    placed = [one.incident for one in found] + [*result.missed, *result.transient_missed]
    assert sorted(map(repr, placed)) == sorted(map(repr, attempt.incidents or ()))
    groups = [one.alarm for one in found] + [g for one in found for g in one.repeats]
    groups += [*result.false_alarms, *result.ignored]
    groups += [g for one in found for g in one.told]
    groups += [g for one in result.told for g in one.groups]
    said = [one for group in groups for one in group.alarms]
    claims = [one for one in attempt.alarms if one.kind is not Kind.BENIGN]
    assert sorted(map(repr, said)) == sorted(map(repr, claims))


@given(attempts(), st.integers(0, 3000), st.integers(0, 3000))
def test_one_more_ignore_interval_never_adds_a_false_alarm_nor_changes_a_match(
    attempt: ScoredAttempt, start: int, length: int
) -> None:
    more = make_attempt(ignore=[(start, start + length)]).ignore
    before = match(attempt, SETTINGS)
    after = match(remade(attempt, ignore=(*attempt.ignore, *more)), SETTINGS)
    assert set(after.false_alarms) <= set(before.false_alarms)
    assert (after.found, after.missed) == (before.found, before.missed)
    assert set(before.ignored) <= set(after.ignored)


@given(attempts(), ALARMS)
def test_one_more_alarm_never_loses_an_incident_unless_it_hides_a_later_alarm(
    attempt: ScoredAttempt, alarm: Alarm
) -> None:
    no_dedup = ScoreSettings(dedup_seconds=-1)
    before = match(attempt, no_dedup)
    after = match(remade(attempt, alarms=(*attempt.alarms, alarm)), no_dedup)
    found_before = len(before.found) + len(before.transient)
    assert len(after.found) + len(after.transient) >= found_before


def best_of(
    kinds_and_times: list[tuple[Kind, int | None]], labels: list[Incident], end: int
) -> int:
    """How many incidents any assignment can find: all of them are tried."""
    if not kinds_and_times:
        return 0
    (kind, time), *rest = kinds_and_times
    best = best_of(rest, labels, end)
    for place, one in enumerate(labels):
        bridged = one.watchdog and {kind, one.kind} <= {Kind.CRASH, Kind.HANG}
        last = (end if one.end is None else one.end) + 60 * SECOND
        in_time = time is None or one.onset is None or one.onset <= time <= last
        if in_time and (bridged or kind is one.kind):
            others = labels[:place] + labels[place + 1 :]
            best = max(best, 1 + best_of(rest, others, end))
    return best


NEAR = st.none() | st.integers(0, 6).map(lambda number: number * 400.0)  # past de-duplication
TWO = st.sampled_from([Kind.CRASH, Kind.HANG])  # which a watchdog may confuse
NEAR_INCIDENTS = st.builds(
    lambda onset, lasted, kind, watchdog, name: make_incident(
        onset,
        None if onset is None or lasted is None else onset + lasted,
        kind,
        watchdog=watchdog,
        incident_id=str(name),
    ),
    NEAR,
    st.sampled_from([None, 100, 500, 900]),
    TWO,
    st.booleans(),
    st.uuids(),
)
NEAR_ALARMS = st.builds(
    make_alarm, NEAR, TWO, told_by_scheduler=st.sampled_from([False, False, False, True])
)


@settings(max_examples=250)
@given(
    st.lists(NEAR_INCIDENTS, min_size=2, max_size=4),
    st.lists(NEAR_ALARMS, min_size=2, max_size=5),
)
def test_no_other_assignment_finds_more(labels: list[Incident], alarms: list[Alarm]) -> None:
    attempt = make_attempt(tuple(labels), *alarms, end=2500)
    result = match(attempt, SETTINGS)
    groups = group_alarms([one for one in alarms if not one.told_by_scheduler], SETTINGS)
    said = [(group.first.kind, group.first.time) for group in groups]
    found = len(result.found) + len(result.transient)
    assert found == best_of(said, labels, 2500 * SECOND)
