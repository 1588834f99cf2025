"""Confidence is looked up by marks, and stronger evidence is never believed less."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from making import LOG, make_episode, make_hit, make_signature
from relume.models.diagnosis.confidence import (
    STRENGTHS,
    TIER_MARKS,
    WEAKNESSES,
    marks_of,
    packaged,
)
from relume.models.diagnosis.diagnose import diagnose
from relume.models.diagnosis.episode import Episode, LogEnd, SchedulerFacts
from relume.models.diagnosis.order import choose_root
from relume.models.signatures.rule import Role, Tier
from relume.reasons import ReasonCode
from relume.verdict import Kind

EXCEPTION = make_signature("exception")
MARKS = st.sets(st.sampled_from((*STRENGTHS, *WEAKNESSES)))


def marks(episode: Episode) -> tuple[str, ...]:
    root = choose_root(episode)
    assert root is not None
    return marks_of(episode, root)


def test_the_packaged_table_knows_every_mark_and_no_other() -> None:
    assert set(packaged().marks) == {*TIER_MARKS, *STRENGTHS, *WEAKNESSES}
    assert 0.9 < packaged().most < 1.0
    assert set(packaged().seen) <= set(Kind)


@given(MARKS, st.sampled_from(TIER_MARKS))
def test_a_strength_raises_and_a_weakness_lowers(found: set[str], tier: str) -> None:
    table = packaged()
    known = table.of_line((tier, *found))
    for mark in (*STRENGTHS, *WEAKNESSES):
        other = table.of_line((tier, *(found ^ {mark})))
        stronger = (mark in STRENGTHS) == (mark not in found)
        assert other >= known if stronger else other <= known
    for strong, weak in pairwise(TIER_MARKS):
        assert table.of_line((strong, *found)) >= table.of_line((weak, *found))
    assert 0.0 < known < table.most


@given(st.sampled_from(Kind), st.floats(0, 1), st.floats(0, 1))
def test_a_rule_that_states_more_is_believed_more(kind: Kind, one: float, other: float) -> None:
    table, (less, more) = packaged(), sorted((one, other))
    assert 0.0 <= table.of_finding(kind, less) <= table.of_finding(kind, more) <= 1.0


def test_marks_name_what_the_evidence_is() -> None:
    victims = make_signature("victims", role=Role.CASCADE, tier=Tier.FABRIC, specificity=5)
    hang = make_signature("hang", kind=Kind.HANG, tier=Tier.TIMEOUT)
    assert marks(make_episode(make_hit(EXCEPTION, 1, event_time=5))) == ("tier_exception",)
    assert marks(make_episode(make_hit(victims, 1))) == (
        "tier_fabric",
        "victims_words",
        "unspecific",
        "no_clock",
    )
    many = make_episode(*(make_hit(EXCEPTION, n, rank=n, event_time=5) for n in range(3)))
    assert marks(many) == ("tier_exception", "several_printers")
    two_kinds = make_episode(make_hit(EXCEPTION, 9), make_hit(hang, 1, rank=3))
    assert "disputed" in marks(two_kinds)
    assert "disputed" not in marks(make_episode(make_hit(EXCEPTION, 9), make_hit(victims, 1)))


@pytest.mark.parametrize(("last", "far"), [(400, False), (501, False), (502, True)])
def test_a_log_that_goes_on_for_long_is_a_weakness(last: int, far: bool) -> None:  # noqa: FBT001
    episode = make_episode(make_hit(EXCEPTION, 1))
    episode.ends = {LOG: LogEnd(LOG, "stdout", ((last, "more"),))}
    assert ("far_from_end" in marks(episode)) == far


def test_the_system_agrees_by_its_record_or_its_log() -> None:
    episode = make_episode(make_hit(EXCEPTION, 1))
    assert "system_agrees" not in marks(episode)
    episode.scheduler = SchedulerFacts("FAILED")
    assert "system_agrees" in marks(episode)
    kernel = make_signature("kernel", category="host")
    beside = make_episode(make_hit(EXCEPTION, 1), make_hit(kernel, 2, stream="kernel"))
    assert "system_agrees" in marks(beside)


def test_a_verdict_says_what_its_confidence_rests_on() -> None:
    verdict = diagnose(make_episode(make_hit(EXCEPTION, 1)))
    [reason] = [one for one in verdict.reasons if one.code is ReasonCode.WEIGHED]
    assert reason.detail == "tier exception, no clock"
    assert verdict.confidence == round(packaged().of_line(("tier_exception", "no_clock")), 3)
    nothing = diagnose(make_episode())
    assert any("states 0.85" in why for why in nothing.why)
