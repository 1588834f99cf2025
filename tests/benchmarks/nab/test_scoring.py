"""NAB's score on made-up windows."""

from __future__ import annotations

import pytest

from relume.benchmarks.nab.scoring import Labelled, raw_score, score

SERIES = Labelled(2000, ((1000, 1099),))


def test_silence_is_0_and_the_first_sample_of_each_window_100() -> None:
    assert score([(SERIES, [])]) == 0
    assert score([(SERIES, [1000])]) == pytest.approx(100, abs=0.2)


def test_earlier_is_worth_more() -> None:
    worth = [raw_score(SERIES, [place]) for place in (1000, 1050, 1090)]
    assert worth == sorted(worth, reverse=True)


def test_a_window_counts_once() -> None:
    assert raw_score(SERIES, [1010, 1020, 1030]) == raw_score(SERIES, [1010])


def test_what_is_outside_costs_and_more_so_further_behind() -> None:
    near, far, before = (raw_score(SERIES, [1000, place]) for place in (1105, 1900, 900))
    assert raw_score(SERIES, [1000]) > near > far
    assert far == before == pytest.approx(raw_score(SERIES, [1000]) - 0.11)


def test_nothing_counts_at_the_start() -> None:
    assert raw_score(SERIES, [10, 200, 299]) == raw_score(SERIES, [])


def test_a_corpus_without_windows_has_no_score() -> None:
    assert score([(Labelled(100, ()), [50])]) == 0
