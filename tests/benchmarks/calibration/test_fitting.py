"""The fit keeps the order of evidence, learns from each sort of attempt apart, and lets none leak."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

from making import make_episode, make_hit, make_signature
from relume.benchmarks.calibration.__main__ import to_toml
from relume.benchmarks.calibration.fitting import Observation, cross_fitted, fit
from relume.benchmarks.calibration.observing import observation, observe_cases, observe_episodes
from relume.benchmarks.corpora.failure_cases import Case
from relume.benchmarks.episodes.generate import find
from relume.models.diagnosis.confidence import STRENGTHS, TIER_MARKS, WEAKNESSES, packaged
from relume.models.diagnosis.diagnose import diagnose
from relume.models.diagnosis.episode import SchedulerFacts
from relume.models.diagnosis.settings import DiagnosisSettings
from relume.verdict import Kind

SURE = Observation("a", right=True, kind=Kind.CRASH, marks=("tier_exception",), stated=0.0)
LATE = replace(SURE, group="b", marks=("tier_timeout", "disputed"))
CALM = replace(SURE, kind=Kind.BENIGN, marks=None, stated=0.9)


def wrong(one: Observation) -> Observation:
    return replace(one, right=False)


def test_what_was_wrong_more_often_is_believed_less() -> None:
    table = fit([SURE] * 90 + [LATE] * 60 + [wrong(LATE)] * 40, [CALM] * 100)
    assert table.of_line(LATE.marks or ()) == pytest.approx(0.6, abs=0.05)
    assert table.of_line(SURE.marks or ()) > 0.9


def test_no_data_turns_the_order_of_evidence_round() -> None:
    """Here weak evidence was always right and strong evidence always wrong."""
    strong = replace(SURE, marks=("tier_decisive", *STRENGTHS))
    weak = replace(SURE, marks=("tier_teardown", *WEAKNESSES))
    marks = fit([wrong(strong)] * 50 + [weak] * 50, []).marks
    tiers = [marks[name] for name in TIER_MARKS]
    assert tiers == sorted(tiers, reverse=True)
    assert min(marks[name] for name in STRENGTHS) >= 0.0 >= max(marks[name] for name in WEAKNESSES)


def test_recorded_and_simulated_attempts_are_not_pooled() -> None:
    simulated, recorded = [SURE] * 20 + [wrong(LATE)], [CALM] * 30 + [wrong(SURE)]
    table = fit(simulated, recorded)
    no_lines = fit(simulated, [CALM] * 30)
    assert (table.base, table.marks) == (no_lines.base, no_lines.marks)
    assert table.seen == fit([wrong(SURE)] * 9, recorded).seen
    assert table.most < no_lines.most < 1.0


def test_findings_without_a_line_gain_by_what_they_turned_out_to_be() -> None:
    table = fit([SURE], [CALM] * 300)
    assert 0.95 < table.of_finding(Kind.BENIGN, 0.9) <= table.most
    assert table.of_finding(Kind.BENIGN, 0.5) == 0.5
    assert table.of_finding(Kind.HANG, 0.8) == 0.8
    assert fit([SURE], [wrong(CALM)] * 30).of_finding(Kind.BENIGN, 0.9) < 0.3


def test_a_case_is_judged_by_a_table_that_had_not_seen_its_group() -> None:
    """What only one group shows can't be known of it."""
    odd = [replace(wrong(CALM), group="odd", kind=Kind.STRAGGLER)] * 30
    asked = [replace(CALM, group=str(n)) for n in range(30)] + odd
    by_group = cross_fitted(asked, [SURE], recorded=True)
    assert len(by_group) == len(asked)
    assert min(sure for sure, right in by_group if not right) > 0.8
    assert fit([SURE], asked).of_finding(Kind.STRAGGLER, 0.9) < 0.3


def test_episodes_and_cases_are_observed_with_their_marks() -> None:
    observed = observe_episodes([find("node_lost-known-00")])
    [one] = observed.observations
    assert (one.group, one.kind, one.factor) == ("node_lost", Kind.CRASH, 1.0)
    assert one.marks is not None
    assert one.marks[0] in TIER_MARKS
    assert len(observed.hash) == 16
    assert one.confidence(packaged()) > 0.5


def test_a_case_without_a_failure_line_keeps_what_its_rule_states() -> None:
    text = tuple(f"iter {n}: loss 3.1, time 400.00ms" for n in range(1, 30))
    case = Case(
        id="steps",
        failure_class="healthy",
        kind="benign",
        fault_domain="unknown",
        text=text,
        root_line=None,
        culprit=None,
        accept_kind=frozenset({"benign"}),
        accept_line=(),
        accept_domain=frozenset(),
        culprit_optional=True,
        culprit_also=frozenset(),
    )
    [one] = observe_cases([case])
    assert (one.right, one.kind, one.marks, one.stated) == (True, Kind.BENIGN, None, 0.95)


def test_doubts_are_kept_as_what_they_left() -> None:
    episode = make_episode(make_hit(make_signature("exception"), 1))
    episode.scheduler = SchedulerFacts("COMPLETED")
    verdict = diagnose(episode, DiagnosisSettings(confidence_threshold=0.0))
    one = observation("x", verdict, right=True)
    assert one.factor == 0.5
    assert one.confidence(packaged()) == pytest.approx(verdict.confidence, abs=0.001)


def test_the_table_is_written_as_toml() -> None:
    content = {"base": 1.5, "marks": {"a": -0.5}, "seen": {"benign": (0.9, 1.0)}}
    read = tomllib.loads(to_toml(content))
    assert read == {"base": 1.5, "marks": {"a": -0.5}, "seen": {"benign": [0.9, 1.0]}}
