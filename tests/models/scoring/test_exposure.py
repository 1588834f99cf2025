from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alarming import make_attempt, make_incident
from relume.models.scoring.attempt import SECOND, ScoreSettings
from relume.models.scoring.exposure import Exposure, covered, exposure_of

SETTINGS = ScoreSettings()


def seconds(exposure: Exposure | None) -> tuple[float, float, float]:
    assert exposure is not None
    return exposure.ran / SECOND, exposure.quiet / SECOND, exposure.ignored / SECOND


def test_a_healthy_attempt_is_quiet_all_the_time() -> None:
    assert seconds(exposure_of(make_attempt(), SETTINGS)) == (10_000, 10_000, 0)
    day = exposure_of(make_attempt(end=86_400), SETTINGS)
    assert day is not None
    assert (day.days, day.quiet_days, day.ignored_days) == (1.0, 1.0, 0.0)


def test_windows_of_incidents_and_ignore_intervals_are_no_exposure() -> None:
    attempt = make_attempt((make_incident(1000, 2000),), ignore=[(1500, 3000), (9000, 20_000)])
    # The window ends at 2060 s, and the ignore intervals cover 1500-3000 and 9000-10000.
    assert seconds(exposure_of(attempt, SETTINGS)) == (10_000, 7000, 2500)


def test_an_ignore_interval_over_everything_leaves_nothing() -> None:
    attempt = make_attempt(ignore=[(0, 10_000)])
    assert seconds(exposure_of(attempt, SETTINGS)) == (10_000, 0, 10_000)


def test_an_incident_without_end_lasts_to_the_end_of_the_attempt() -> None:
    assert seconds(exposure_of(make_attempt((make_incident(4000),)), SETTINGS))[1] == 4000


def test_how_long_an_attempt_was_quiet_is_unknown_without_its_times_or_an_onset() -> None:
    assert exposure_of(make_attempt(start=None), SETTINGS) is None
    assert exposure_of(make_attempt(end=None), SETTINGS) is None
    assert exposure_of(make_attempt((make_incident(None, 500),)), SETTINGS) is None


def test_exposures_add_up_a_node_each() -> None:
    nodes = Exposure()
    nodes.add(Exposure(ran=5, quiet=3, ignored=1), 4)
    nodes.add(Exposure(ran=1, quiet=1, ignored=0), 2)
    assert nodes == Exposure(ran=22, quiet=14, ignored=4)


SPANS = st.lists(st.tuples(st.integers(-5, 40), st.integers(-5, 40)))


@given(SPANS, st.integers(0, 20), st.integers(0, 20))
def test_covered_counts_every_instant_once(
    spans: list[tuple[int, int]], start: int, length: int
) -> None:
    within = range(start, start + length)
    instants = {t for begin, end in spans for t in range(begin, end) if t in within}
    assert covered(spans, (start, start + length)) == len(instants)


@pytest.mark.parametrize("spans", [[], [(5, 5)], [(9, 3)]])
def test_empty_spans_cover_nothing(spans: list[tuple[int, int]]) -> None:
    assert covered(spans, (0, 10)) == 0
