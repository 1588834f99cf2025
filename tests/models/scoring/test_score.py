from __future__ import annotations

import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alarming import HARDWARE, WORKLOAD, make_alarm, make_attempt, make_incident
from relume.dataset import Origin
from relume.errors import InputError
from relume.models.scoring.attempt import ScoredAttempt
from relume.models.scoring.detection import Detection, Macro
from relume.models.scoring.document import Provenance, to_document
from relume.models.scoring.intervals import Proportion
from relume.models.scoring.score import ScoreReport, score
from relume.verdict import Domain, Kind

HANG, STRAGGLER = Kind.HANG, Kind.STRAGGLER
DAY = 86_400


def scored(*attempts: ScoredAttempt) -> ScoreReport:
    return score(attempts)


def test_precision_recall_and_f1_by_kind_and_domain() -> None:
    crash = make_incident(1000, 2000, domain=HARDWARE)
    report = scored(
        make_attempt((crash,), make_alarm(1100, domain=HARDWARE)),
        make_attempt((crash,)),
        make_attempt((), make_alarm(50, domain=WORKLOAD), make_alarm(9000, HANG)),
        make_attempt((make_incident(1000, 2000, HANG),), make_alarm(1500, HANG)),
    )
    table = report.detection
    assert table.all == Detection(true_positives=2, false_positives=2, misses=1)
    assert table.by_kind == {
        Kind.CRASH: Detection(true_positives=1, false_positives=1, misses=1),
        HANG: Detection(true_positives=1, false_positives=1, misses=0),
    }
    assert table.by_domain == {
        HARDWARE: Detection(true_positives=1, misses=1),
        WORKLOAD: Detection(false_positives=1),
        Domain.UNKNOWN: Detection(true_positives=1, false_positives=1),
    }
    assert table.all.precision == Proportion(2, 4)
    assert table.all.recall == Proportion(2, 3)
    assert table.all.f1 == pytest.approx(4 / 7)
    # Of the crash P = R = 1/2, of the hang P = 1/2 and R = 1.
    assert table.macro() == Macro(precision=0.5, recall=0.75, f1=(0.5 + 2 / 3) / 2)


def test_f1_is_the_formula_of_metrics_section_3() -> None:
    counts = Detection(true_positives=6, false_positives=2, misses=3)
    precision, recall = 6 / 8, 6 / 9
    assert counts.f1 == pytest.approx(2 * precision * recall / (precision + recall))


def test_nothing_at_all_has_no_value() -> None:
    report = scored()
    assert report.detection.all.f1 is None
    assert report.detection.macro() == Macro(None, None, None)
    assert report.false_alarms.per_job_day.value is None
    assert report.false_alarms.incidents_per_job_day.value is None
    assert report.origin is None


def test_everything_missed_is_recall_zero_and_no_precision() -> None:
    report = scored(make_attempt((make_incident(1000, 2000),)))
    assert report.detection.all.recall == Proportion(0, 1)
    assert report.detection.all.precision.value is None
    assert report.detection.all.f1 == 0
    crash = report.latency.by_kind[Kind.CRASH].spreads()["time_to_detect"]
    assert (crash.n, crash.missed, crash.p50, crash.median_with_missed) == (0, 1, None, None)


def test_false_alarms_are_counted_by_quiet_job_days_and_node_days() -> None:
    report = scored(
        make_attempt((), make_alarm(50), make_alarm(5000, HANG), end=2 * DAY, nodes=8),
        make_attempt((make_incident(DAY, 2 * DAY),), end=2 * DAY, nodes=2),
    )
    false = report.false_alarms
    assert (false.jobs.days, false.jobs.quiet_days) == (4.0, 3.0)
    assert (false.nodes.days, false.nodes.quiet_days) == (20.0, 18.0)
    assert false.per_job_day.value == pytest.approx(2 / 3)
    assert false.per_1000_node_days.value == pytest.approx(1000 * 2 / 18)
    # Garwood's limits of 2 events.
    assert false.per_job_day.interval == pytest.approx((0.2422 / 3, 7.2247 / 3), rel=1e-3)
    assert false.incidents_per_job_day.value == 0.25


def test_ignore_intervals_are_taken_from_the_exposure_and_reported() -> None:
    report = scored(make_attempt((), make_alarm(50), end=DAY, ignore=[(0, DAY / 4)]))
    assert report.detection.all == Detection()
    assert report.counts.ignored == 1
    jobs = report.false_alarms.jobs
    assert (jobs.quiet_days, jobs.ignored_days) == (0.75, 0.25)


