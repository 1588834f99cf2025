from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from relume.errors import RuleError
from relume.events import LogLine
from relume.models.signatures import checks
from relume.models.signatures.loader import load_catalogue

Write = Callable[..., Path]
Make = Callable[..., str]
ENGINES = ("hyperscan", "re2")


def check(path: Path, prefer: str = "hyperscan") -> checks.Report:
    return checks.check_catalogue(load_catalogue([path], packaged=False), prefer=prefer)


@pytest.mark.parametrize("engine", ENGINES)
def test_right_samples_pass(write_rules: Write, make_rule: Make, engine: str) -> None:
    report = check(write_rules(make_rule()), engine)
    assert (report.rules, report.samples, report.engine) == (1, 4, engine)
    assert report.failures == ()
    assert report.overlaps == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_wrong_samples_fail(write_rules: Write, make_rule: Make, engine: str) -> None:
    path = write_rules(
        make_rule(
            verify="'off the'",
            captures=None,
            positive=["nothing here", "GPU has fallen off", "GPU has fallen off the bus é"],
            negative=["é GPU has fallen off the wagon", "fine"],
        )
    )
    failures = check(path, engine).failures
    assert [(f.expected_hit, f.located, f.sample) for f in failures] == [
        (True, False, "nothing here"),
        (True, True, "GPU has fallen off"),
        (False, True, "é GPU has fallen off the wagon"),
    ]
    assert [checks.describe_failure(f).split(": ")[2] for f in failures] == [
        "positive sample is not found by any pattern",
        "positive sample is located but verify turns it down",
        "negative sample is hit",
    ]


def test_a_sample_is_not_hit_by_its_neighbour(write_rules: Write, make_rule: Make) -> None:
    path = write_rules(
        make_rule(patterns=[r"GPU\s+gone"], captures=None, positive=["x GPU", "gone"])
    )
    assert len(check(path).failures) == 2


def test_overlaps_are_information(write_rules: Write, make_rule: Make) -> None:
    path = write_rules(
        make_rule(id="'narrow'", specificity="60"),
        make_rule(id="'broad'", specificity="20", patterns="['GPU has']", negative=["a", "b"]),
    )
    report = check(path)
    assert report.failures == ()
    assert {(o.rule, o.other) for o in report.overlaps} == {("broad", "narrow")}
    assert "broad (20) is also hit by narrow (60)" in checks.describe_overlap(report.overlaps[0])


def test_the_given_parser_finds_the_message(write_rules: Write, make_rule: Make) -> None:
    path = write_rules(
        make_rule(
            verify="'^GPU'",
            captures=None,
            positive=["7: GPU has fallen off", "8: GPU has fallen off"],
        )
    )
    catalogue = load_catalogue([path], packaged=False)
    assert len(checks.check_catalogue(catalogue).failures) == 2

    def parse(text: str) -> LogLine:
        return LogLine(text=text, line=0, offset=0, file="", message_start=3)

    assert checks.check_catalogue(catalogue, parse).failures == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_that_refuses_quotes_the_pattern(
    write_rules: Write, make_rule: Make, engine: str
) -> None:
    big = "(?:" + "a.{1,900}" * 30 + "){9}b"
    with pytest.raises(RuleError) as caught:
        check(write_rules(make_rule(patterns=["fine", big])), engine)
    assert big in str(caught.value)
