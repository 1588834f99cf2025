from __future__ import annotations

import hyperscan
import pytest
import re2

from relume.errors import RuleError
from relume.features.progress.parse import parse_progress
from relume.features.progress.user import USER_GROUPS, user_format


def test_named_groups_become_fields() -> None:
    fmt = user_format(
        r"TICK (?P<step>\d+) of (?P<total>\d+) \[(?P<epoch>[\d.]+)\]"
        r"( (?P<step_time_ms>[\d.]+) ms)?( (?P<rate>[\d.]+)/s)?( loss (?P<loss>\S+))?"
    )
    point = fmt.parse("worker: TICK 40 of 900 [0.5] 510 ms 12.5/s loss nan")
    assert point is not None
    assert (point.format, point.step, point.total, point.epoch) == ("user", 40, 900, 0.5)
    assert (point.step_time_seconds, point.rate) == (0.51, 12.5)
    assert point.loss != point.loss
    bare = fmt.parse("TICK 41 of 900 [0.5]")
    assert bare is not None
    assert bare.rate is None
    assert fmt.parse("TOCK 40 of 900 [0.5]") is None


def test_a_user_format_comes_first() -> None:
    fmt = user_format(r"iter (?P<step>\d+): loss")
    line = "iter 210: loss 3.9121, time 412.10ms"
    own, common = parse_progress(line, first=(fmt,)), parse_progress(line)
    assert own is not None
    assert common is not None
    assert (own.format, common.format) == ("user", "nanogpt")
    other = parse_progress("step 4 loss 2.0", first=(fmt,))
    assert other is not None
    assert other.format == "generic"


def test_the_locator_has_no_names_and_no_open_end() -> None:
    assert user_format(r"TICK (?P<step>\d+).*").locate == (r"TICK (?:\d+)",)
    assert user_format(r"TICK (?P<step>\d+)\.*").locate == (r"TICK (?:\d+)\.*",)
    assert user_format(r"TICK (?P<step>\d+)$").locate == (r"TICK (?:\d+)",)
    (open_ended,) = user_format(r"(?P<step>\d+) TICK .+").locate
    assert re2.compile(open_ended).search("7 TICK ")
    hyperscan.Database().compile(expressions=[open_ended.encode()])


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"step \d+", "named group `step`"),
        (r"loss (?P<loss>\S+)", "named groups loss"),
        (r"(?=x)(?P<step>\d+)", "linear-time"),
        (r"(?P<step>\d+) (\w)\1", "linear-time"),
        (r"(?P<step>\d+", "linear-time"),
        (r"(?P<step>\d*)", "empty line"),
        (r"(?P<step>\d+) (?P<los>\S+)", "did you mean 'loss'?"),
    ],
)
def test_what_is_wrong_with_a_pattern_is_said(pattern: str, words: str) -> None:
    with pytest.raises(RuleError) as error:
        user_format(pattern)
    assert words in str(error.value)
    assert repr(pattern) in str(error.value)


def test_a_pattern_that_python_would_choke_on_is_fast() -> None:
    fmt = user_format(r"(?P<step>(\d+)+)x")
    assert fmt.parse("1" * 5000) is None


def test_a_step_that_is_no_number_is_no_point() -> None:
    assert user_format(r"at (?P<step>\w+)").parse("at home") is None


def test_undecodable_bytes_are_no_obstacle() -> None:
    point = user_format(r"TICK (?P<step>\d+)").parse("\udcff TICK 7")
    assert point is not None
    assert point.step == 7


@pytest.mark.parametrize("name", USER_GROUPS)
def test_every_documented_group_is_taken(name: str) -> None:
    others = "" if name == "step" else rf" (?P<{name}>\d+)"
    point = user_format(rf"TICK (?P<step>\d+){others}").parse("TICK 7 40")
    assert point is not None
    assert point.step == 7
