"""Many that fail together are one incident; it ends by itself, or by a probe."""

from __future__ import annotations

from typing import Any

import pytest

from relume.models.fleet.breaker import Breaker, Seen
from relume.models.fleet.failure import Failure, parties
from relume.models.policy.policy import Policy
from relume.verdict import Domain

SECOND = 1_000_000
POLICY = Policy()
WINDOW = round(POLICY.breaker_seconds)


def failed(number: int, second: int = 0, **changes: Any) -> Failure:
    fields: dict[str, Any] = {
        "attempt": f"lab/{number}@0.0",
        "run": f"run{number}",
        "user": f"user{number}",
        "at": second * SECOND,
        "domain": Domain.UNKNOWN,
        "nodes": (f"n{number}",),
    }
    return Failure(**(fields | changes))


def seen(*failures: Failure, **changes: Any) -> Seen:
    fields: dict[str, Any] = {
        "failures": failures,
        "silent": {},
        "working": (),
        "held": {one.attempt: one.run for one in failures},
    }
    return Seen(**(fields | changes))


def tripped(*failures: Failure, **changes: Any) -> Breaker:
    breaker = Breaker()
    breaker.advance(SECOND, POLICY, seen(*failures, **changes))
    return breaker


MANY = tuple(failed(number) for number in range(1, 6))


def test_it_takes_enough_jobs_and_enough_of_those_that_run() -> None:
    assert tripped(*MANY).incident is None  # not yet: they failed at no time
    later = tuple(failed(number, 1) for number in range(1, 6))
    breaker = tripped(*later, working=[f"w{n}" for n in range(15)])
    assert breaker.incident is not None
    assert (breaker.incident.size, breaker.incident.running) == (5, 15)
    assert breaker.incident.nodes == {"n1", "n2", "n3", "n4", "n5"}
    assert tripped(*later, working=[f"w{n}" for n in range(16)]).incident is None
    assert tripped(*later[:4]).incident is None


def test_silent_jobs_count_and_each_run_once() -> None:
    silent = {f"lab/{n}@0.0": f"run{n}" for n in range(2, 6)}
    assert tripped(failed(1, 1), silent=silent).incident is not None
    assert tripped(failed(1, 1), silent=dict.fromkeys(silent, "run2")).incident is None


def test_old_failures_are_no_part_of_it() -> None:
    breaker = Breaker()
    old = tuple(failed(number, 1) for number in range(1, 5))
    breaker.advance((WINDOW + 1) * SECOND, POLICY, seen(*old, failed(5, WINDOW + 1)))
    assert breaker.incident is None


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({"domain": Domain.WORKLOAD, "likeness": "bug"}, 5),  # of five users
        ({"domain": Domain.WORKLOAD, "likeness": "bug", "user": "ada"}, 0),
        ({"domain": Domain.WORKLOAD, "likeness": "bug", "user": None}, 0),
        ({"domain": Domain.WORKLOAD}, 0),
        ({"faulty": ("n1",)}, 1),
        ({"run": "one"}, 1),
        ({}, 5),
    ],
)
def test_what_is_one_thing(changes: dict[str, Any], count: int) -> None:
    told = parties([failed(number, **changes) for number in range(1, 6)], {})
    assert len(set(told.values())) == count


def test_a_probe_goes_ahead_when_it_is_calm_and_ends_it_by_a_step() -> None:
    struck = tuple(failed(number, 1) for number in range(1, 6))
    breaker, calm = tripped(*struck), (WINDOW + 2) * SECOND
    breaker.advance(calm, POLICY, seen(held={one.attempt: one.run for one in struck}))
    assert breaker.incident is not None
    assert breaker.incident.probe == "run1"
    assert not breaker.incident.holds("lab/1@0.0", "run1")
    assert breaker.incident.holds("lab/2@0.0", "run2")
    breaker.advance(calm + SECOND, POLICY, seen(stepping={"lab/1@0.1": "run1"}))
    assert breaker.incident is None


def test_a_probe_that_fails_again_is_followed_by_another_later() -> None:
    struck = tuple(failed(number, 1) for number in range(1, 6))
    held = {one.attempt: one.run for one in struck}
    breaker, calm = tripped(*struck), WINDOW + 2
    breaker.advance(calm * SECOND, POLICY, seen(held=held))
    again = failed(1, calm + 9, attempt="lab/1@0.1")
    rest = {name: run for name, run in held.items() if run != "run1"}
    breaker.advance((calm + 10) * SECOND, POLICY, seen(again, held=rest))
    assert breaker.incident is not None
    assert breaker.incident.probe is None
    breaker.advance((calm + 9 + WINDOW) * SECOND, POLICY, seen(again, held=rest))
    assert breaker.incident is not None
    assert breaker.incident.probe == "run2"


def test_a_probe_that_nobody_starts_frees_the_others() -> None:
    struck = tuple(failed(number, 1) for number in range(1, 6))
    breaker, calm = tripped(*struck), WINDOW + 2
    held = {one.attempt: one.run for one in struck}
    breaker.advance(calm * SECOND, POLICY, seen(held=held))
    breaker.advance((calm + WINDOW) * SECOND, POLICY, seen(held=held))
    assert breaker.incident is None


def test_while_its_nodes_are_out_nobody_goes_ahead_but_not_for_ever() -> None:
    struck = tuple(failed(number, 1) for number in range(1, 6))
    held = {one.attempt: one.run for one in struck}
    breaker = tripped(*struck)
    for second in (WINDOW + 2, POLICY.hold_seconds):
        breaker.advance(second * SECOND, POLICY, seen(held=held, is_out=lambda _: True))
        assert breaker.incident is not None
        assert breaker.incident.probe is None
    later = (POLICY.hold_seconds + 1) * SECOND
    breaker.advance(later, POLICY, seen(held=held, is_out=lambda _: True))
    assert breaker.incident is not None
    assert breaker.incident.probe == "run1"


def test_one_that_goes_on_after_a_silence_ends_it_and_what_failed_by_it_is_over() -> None:
    silent = {f"lab/{n}@0.0": f"run{n}" for n in range(1, 6)}
    breaker = tripped(silent=silent)
    going = {"lab/1@0.0": "run1"}
    rest = {name: run for name, run in silent.items() if run != "run1"}
    breaker.advance(2 * SECOND, POLICY, seen(silent=rest, stepping=going, working=going))
    assert breaker.incident is not None  # the others are still silent
    breaker.advance(3 * SECOND, POLICY, seen(stepping=going, working=going))
    assert breaker.incident is None
    breaker.advance(4 * SECOND, POLICY, seen(*(failed(n, 2) for n in range(1, 6))))
    assert breaker.incident is None
