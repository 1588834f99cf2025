"""The marker in AdminComment: read back as written, and all else kept."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.controller.marker import MAX_CHARACTERS, MAX_SEEN, Marker, read_marker, with_marker

SECOND = 1_000_000
EPOCHS = st.integers(0, 4_000_000_000).map(lambda seconds: seconds * SECOND)
MARKERS = st.builds(
    Marker,
    first_submit=EPOCHS,
    seen=st.lists(EPOCHS, max_size=MAX_SEEN).map(tuple),
    advice=st.none() | st.uuids().map(str),
    message=st.none() | st.text(max_size=20),
)
OTHERS = st.dictionaries(
    st.text(max_size=5), st.none() | st.integers() | st.text(max_size=5), max_size=4
)


@given(MARKERS, OTHERS)
def test_it_is_read_back_and_the_rest_is_kept(marker: Marker, others: dict[str, object]) -> None:
    text = with_marker(json.dumps(others), marker)
    assert text is not None
    assert read_marker(text) == marker
    assert {**json.loads(text), "relume": 0} == {**others, "relume": 0}
    assert text.isascii()
    assert text.isprintable()


@given(st.text() | OTHERS.map(json.dumps), MARKERS)
def test_nothing_raises(text: str, marker: Marker) -> None:
    read_marker(text)
    changed = with_marker(text, marker)
    assert changed is None or read_marker(changed) == marker


def test_keys_of_our_section_that_we_do_not_know_are_kept() -> None:
    text = with_marker('{"relume":{"note":1,"advice":"old"}}', Marker(7 * SECOND))
    assert text == '{"relume":{"note":1,"first_submit":7,"seen":[]}}'


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "by hand",
        "[1]",
        '{"relume": 1}',
        '{"relume": {"seen": []}}',
        '{"relume": {"first_submit": true}}',
        '{"relume": {"first_submit": -1}}',
        '{"relume": {"first_submit": 7, "seen": "8"}}',
        '{"relume": {"first_submit": 7, "seen": [null]}}',
        '{"relume": {"first_submit": 1e3}}',
    ],
)
def test_what_is_no_marker(text: str | None) -> None:
    assert read_marker(text) is None


def test_it_has_a_bound() -> None:
    many = tuple(second * SECOND for second in range(100))
    text = with_marker(None, Marker(0, many))
    assert read_marker(text) == Marker(0, many[-MAX_SEEN:])
    full = json.dumps({"ticket": "x" * (MAX_CHARACTERS - 60)})
    assert with_marker(full, Marker(0, many)) is None