def test_a_false_alarm_without_exposure_makes_no_rate_but_costs_precision() -> None:
    report = scored(
        make_attempt((), make_alarm(50), start=None, end=None),
        make_attempt((make_incident(),), make_alarm(7, HANG)),
        make_attempt((), make_alarm(50), end=DAY, nodes=None),
    )
    false = report.false_alarms
    assert (false.elsewhere, false.with_exposure, false.with_node_exposure) == (2, 1, 0)
    assert false.per_job_day.value == 1.0
    assert false.per_1000_node_days.value is None
    assert report.detection.all.precision == Proportion(0, 3)
    assert (report.counts.without_exposure, report.counts.nodes_unknown) == (2, 1)
    assert report.counts.without_clock == 1


def test_an_unlabelled_attempt_is_counted_and_not_scored() -> None:
    report = scored(make_attempt(None, make_alarm(1), make_alarm(2), make_alarm(3, HANG)))
    assert (report.counts.attempts, report.counts.labelled) == (1, 0)
    assert report.counts.unscored_alarms == 2
    assert report.detection.all == Detection()
    assert report.false_alarms.jobs.ran == 0


def test_transient_incidents_are_in_no_share() -> None:
    short = make_incident(1000, 1010, HANG)
    report = scored(make_attempt((short,), make_alarm(1005, HANG)), make_attempt((short,)))
    assert report.detection.all == Detection()
    assert (report.counts.transient, report.counts.transient_missed) == (2, 1)
    assert report.latency.by_kind == {}


def test_repeats_and_what_was_said_again_are_counted_once_each() -> None:
    alarms = [make_alarm(at) for at in (1000, 1100, 1200, 1900)]
    report = scored(make_attempt((make_incident(1000, 2000),), *alarms))
    assert (report.counts.alarms, report.counts.deduplicated, report.counts.repeats) == (2, 2, 1)


def test_latencies_are_from_the_onset_from_what_is_visible_and_to_the_advice() -> None:
    incident = make_incident(1000, 9000, HANG, visible=1030)
    missed = make_incident(1000, 1500, HANG, visible=1100)
    advice = make_alarm(1400, HANG, advice_time=1_410_000_000)
    report = scored(
        make_attempt((incident,), make_alarm(1300, HANG), advice),
        make_attempt((incident,), make_alarm(1100, HANG)),
        make_attempt((missed,)),
        make_attempt((make_incident(kind=HANG),), make_alarm(5, HANG)),
    )
    hang = report.latency.by_kind[HANG]
    assert (hang.detect, hang.detector) == ([300.0, 100.0], [270.0, 70.0])
    assert (hang.censored, hang.detector_censored) == ([500.0], [400.0])
    assert (hang.floor, hang.advise) == ([30.0, 30.0, 100.0], [410.0])
    assert (hang.missed, hang.without_clock) == (1, 1)
    detect = hang.spreads()["time_to_detect"]
    # 100, 300 and more than 500: the survival curve is at 1/3 from 300 on.
    assert (detect.n, detect.missed, detect.p50, detect.median_with_missed) == (2, 1, 100.0, 300.0)


def test_a_miss_without_end_lasts_to_the_end_of_its_attempt_or_unknown() -> None:
    report = scored(
        make_attempt((make_incident(4000),)), make_attempt((make_incident(4000),), end=None)
    )
    crash = report.latency.by_kind[Kind.CRASH]
    assert (crash.missed, crash.censored) == (2, [6000.0])


def incident(**label: Any) -> ScoredAttempt:
    """An attempt with one crash of that label, found by the alarm in `said`."""
    said = label.pop("said", None)
    alarms = () if said is None else (make_alarm(1100, **said),)
    return make_attempt((make_incident(1000, 2000, **label),), *alarms)


def test_cause_and_domain_are_asked_where_the_label_knows_them() -> None:
    oom, lost = {"cause": "oom", "domain": WORKLOAD}, {"cause": "lost", "domain": HARDWARE}
    attribution = scored(
        incident(**oom, said={**oom, "confidence": 0.9}),
        incident(**oom, said={**lost, "confidence": 0.4}),
        incident(**lost, said={**lost, "confidence": 0.8}),
        incident(**lost, said={}),
        incident(**lost),  # a miss isn't asked
        incident(said=oom),  # nor is a label that doesn't know
        incident(domain=Domain.UNKNOWN, said=oom),
    ).attribution
    cause = attribution.cause
    assert cause.answers.accuracy == Proportion(2, 4)
    assert cause.answers.coverage == Proportion(3, 4)
    assert cause.answers.selective_accuracy == Proportion(2, 3)
    # oom: P 1, R 1/2; lost: P 1/2, R 1/2.
    assert cause.macro_f1() == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert attribution.domain.answers.accuracy == Proportion(2, 4)
    assert [point.confidence for point in cause.answers.curve()] == [0.9, 0.8, 0.4]


def test_a_domain_called_unknown_is_an_abstention() -> None:
    said = {"domain": Domain.UNKNOWN}
    domain = scored(incident(domain=HARDWARE, said=said)).attribution.domain
    assert domain.answers.coverage == Proportion(0, 1)


