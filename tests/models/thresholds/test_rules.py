from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metric_rules import GPU_HOT
from relume.errors import InputError
from relume.events import Sample
from relume.models.signatures.loader import read_rules
from relume.models.thresholds.checks import check_metric_rules, describe_metric_failure
from relume.models.thresholds.judge import MAX_GAP_SECONDS, MetricFinding, ThresholdJudge
from relume.models.thresholds.loader import read_metric_rules
from relume.models.thresholds.rule import Condition, MetricRule, Of
from relume.verdict import Domain

SECOND = 1_000_000
GOOD = GPU_HOT.replace("[90, 99]", "[30, 99], [70, 99]")


def rule(
    condition: str, of: Of = Of.VALUE, hold: float = 0.0, metric: str = "x_count"
) -> MetricRule:
    return MetricRule(
        "r", "site", metric, Condition.parse(condition), Domain.HARDWARE, "x", (), (), of=of,
        hold_seconds=hold,
    )  # fmt: skip


def run(of: MetricRule, *points: tuple[float, float]) -> list[MetricFinding]:
    judge = ThresholdJudge([of])
    return [finding for at, value in points for finding in judge.take(sample(of, at, value))]


def sample(of: MetricRule, at: float, value: float) -> Sample:
    return Sample(
        source="x", metric=of.metric, value=value, node="n1", event_time=round(at * SECOND)
    )


