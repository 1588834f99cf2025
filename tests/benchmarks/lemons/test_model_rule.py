"""The rule that asks a model: it keeps to what quarantine keeps to, and to the past."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from relume.benchmarks.corpora.infinitehbd import DAY_MICROS, Fault, Trace
from relume.benchmarks.lemons.rules import ModelRule, QuarantineRule
from relume.benchmarks.lemons.walk import walk
from relume.models.lemons.quarantine import QuarantineSettings
from relume.verdict import Domain

NODES, DAYS = 100, 200
SETTINGS = QuarantineSettings(cap=0.05)


def trace(seed: int = 1) -> Trace:
    """A fifth of the nodes fault ten times as often as the others."""
    draws, faults = Random(seed), []
    for node in range(NODES):
        mean = 15.0 if node % 5 == 0 else 150.0
        day = draws.expovariate(1 / mean)
        while day < DAYS - 2:
            start, end = round(day * DAY_MICROS), round((day + 1) * DAY_MICROS)
            domain = Domain.HARDWARE if draws.random() < 0.9 else Domain.UNKNOWN
            faults.append(Fault(f"n{node}", start, end, domain, draws.choice("ab")))
            day += 1 + draws.expovariate(1 / mean)
    ordered = tuple(sorted(faults, key=lambda one: (one.start, one.node)))
    return Trace("made up", ordered, nodes=NODES, days=DAYS)


def model() -> ModelRule:
    return ModelRule(SETTINGS, NODES, every_fault=False)


def test_it_learns_and_keeps_to_the_cap() -> None:
    rule = model()
    counts = walk(trace(), rule)
    assert rule.model.fits > 3
    assert 0 < counts.avoided < counts.faults
    assert counts.held_days / counts.service_days <= SETTINGS.cap


def test_before_it_knows_enough_it_is_the_quarantine_rule() -> None:
    made = trace()
    early = [fault for fault in made.faults if fault.end < 30 * DAY_MICROS]
    short = replace(made, faults=tuple(early), days=30)
    rule = model()
    assert walk(short, rule) == walk(short, QuarantineRule(SETTINGS, NODES, every_fault=False))
    assert rule.model.fits == 0
