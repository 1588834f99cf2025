from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from relume.events import LogLine
from relume.models.signatures.hit import Hit
from relume.models.signatures.loader import load_catalogue
from relume.models.signatures.matcher import READ_CHARACTERS, Matcher

Write = Callable[..., Path]
Make = Callable[..., str]


def line(text: str, message_start: int = 0) -> LogLine:
    return LogLine(text=text, line=0, offset=0, file="log", message_start=message_start)


def match(path: Path, text: str, patterns: list[int], message_start: int = 0) -> list[Hit]:
    return Matcher(load_catalogue([path], packaged=False)).match(
        line(text, message_start), patterns
    )


def test_a_rule_hit_by_several_patterns_is_one_hit(write_rules: Write, make_rule: Make) -> None:
    path = write_rules(make_rule(patterns="['GPU', 'lost']"))
    assert [hit.signature.id for hit in match(path, "GPU lost", [0, 1])] == ["gpu_gone"]


def test_verify_sees_the_message_only(write_rules: Write, make_rule: Make) -> None:
    path = write_rules(make_rule(verify="'^Killed$'"))
    assert match(path, "[rank3]: Killed", [0]) == []
    assert len(match(path, "[rank3]: Killed", [0], message_start=9)) == 1


def test_captures_see_the_whole_text(write_rules: Write, make_rule: Make) -> None:
    path = write_rules(
        make_rule(
            captures=[r"^(?P<node>\w+):", r"rank (?P<rank>\d+)(?: pid (?P<pid>\d+))?"],
            positive=["gpu1: rank 3: GPU has fallen off", "GPU has fallen off"],
        )
    )
    [hit] = match(path, "gpu7: rank 12 is gone", [0], message_start=6)
    assert hit.captures == {"node": "gpu7", "rank": "12"}


def test_the_first_expression_that_matched_gives_the_group(
    write_rules: Write, make_rule: Make
) -> None:
    path = write_rules(
        make_rule(
            captures=["on (?P<node>b.)", "on (?P<node>a.)", "(?P<node>c.)"],
            positive=["GPU has fallen off on b1", "c1: GPU has fallen off on a1"],
        )
    )
    [hit] = match(path, "c1 on a1", [0])
    assert hit.captures == {"node": "a1"}


def test_the_most_specific_comes_first(write_rules: Write, make_rule: Make) -> None:
    path = write_rules(
        make_rule(id="'broad'", specificity="10"),
        make_rule(id="'narrow'", specificity="80"),
        make_rule(id="'also_broad'", specificity="10"),
    )
    hits = match(path, "GPU", [0, 1, 2])
    assert [hit.signature.id for hit in hits] == ["narrow", "also_broad", "broad"]


def test_no_pattern_no_hit(write_rules: Write, make_rule: Make) -> None:
    assert match(write_rules(make_rule()), "GPU", []) == []


def test_the_far_end_of_a_line_is_not_read(write_rules: Write, make_rule: Make) -> None:
    path = write_rules(make_rule(verify="'end'", captures=["(?P<node>n1)"], positive=["n1", "n1 "]))
    far = " " * READ_CHARACTERS
    assert match(path, far + "end", [0]) == []
    [hit] = match(path, "end" + far + "on n1", [0])
    assert hit.captures == {}