def told(found: list[MetricFinding]) -> list[tuple[int, int, bool]]:
    return [(one.since // SECOND, one.at // SECOND, one.is_over) for one in found]


@pytest.mark.parametrize(
    ("text", "value", "holds"),
    [
        ("> 90", 90.0, False), ("> 90", 90.5, True), (">= 90", 90.0, True), ("<-1e3", -1001, True),
        ("<= 0.5", 0.5, True), ("== 4", 4.0, True), ("!= 4", 4.0, False), ("!= 4", math.nan, False),
        ("has 0xC8", 8.0, True), ("has 0xC8", 4.0, False), ("has 200", 64.0, True),
        ("has 1", -1.0, False), ("has 1", 1e300, False), ("> 1", math.inf, False),
    ],
)  # fmt: skip
def test_a_condition_compares(text: str, value: float, holds: bool) -> None:  # noqa: FBT001 - a column
    assert Condition.parse(text).holds(value) is holds


@pytest.mark.parametrize(
    "text",
    ["90", ">", "> x", "=> 1", "> 1 2", "has 1.5", "has -1", "has 0", "> 1e999", "> nan"],
)
def test_a_condition_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        Condition.parse(text)


def test_it_holds_when_it_has_held_long_enough_and_is_told_once() -> None:
    found = run(rule("> 90", hold=60), (0, 95), (30, 95), (59, 95), (60, 95), (90, 95), (120, 80))
    assert told(found) == [(0, 60, False), (0, 120, True)]


def test_a_break_begins_it_anew() -> None:
    assert run(rule("> 90", hold=60), (0, 95), (40, 80), (50, 95), (100, 95)) == []
    assert told(run(rule("> 90", hold=60), (0, 95), (40, math.nan), (50, 95), (110, 95))) == [
        (50, 110, False)
    ]


def test_nobody_knows_what_was_in_a_gap() -> None:
    gap = MAX_GAP_SECONDS + 1
    assert run(rule("> 90", hold=60), (0, 95), (gap, 95)) == []
    assert told(run(rule("> 90", hold=60), (0, 95), (gap, 95), (gap + 60, 95))) == [
        (301, 361, False)
    ]


def test_what_was_told_stays_so_until_a_value_says_otherwise() -> None:
    found = run(rule("> 90"), (0, 95), (5, math.nan), (10_000, 95), (10_001, 1))
    assert told(found) == [(0, 0, False), (10_000, 10_000, False), (10_000, 10_001, True)]


def test_late_values_change_nothing() -> None:
    assert told(run(rule("> 90", hold=60), (0, 95), (30, 95), (10, 80), (30, 80), (60, 95))) == [
        (0, 60, False)
    ]


def test_a_rate_is_of_a_counter_and_knows_restarts() -> None:
    of = rule("> 1", Of.RATE, metric="nic_symbol_errors_count_total")
    found = run(of, (0, 100), (10, 105), (20, 130), (30, 2), (40, 2))
    assert [(one.at // SECOND, one.value, one.is_over) for one in found] == [
        (20, 2.5, False),
        (30, 0.2, True),
    ]


def test_a_change_is_told_when_it_comes_and_only_then() -> None:
    of = rule("== 79", Of.CHANGE, metric="gpu_xid_code")
    found = run(of, (0, 79), (10, 79), (20, 0), (30, 79), (40, 79), (50, 31), (60, 79))
    assert told(found) == [(20, 30, False), (50, 60, False)]


def test_series_are_judged_apart() -> None:
    of = rule("> 90", hold=60)
    judge = ThresholdJudge([of])
    found: list[MetricFinding] = []
    for at in (0, 30, 60):
        for node in ("n1", "n2"):
            value = 95.0 if node == "n1" or at != 30 else 1.0
            one = Sample(
                source="x", metric=of.metric, value=value, node=node, event_time=at * SECOND
            )
            found += judge.take(one)
    assert [finding.series.node for finding in found] == ["n1"]


@given(st.lists(st.tuples(st.integers(0, 400), st.sampled_from([1.0, 95.0, math.nan])), max_size=30),
       st.integers(0, 30), st.sampled_from(list(Of)))  # fmt: skip
def test_what_was_saved_goes_on(points: list[tuple[int, float]], cut: int, of: Of) -> None:
    which = rule("> 90", of, 0 if of is Of.CHANGE else 30, "x_count_total")
    whole, first, second = (ThresholdJudge([which]) for _ in range(3))
    expected = [one for at, value in points for one in whole.take(sample(which, at, value))]
    found = [one for at, value in points[:cut] for one in first.take(sample(which, at, value))]
    second.restore(first.save())
    found += [one for at, value in points[cut:] for one in second.take(sample(which, at, value))]
    assert found == expected
    with pytest.raises(InputError, match="state of metric rules"):
        second.restore(b"[]")


def read(tmp_path: Path, text: str) -> tuple[list[MetricRule], list[str]]:
    file = tmp_path / "site.toml"
    file.write_text(text)
    rules, errors = read_metric_rules([file])
    return rules, [str(error).removeprefix(f"{file}: ") for error in errors]


def test_a_good_rule_is_read_and_its_samples_pass(tmp_path: Path) -> None:
    rules, errors = read(tmp_path, GOOD)
    assert errors == []
    [one] = rules
    assert (one.id, one.category, one.hold_seconds, str(one.condition)) == (
        *("gpu_hot", "site", 60.0, "> 90"),
    )
    report = check_metric_rules(rules)
    assert (report.rules, report.samples, report.failures) == (1, 4, ())
    signatures, problems = read_rules([tmp_path / "site.toml"], packaged=False)
    assert (signatures, problems) == ([], [])


def test_a_sample_that_fails_is_named(tmp_path: Path) -> None:
    rules, _ = read(tmp_path, GOOD.replace("[60, 91]", "[60, 89]").replace("600, 90", "600, 95"))
    [failure] = check_metric_rules(rules).failures
    assert describe_metric_failure(failure).endswith(
        "metric rule gpu_hot never holds for the positive series 1"
    )
    rules, _ = read(tmp_path, GOOD.replace("[30, 95]]", "[60, 95]]"))
    [failure] = check_metric_rules(rules).failures
    assert describe_metric_failure(failure).endswith("holds for the negative series 1")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"> 90"', '">> 90"', "field condition; found \">> 90\"|'>> 90'"),
        ("hold_seconds", "hold_secs", "did you mean 'hold_seconds'"),
        ("hold_seconds = 60", "hold_seconds = -1", "field hold_seconds; found -1"),
        ("hold_seconds = 60", "hold_seconds = true", "field hold_seconds; found true"),
        ('"gpu_hot"', '"GPU hot"', "field id"),
        ('"gpu_temperature_celsius"', '"temperature"', "field metric"),
        ('"facility"', '"room"', "field domain"),
        ('summary = "A GPU is hot."', "", "field summary; found nothing"),
        ("positive = [", "positive = [3, ", "field positive; found 3"),
        ("[[0, 95], [60, 91]], ", "", "field positive; found 1 series; expected at least two"),
        ("[60, 91]", "[60, 91, 2]", "a list of .seconds, value."),
        ("[60, 91]", "[0, 91]", "in order of time"),
        ("hold_seconds = 60", 'of = "rate"', "whose name ends with _total"),
        ("hold_seconds = 60", 'of = "change"\nhold_seconds = 1', "a change has no duration"),
        ('domain = "facility"', 'domain = "workload"\nexclude = "yes"', "field exclude"),
    ],
)
def test_what_is_wrong_with_a_rule_is_told_by_its_field(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    assert old in GOOD
    rules, errors = read(tmp_path, GOOD.replace(old, new, 1))
    assert rules == []
    assert re.search(words, errors[0]), errors


def test_an_id_is_used_once(tmp_path: Path) -> None:
    rules, errors = read(tmp_path, GOOD + GOOD.replace('category = "site"', ""))
    assert len(rules) == 1
    assert "field id; found the same id in" in errors[0]


@pytest.mark.parametrize("text", ['category = "x"\nmetric = 3', 'category = "x"\nmetric = [1]'])
def test_tables_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    rules, errors = read(tmp_path, text)
    _, problems = read_rules([tmp_path / "site.toml"], packaged=False)
    assert rules == []
    assert errors or problems