def test_a_cause_that_nobody_labelled_counts_as_a_class() -> None:
    cause = scored(incident(cause="a", said={"cause": "b"})).attribution.cause
    assert cause.macro_f1() == 0
    assert scored().attribution.cause.macro_f1() is None


def test_what_was_said_before_it_was_settled_is_no_answer() -> None:
    said = {"cause": "oom", "settled": False}
    cause = scored(incident(cause="oom", said=said)).attribution.cause
    assert (cause.answers.abstained, cause.answers.right) == (1, 0)


def test_suspects_are_right_at_the_first_within_five_and_as_a_set() -> None:
    six = ("a", "b", "c", "d", "e", "f")
    attribution = scored(
        incident(culprit_nodes=("a",), said={"nodes": ("a",)}),
        incident(culprit_nodes=("e",), said={"nodes": six}),
        incident(culprit_nodes=("f",), said={"nodes": six}),
        incident(culprit_nodes=("b", "a"), said={"nodes": ("a", "b")}),
        incident(culprit_nodes=("a",), said={}),
        incident(culprit_ranks=(3,), said={"ranks": (0, 3)}),
    ).attribution
    nodes, ranks = attribution.nodes, attribution.ranks
    assert nodes.top_1 == Proportion(2, 5)
    assert nodes.top_5 == Proportion(3, 5)
    assert nodes.exact_set == Proportion(2, 5)
    assert nodes.first.coverage == Proportion(4, 5)
    assert (ranks.top_1, ranks.top_5) == (Proportion(0, 1), Proportion(1, 1))


def test_innocent_nodes_in_exclusion_lists_are_counted_where_the_culprits_are_known() -> None:
    both = {"excluded_nodes": ("a", "b")}
    exclusions = scored(
        incident(culprit_nodes=("a",), said=both),
        incident(domain=WORKLOAD, said=both),
        incident(domain=WORKLOAD),
        incident(domain=HARDWARE, said=both),
        make_attempt((), make_alarm(50, excluded_nodes=("a", "b", "c"))),
    ).attribution.exclusions
    assert (exclusions.lists, exclusions.innocent, exclusions.unjudged) == (3, 1 + 2 + 3, 1)
    assert exclusions.over_exclusion == 2.0
    assert exclusions.wrong == Proportion(1, 2)


def test_an_exclusion_list_that_is_issued_again_counts_once() -> None:
    alarms = [make_alarm(at, excluded_nodes=("b",)) for at in (1000, 1100, 1900)]
    report = scored(make_attempt((make_incident(1000, 2000, culprit_nodes=("a",)),), *alarms))
    assert report.attribution.exclusions.lists == 1


def test_what_the_scheduler_told_is_counted_by_itself_and_its_exclusions_as_any() -> None:
    told: dict[str, Any] = {"told_by_scheduler": True, "excluded_nodes": ("n1", "n2")}
    failed = make_incident(1000, 1500, domain=WORKLOAD)
    report = score(
        [
            make_attempt((failed,), make_alarm(1001, **told)),
            make_attempt((), make_alarm(5, **told)),
            make_attempt((failed,), make_alarm(1001, rule="a"), make_alarm(1002, **told)),
        ]
    )
    detection = report.detection.all
    assert (detection.true_positives, detection.false_positives, detection.misses) == (1, 0, 1)
    assert (report.counts.told_by_scheduler, report.counts.alarms) == (3, 1)
    assert (report.counts.repeats, report.counts.deduplicated) == (0, 0)
    assert report.false_alarms.per_job_day.count == 0
    assert len(report.sure) == 1
    exclusions = report.attribution.exclusions
    assert (exclusions.lists, exclusions.innocent) == (3, 6)
    assert exclusions.wrong == Proportion(2, 2)
    unruled = report.scoreboard.rules["(none)"]
    assert (unruled.alarms, unruled.exclusions, unruled.wrong_exclusions) == (0, 3, 3)
    assert to_document(report)["counts"]["told_by_scheduler"] == 3


def test_each_rule_has_its_own_track_record() -> None:
    report = scored(
        make_attempt(
            (make_incident(1000, 2000, culprit_nodes=("a",)), make_incident(5000, 5010, HANG)),
            make_alarm(1100, rule="xid", excluded_nodes=("a",)),
            make_alarm(1500, rule="late"),
            make_alarm(5005, HANG, rule="gap"),
        ),
        make_attempt((), make_alarm(50, rule="xid", excluded_nodes=("b",)), make_alarm(900)),
        make_attempt((), make_alarm(50, rule="gap"), ignore=[(0, 100)]),
    )
    rules = report.scoreboard.rules
    assert sorted(rules) == ["(none)", "gap", "late", "xid"]
    xid, gap = rules["xid"], rules["gap"]
    assert (xid.alarms, xid.true_positives, xid.false_positives) == (2, 1, 1)
    assert (xid.precision, xid.median_latency) == (Proportion(1, 2), 100.0)
    assert (xid.exclusions, xid.wrong_exclusions) == (2, 1)
    assert (gap.alarms, gap.transient, gap.ignored) == (2, 1, 1)
    assert (rules["late"].repeats, rules["(none)"].false_positives) == (1, 1)
    assert rules["late"].median_latency is None


