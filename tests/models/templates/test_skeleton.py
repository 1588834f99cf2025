"""A rule to begin with: its pattern, its samples, and that every one of them can be loaded."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.models.signatures.checks import check_catalogue
from relume.models.signatures.fields import read_signature
from relume.models.signatures.ruleset import Catalogue
from relume.models.signatures.site import as_site_rule
from relume.models.templates.skeleton import CATEGORY, HARMLESS, Skeleton, skeleton

SEEN = "Seen at the end of 3 failed attempts of 2 jobs."


def made(*lines: str, others: tuple[str, ...] = (), taken: tuple[str, ...] = ()) -> Skeleton:
    found = skeleton(lines, others, seen=SEEN, taken=taken)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("[rank3]: vault: seal 4 is open", r"vault: seal \S{1,200} is open"),
        ("vault is   open", r"vault is\s{1,40}open"),
        ("cannot (re)open [x] $y a.b*", r"cannot \(re\)open \[x\] \$y a\.b\*"),
        ("a 1 b 2 c 3 seals are broken 4", r"b \S{1,200} c \S{1,200} seals are broken"),
        ("seal \x07 is open today", r"seal \S{1,200} is open today"),
        ("vault größe is öpen", "vault größe is öpen"),
    ],
)
def test_the_pattern_is_the_words_between_the_values(line: str, pattern: str) -> None:
    assert made(line).pattern == pattern


@pytest.mark.parametrize("line", ["", "42", "a b 17", "/some/path/to.py:8", "====="])
def test_a_line_without_enough_words_makes_no_rule(line: str) -> None:
    assert skeleton([line], [], seen=SEEN) is None


def test_samples_are_lines_that_were_seen_and_a_variation_where_there_was_one_only() -> None:
    two = made("seal 4 is broken", "seal 7 is broken", "seal 4 is broken", "seal 9 is broken")
    assert two.positive == ("seal 4 is broken", "seal 7 is broken")
    assert made("seal 4 is broken").positive == ("seal 4 is broken", "seal 5 is broken")
    assert made("seal is broken").positive == ("seal is broken", "[rank0]: seal is broken")


def test_negative_samples_are_the_closest_lines_of_others() -> None:
    others = ("the bell tolls", "seal 4 is intact", "seal 4 is broken", "seal 8 of 9 is intact")
    assert made("seal 4 is broken", others=others).negative == ("seal 4 is intact", others[3])
    assert made("seal 4 is broken").negative == HARMLESS


def test_an_id_is_its_own() -> None:
    assert made("ERROR seal 4 is open").id == "site_error_seal_is_open"
    taken = ("site_seal_is_broken", "site_seal_is_broken_2")
    assert made("seal 4 is broken", taken=taken).id == "site_seal_is_broken_3"


@given(
    st.lists(st.text(max_size=60), min_size=1, max_size=3),
    st.lists(st.text(max_size=60), max_size=3),
)
def test_whatever_the_lines_are_the_rule_can_be_loaded_and_is_safe_to_print(
    words: list[str], others: list[str]
) -> None:
    lines = [f"vault is broken {word}" for word in words]
    text = made(*lines, others=tuple(others)).toml()
    assert all(c.isprintable() or c == "\n" for c in text)
    [entry] = tomllib.loads(text)["signature"]
    rule = as_site_rule(read_signature(entry, CATEGORY))
    assert check_catalogue(Catalogue.of([rule]), prefer="re2").failures == ()
