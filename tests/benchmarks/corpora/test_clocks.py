from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.benchmarks.corpora.clocks import with_clock
from relume.ingest.loglines import LineParser

JANUARY_2 = 1_767_323_045_678_901
"""2026-01-02 03:04:05.678901 UTC."""


@pytest.mark.parametrize(
    ("line", "moved"),
    [
        ("2025-04-17 10:53:38 [rank3]: lost", "2026-01-02 03:04:05 [rank3]: lost"),
        ("2025-04-17T10:53:38,123Z lost", "2026-01-02T03:04:05,678Z lost"),
        ("2025-04-17T10:53:38.1+02:00 lost", "2026-01-02T03:04:05.6Z lost"),
        ("Fri Feb 17 08:22:59 2023 lost", "Fri Jan  2 03:04:05 2026 lost"),
        ("Fri Mar  3 08:22:59 2023 lost", "Fri Jan  2 03:04:05 2026 lost"),
        (
            "[rank0]:[E527 09:41:26.730519842 x.cpp:7] lost",
            "[rank0]:[E102 03:04:05.678901000 x.cpp:7] lost",
        ),
        ("I20240807 12:00:00.5 1 x.cc:1] lost", "I20260102 03:04:05.6 1 x.cc:1] lost"),
        ("no clock at all 12:00", "no clock at all 12:00"),
        ("1714972089.5 lost", "1714972089.5 lost"),
        ("", ""),
    ],
)
def test_a_clock_keeps_its_form(line: str, moved: str) -> None:
    assert with_clock(line, JANUARY_2) == moved


@given(st.integers(946_684_800, 4_102_444_799), st.sampled_from(["%s lost", "[%s] [INFO] lost"]))
def test_what_is_set_is_what_is_read(seconds: int, form: str) -> None:
    time = seconds * 1_000_000
    moved = with_clock(form % "2025-04-17 10:53:38,000", time)
    assert LineParser("x.log").parse(moved, 0, 0).event_time == time
