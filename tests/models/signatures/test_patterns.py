from __future__ import annotations

import re

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from relume.models.signatures.patterns import PatternError, one_line, refuse_explosive, tokens

PIECES = [
    *("a", "b", " ", ":", "^", "$", ".", "|", "(", "(?:", "(?i:", ")", "*", "+", "?", "{2}"),
    *("{1,3}", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\b", r"\B", r"\t", r"\.", r"\x41"),
    *("[ab]", "[^a]", "[^-a]", r"[^\n]", r"[\s,]", r"[\S]", r"[^\W]", "[a-z]", r"[\[(]", "é"),
]


@pytest.mark.parametrize(
    ("pattern", "form"),
    [
        ("Xid", "Xid"),
        ("(?i)a|b", "(?i:a|b)"),
        (r"a\sb", r"a[\t\f\r\x0b ]b"),
        (r"a\Wb", r"a[^\w\n]b"),
        (r"a\Db", r"a[^\d\n]b"),
        (r"a\Sb", r"a[\x00-\x08\x0e-\x1f\x21-\xff]b"),
        ("a[^,]b", r"a[^\n,]b"),
        ("a[^-x]b", r"a[^\n\-x]b"),
        (r"a[^\n]{0,9}b", r"a[^\n]{0,9}b"),
        (r"a[\s,]b", r"a[\t\f\r\x0b ,]b"),
        (r"a[\w.-]+:", r"a[\w.-]+:"),
        ("•+ x", r"(?:\xe2\x80\xa2)+ x"),
        (r"\{\}\[\]", r"\{\}\[\]"),
        ("a.*", "a"),
        ("a.*?$", "a"),
        ("a.+", "a.{1}"),
        ("a.{3,9}?", "a.{3}"),
        (r"a[^,]*\s*b?", "a"),
        ("(?i)ab*.*", "(?i:a)"),
        ("a(?:b.*)", "a(?:b.*)"),
        (r"a\b", r"a\b"),
        ("a.*b", "a.*b"),
    ],
)
def test_rewrites_to_one_line(pattern: str, form: str) -> None:
    assert one_line(pattern) == form


@pytest.mark.parametrize(
    "pattern",
    [
        *("a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", r"(a)\1", "(?P<gpu>a)", "(?P<x>a)(?P=x)"),
        *("(?s)a", "(?m)a", "a(?i)b", "(?-i:a)", "(?#note)a", "(?>a)b", "(?x) a"),
        *(r"a\nb", r"a\x0ab", r"a\Ab", r"a\Z", r"\va", r"a\hb", r"\xe9", r"\u0041", r"\1"),
        *("a++b", "a*+b", "a{,3}b", "a{b", "a}b", "a[b", "a[]b]", "[^]a]b", "a[[:alpha:]]b"),
        *("a[a&&b]", "a[a--b]", r"a[\x00-\x1f]b", r"a[\t-\r]b", r"a[\n]b", r"a[\W]b", r"a[\b]b"),
        *("a\nb", "a\x00b", "(?i)é", "a[é]b", "a[[]*", "a[^]*"),
    ],
)
def test_refuses_what_engines_read_differently(pattern: str) -> None:
    with pytest.raises(PatternError):
        one_line(pattern)


@given(
    st.lists(st.sampled_from(PIECES), max_size=8).map("".join),
    st.text("ab :A\n\t\x0b.", max_size=9),
)
def test_no_match_holds_a_newline(pattern: str, text: str) -> None:
    try:
        expression = re.compile(one_line(pattern).encode(), re.MULTILINE)
    except (PatternError, re.error):
        return
    for found in expression.finditer(text.encode()):
        assert b"\n" not in found.group()


@given(
    st.lists(st.sampled_from(PIECES), max_size=6).map("".join),
    st.sampled_from(["*", "+", "?", "{2}", "{0,3}", "{1,}", "*?", ".*", ".*$", ".+", "[^a]*"]),
    st.text("ab :A\t\x0b.", max_size=9),
)
def test_an_open_end_changes_no_line(pattern: str, tail: str, line: str) -> None:
    written = pattern + tail
    try:
        form, whole = one_line(written), one_line(f"(?:{written})")  # the end of a group stays
        found, expected = (re.search(text.encode(), line.encode()) for text in (form, whole))
    except (PatternError, re.error):
        reject()
    assert (found is None) is (expected is None)


@given(st.text(max_size=30) | st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_tokens_are_the_whole_text(pattern: str) -> None:
    assert "".join(token.text for token in tokens(pattern)) == pattern


@pytest.mark.parametrize("expression", ["(a+)+b", r"(?:\w+\s*)*x", "((?:ab*)c)+", "(a|b+){2,}"])
def test_refuses_a_repeat_in_a_repeat(expression: str) -> None:
    with pytest.raises(PatternError):
        refuse_explosive(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "(?:a+){1,20}b",
        "(abc)+",
        r"\[(?:a|b)*\]+",
        r"a+(?:b)*c+",
        "(?P<rank>[0-9]+)(?:,x)*",
        r"\(a+\)+",
    ],
)
def test_lets_plain_repeats_pass(expression: str) -> None:
    refuse_explosive(expression)