def test_how_sure_alarms_are_is_compared_with_how_many_are_true() -> None:
    report = scored(
        incident(said={"confidence": 0.9}), make_attempt((), make_alarm(5, confidence=0.7))
    )
    assert report.sure == [(0.9, True), (0.7, False)]
    calibration = to_document(report)["alarm_calibration"]
    assert calibration["expected_calibration_error"] == pytest.approx((0.1 + 0.7) / 2)


def test_origins_are_never_pooled() -> None:
    with pytest.raises(InputError, match="origin simulated beside recorded; expected one origin"):
        scored(make_attempt(), make_attempt(origin=Origin.SIMULATED))


ATTEMPTS = st.lists(
    st.builds(
        lambda incidents, alarms, end: make_attempt(incidents, *alarms, end=end),
        st.none()
        | st.lists(
            st.builds(
                make_incident,
                st.integers(0, 900),
                st.just(1000),
                st.sampled_from([Kind.CRASH, HANG]),
                cause=st.sampled_from([None, "a", "b"]),
                culprit_nodes=st.sampled_from([(), ("n1",), ("n1", "n2")]),
            ),
            max_size=2,
        ).map(tuple),
        st.lists(
            st.builds(
                make_alarm,
                st.none() | st.integers(0, 2000),
                st.sampled_from([Kind.CRASH, HANG]),
                rule=st.sampled_from(["r", "s", None]),
                cause=st.sampled_from([None, "a", "b"]),
                nodes=st.sampled_from([(), ("n1",), ("n2", "n1")]),
                excluded_nodes=st.sampled_from([(), ("n1",), ("n3",)]),
                confidence=st.floats(0, 1),
                settled=st.booleans(),
            ),
            max_size=4,
        ).map(tuple),
        st.sampled_from([None, 1000, 5000]),
    ),
    max_size=6,
)


@given(ATTEMPTS, st.randoms())
def test_order_of_attempts_and_alarms_changes_nothing(
    attempts: list[ScoredAttempt], rng: random.Random
) -> None:
    document = to_document(score(attempts))
    shuffled = attempts.copy()
    rng.shuffle(shuffled)
    assert to_document(score(shuffled)) == document
    counts = document["counts"]
    micro = document["detection"]["micro"]
    judged = micro["true_positives"] + micro["false_positives"] + counts["repeats"]
    found_transient = counts["transient"] - counts["transient_missed"]
    assert judged + counts["ignored"] + found_transient == counts["alarms"]


@given(ATTEMPTS)
def test_rules_share_the_alarms_among_them(attempts: list[ScoredAttempt]) -> None:
    report = score(attempts)
    rules = report.scoreboard.rules.values()
    assert sum(rule.alarms for rule in rules) == report.counts.alarms
    assert sum(rule.true_positives for rule in rules) == report.detection.all.true_positives
    assert sum(rule.false_positives for rule in rules) == report.detection.all.false_positives


def test_the_document_is_json_and_says_where_its_numbers_come_from() -> None:
    provenance = Provenance(
        corpus="march",
        corpus_hash="0123456789abcdef",
        version="1.2.3",
        wall_seconds=2.5,
        cores=1,
    )
    report = scored(
        incident(cause="oom", said={"cause": "oom", "confidence": 0.9, "rule": "oom"}),
        make_attempt((), end=DAY),
    )
    document = to_document(report, provenance)
    assert json.loads(msgspec.json.encode(document)) == document | {
        "provenance": document["provenance"] | {"seeds": []}
    }
    assert document["schema_version"] == 1
    assert document["origin"] == "recorded"
    assert document["provenance"]["corpus"] == "march"
    assert document["provenance"]["cores"] == 1
    assert document["counts"]["incidents_by_kind"] == {"crash": 1}
    assert document["detection"]["micro"]["precision"] == {
        "value": 1.0,
        "low": pytest.approx(0.2065, abs=1e-4),
        "high": 1.0,
        "right": 1,
        "total": 1,
    }
    assert document["latency_seconds"]["crash"]["time_to_detect"]["p50"] == 100.0
    assert document["false_alarms"]["per_job_day"]["upper"] == pytest.approx(
        2.9957 / document["false_alarms"]["quiet_job_days"], rel=1e-4
    )
    assert document["rules"]["oom"]["precision"]["right"] == 1
