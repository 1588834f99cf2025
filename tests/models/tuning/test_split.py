"""Two halves that share neither time nor runs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from relume.models.tuning.split import Ran, split

runs = st.lists(
    st.tuples(st.integers(0, 50), st.integers(0, 20), st.floats(0, 5)), max_size=12
).map(
    lambda drawn: [
        Ran(f"run {number}", start, start + length, weight)
        for number, (start, length, weight) in enumerate(drawn)
    ]
)


@given(runs)
def test_no_run_is_in_both_halves_and_none_crosses_the_cut(made: list[Ran]) -> None:
    found = split(made)
    assert not found.earlier & found.later
    assert {one.name for one in made} == found.earlier | found.later | found.astride
    if found.cut is None:
        assert not found.earlier
        assert not found.later
        return
    for one in made:
        if one.name in found.earlier:
            assert one.end <= found.cut
        if one.name in found.later:
            assert one.start >= found.cut


@given(runs)
def test_no_other_cut_leaves_more_in_the_lighter_half(made: list[Ran]) -> None:
    found = split(made)

    def lighter(cut: int) -> float:
        before = sum(one.weight for one in made if one.end <= cut)
        return min(before, sum(one.weight for one in made if one.start >= cut))

    best = max((lighter(one.start) for one in made), default=0.0)
    assert (0.0 if found.cut is None else lighter(found.cut)) >= best - 1e-9


def test_runs_at_the_same_time_cannot_be_split() -> None:
    found = split([Ran("a", 0, 10, 1.0), Ran("b", 1, 11, 1.0)])
    assert found.cut is None
    assert found.astride == {"a", "b"}


def test_a_run_of_which_nothing_is_scored_is_no_half() -> None:
    assert split([Ran("a", 0, 1, 0.0), Ran("b", 2, 3, 1.0)]).cut is None
