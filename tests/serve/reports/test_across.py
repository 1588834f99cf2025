"""Slowdowns across jobs in a report: with their evidence, and where nothing is known of them."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from alarming import make_attempt
from relume.models.scoring.document import to_document as score_document
from relume.models.scoring.score import score
from relume.models.straggler.across import Judged
from relume.models.straggler.windows import Window
from relume.serve.backtest.outcome import AcrossJobs, SlowAlarm
from relume.serve.reports.across import to_document
from relume.serve.reports.score import render

SECOND = 1_000_000
WINDOW = Window("0.0", 10 * SECOND, ((20 * SECOND, 100.0), (80 * SECOND, 3e6)))
HELD = SlowAlarm("lab/1@0.0", 20 * SECOND, Judged("lab/1@0.0", WINDOW, 1e-4, 3e6, 80 * SECOND))
LATE = SlowAlarm("lab/2@0.0", 25 * SECOND, Judged("lab/2@0.0", WINDOW, 0.0, 3e6, None))
LOST = SlowAlarm("lab/3@0.0", 30 * SECOND, None)


def shown(*alarms: SlowAlarm) -> str:
    document = score_document(score([make_attempt(())]))
    document["across_jobs"] = to_document(AcrossJobs(0.1, 40, list(alarms)))
    out = io.StringIO()
    for table in render(document):
        Console(file=out, width=300).print(table)
    return out.getvalue()


def test_the_evidence_of_each_is_in_the_document() -> None:
    document = to_document(AcrossJobs(0.1, 40, [HELD, LATE, LOST]))
    assert (document["windows"], document["alarms"], document["held"]) == (40, 3, 1)
    held, late, lost = document["slowdowns"]
    assert held["held_at"] == "1970-01-01T00:01:20.000000Z"
    assert held["needed"] == pytest.approx(10_000)
    assert [value for _, value in held["evidence"]] == [100.0, 3e6]
    assert (late["holds"], late["needed"], late["e_value"]) == (False, None, 3e6)
    assert (lost["holds"], lost["e_value"], lost["evidence"]) == (False, None, [])
    assert held.keys() == lost.keys()


def test_a_clock_that_no_calendar_has_breaks_no_report() -> None:
    window = Window("0.0", 2**62, ((2**62, 100.0),))
    alarm = SlowAlarm("lab/1@0.0", SECOND, Judged("lab/1@0.0", window, 0.1, 100.0, 2**62))
    [one] = to_document(AcrossJobs(0.1, 1, [alarm]))["slowdowns"]
    assert (one["window_begin"], one["held_at"], one["holds"]) == (None, None, True)


def test_people_see_which_ones_hold() -> None:
    text = shown(HELD, LOST)
    assert "1 of 2 hold, of which 10 % may be false (40 windows)" in text
    assert text.count("holds across jobs") == 1
    assert "more, see --json" not in text


def test_of_many_the_first_ones_are_shown() -> None:
    assert "and 5 more, see --json" in shown(*[HELD] * 25)


def test_without_slowdowns_there_is_no_table() -> None:
    assert "across jobs" not in shown()
