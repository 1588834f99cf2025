"""Steps that are taken together are judged as one after the other."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from relume.models.straggler.detector import StragglerDetector
from relume.models.straggler.settings import StragglerSettings
from relume.models.straggler.steps import StepTime

QUICK = StragglerSettings(calibration=20, eta=1.0, fast_blocks=2, warm_up=2)
STRETCHES = st.lists(
    st.tuples(
        st.sampled_from(["rank 0", "rank 0", "rank 1", "both"]),
        st.integers(1, 60),
        st.sampled_from([1.0, 1.0, 1.5, 3.0, float("inf")]),
        st.sampled_from(["plain", "plain", "disturbed", "again", "batch", "timeless"]),
    ),
    max_size=6,
)


def steps_of(stretches: list[tuple[str, int, float, str]]) -> list[tuple[str, StepTime]]:
    """Return so many steps of a printer, so many times as long as usual, in each stretch."""
    found: list[tuple[str, StepTime]] = []
    run = 0
    for printer, count, slow, kind in stretches:
        run += kind == "again"
        for number in range(count):
            step = StepTime(
                value=slow * (5.0 + 0.01 * (number % 7)),
                trust=3,
                span_seconds=5.0 if number % 3 else None,
                work=512.0 if kind == "batch" else 256.0,
                wait_seconds=0.1 * slow if number % 2 else None,
                run=run,
                disturbed=kind == "disturbed",
                step=len(found),
                time=None if kind == "timeless" else len(found) * 5_000_000,
            )
            printers = ("rank 0", "rank 1") if printer == "both" else (printer,)
            found += [(one, step) for one in printers]
    return found


@given(STRETCHES, st.lists(st.integers(1, 100), max_size=6))
@settings(max_examples=40, deadline=None)
def test_steps_taken_together_are_judged_as_one_by_one(
    stretches: list[tuple[str, int, float, str]], cuts: list[int]
) -> None:
    steps = steps_of([("rank 0", 60, 1.0, "plain"), *stretches])
    together, single = StragglerDetector(QUICK, "lab/7@1.0"), StragglerDetector(QUICK, "lab/7@1.0")
    begin = 0
    for size in [*cuts, len(steps)]:
        part, begin = steps[begin : begin + size], begin + size
        found = together.take_all(part)
        assert found == [slow for one in part for slow in single.take(*one)]
        assert together.slowdown == single.slowdown
    assert together.save() == single.save()
    assert together.windows == single.windows
