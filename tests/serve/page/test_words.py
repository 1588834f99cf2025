"""Text of others on a page: it can't act, whatever it is."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from paging import Html
from relume.serve.page import words
from relume.serve.page.render import environment

ANY = st.text(st.characters(), max_size=200)
SHOWN = "<!doctype html><p id='a' title='{{ text | line }}'>{{ text | line }}</p>"


@given(ANY)
def test_a_line_has_nothing_that_acts(text: str) -> None:
    shown = words.log_line(text)
    assert shown.isprintable()
    assert not {
        one for one in shown if unicodedata.bidirectional(one) in {"RLO", "LRO", "RLI", "LRI"}
    }


@given(ANY)
def test_a_page_shows_a_line_as_it_is(text: str) -> None:
    page = Html(environment().from_string(SHOWN).render(text=text))
    assert "".join(page.texts) == words.log_line(text)
    assert page.named("p") == [{"id": "a", "title": words.log_line(text)}]


def test_a_line_of_a_megabyte_is_cut_and_says_so() -> None:
    shown = words.log_line("x" * 1_000_000)
    assert len(shown) < words.MAX_LINE + 60
    assert shown.endswith("998,000 characters more")


def test_colours_and_titles_of_terminals_are_gone() -> None:
    assert words.log_line("\x1b[1;31mred\x1b[0m \x1b]0;evil\x07after") == "red after"


def test_times_that_no_calendar_has_are_dashes() -> None:
    assert words.utc(10**18) == words.NOTHING
    assert words.iso(10**18) == ""
    assert words.span(None) == words.number(None) == words.words(None) == words.NOTHING
