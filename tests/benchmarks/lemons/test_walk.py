from __future__ import annotations

import pytest

from relume.benchmarks.corpora.infinitehbd import DAY_MICROS, Fault, Trace
from relume.benchmarks.lemons.rules import CountRule, QuarantineRule
from relume.benchmarks.lemons.walk import walk
from relume.models.lemons.quarantine import QuarantineSettings
from relume.verdict import Domain


def fault(node: str, start: float, end: float) -> Fault:
    return Fault(node, round(start * DAY_MICROS), round(end * DAY_MICROS), Domain.HARDWARE)


def trace(*faults: Fault) -> Trace:
    return Trace("made up", tuple(sorted(faults, key=lambda one: one.start)), nodes=10, days=100)


def test_a_held_node_meets_no_job_and_its_faults_teach_nothing() -> None:
    counts = walk(
        trace(fault("a", 1, 2), fault("a", 5, 6), fault("a", 40, 41)), CountRule(1, 30, 10)
    )
    assert (counts.faults, counts.avoided, counts.flags, counts.refaults) == (3, 1, 2, 1)
    assert counts.held_days == pytest.approx(9 + 9)
    assert counts.service_days == pytest.approx(1000 - 1 - 1)


def test_the_second_fault_in_the_window_holds() -> None:
    apart = walk(trace(fault("a", 1, 2), fault("a", 50, 51)), CountRule(2, 30, 60))
    close = walk(trace(fault("a", 1, 2), fault("a", 20, 21)), CountRule(2, 30, 60))
    assert (apart.flags, close.flags) == (0, 1)
    assert close.held_days == pytest.approx(59)


def test_only_what_comes_after_the_first_day_counts() -> None:
    counts = walk(trace(fault("a", 1, 2), fault("a", 60, 61)), CountRule(1, 30, 10), from_day=50)
    assert (counts.faults, counts.flags) == (1, 1)
    assert counts.held_days == pytest.approx(9)


def test_quarantine_holds_from_the_return_until_it_has_to_make_room() -> None:
    rule = QuarantineRule(QuarantineSettings(cap=0.1, parole_days=30), 10, every_fault=False)
    counts = walk(trace(fault("a", 1, 2), fault("b", 9, 10)), rule)
    assert counts.flags == 2
    assert counts.held_days == pytest.approx(8 + 30, abs=61)
