from __future__ import annotations

from dataclasses import replace

from advising import ATTEMPT, make_advice
from relume.benchmarks.loop.replayed import differences


def test_what_depends_on_the_clock_is_no_difference() -> None:
    live = make_advice(generation=1)
    again = replace(live, created_at=live.created_at + 1, decided_at=None)
    assert differences([live], [again]) == []


def test_each_difference_is_named() -> None:
    first, second, third = (make_advice(generation=number) for number in (1, 2, 3))
    changed = replace(first, cause="another", confidence=0.1)
    assert differences([first, second], [changed, third]) == [
        f"{ATTEMPT} generation 1: another cause, confidence",
        f"{ATTEMPT} generation 2: only live",
        f"{ATTEMPT} generation 3: only in the replay",
    ]
