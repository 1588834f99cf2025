"""Ranks side by side: what lasts, what changes, and what each part costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from relume.errors import InputError
from relume.models.straggler.ranks import MIN_STEPS, Decomposition, RankTimes

if TYPE_CHECKING:
    from numpy.typing import NDArray

RANKS = 16
NODES = tuple(f"n{rank // 4}" for rank in range(RANKS))
STAGES = tuple(rank // 8 for rank in range(RANKS))


def times(noise: float = 0.02, seed: int = 0) -> NDArray[np.float64]:
    draws = np.random.default_rng(seed)
    return np.asarray(4.0 * np.exp(noise * draws.standard_normal((24, RANKS))), np.float64)


def decomposed(values: NDArray[np.float64], **known: object) -> Decomposition:
    found = RankTimes(values, tuple(range(RANKS)), **known).decompose()  # type: ignore[arg-type]
    assert found is not None
    return found


def test_one_slow_rank_costs_nearly_all() -> None:
    values = times()
    values[:, 5] *= 1.5
    found = decomposed(values, nodes=NODES)
    assert found.rank is not None
    assert found.node is not None
    assert (found.rank.name, found.node.name) == (5, "n1")
    assert found.rank.share > 0.9
    assert found.rank.ratio == pytest.approx(1.5, rel=0.03)
    assert found.lasting == pytest.approx(0.5, rel=0.1)
    assert found.changing < 0.02


def test_without_one_rank_of_a_slow_node_nothing_is_gained_but_without_the_node() -> None:
    values = times()
    values[:, 4:8] *= 1.4
    found = decomposed(values, nodes=NODES)
    assert found.rank is not None
    assert found.node is not None
    assert found.rank.share < 0.2
    assert (found.node.name, found.node.share > 0.8) == ("n1", True)


def test_a_slow_stage_is_no_slow_rank() -> None:
    values = times()
    values[:, 8:] *= 1.6
    found = decomposed(values, nodes=NODES, stages=STAGES)
    assert found.rank is not None
    assert found.stage is not None
    assert found.rank.share < 0.2
    assert found.stage.name == 1
    assert found.stage.share > 0.8
    assert found.stage.ratio == pytest.approx(1.6, rel=0.03)


def test_uneven_sequences_change_and_do_not_last() -> None:
    found = decomposed(times(noise=0.25))
    assert found.changing > 0.3
    assert found.lasting < 4 * found.noise


def test_what_was_so_before_does_not_count() -> None:
    always = np.linspace(1.0, 1.3, RANKS)
    values = times() * always
    values[:, 3] *= 1.4
    found = decomposed(values, before=4.0 * always)
    assert found.rank is not None
    assert found.rank.name == 3
    assert found.own == pytest.approx(0.0, abs=0.02)


def test_what_all_ranks_share_is_told_apart_from_what_one_has() -> None:
    slow = times() * np.linspace(1.0, 2.0, 24)[:, None]  # a drift of all of them
    found = decomposed(slow, before=np.full(RANKS, 4.0))
    assert found.own == pytest.approx(0.5, rel=0.1)
    assert found.lasting < 0.05
    assert found.changing < 0.1


def test_of_a_stage_with_one_rank_nobody_can_tell_the_rank_from_the_stage() -> None:
    values = times()[:, :4]
    values[:, 2] *= 1.5
    found = RankTimes(values, (0, 1, 2, 3), stages=(0, 1, 2, 3)).decompose()
    assert found is not None
    assert found.rank is None
    assert found.stage is not None
    assert found.stage.name == 2


def test_ranks_of_which_little_is_known_are_left_out() -> None:
    values = times()
    values[: -MIN_STEPS + 1, 7] = np.nan
    values[:, 7] *= 9.0
    found = decomposed(values)
    assert found.ranks == RANKS - 1
    assert found.lasting < 0.05


@pytest.mark.parametrize("shape", [(MIN_STEPS - 1, 4), (10, 1), (0, 0)])
def test_too_little_says_nothing(shape: tuple[int, int]) -> None:
    assert RankTimes(np.ones(shape), tuple(range(shape[1]))).decompose() is None


def test_parts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="don't fit"):
        RankTimes(np.ones((5, 2)), (0, 1), nodes=("n1",))
    with pytest.raises(InputError, match="don't fit"):
        RankTimes(np.ones(5), (0, 1))


values_of = st.floats(allow_nan=True, allow_infinity=True, width=64)


@given(arrays.arrays(np.float64, (8, 6), elements=values_of))
def test_whatever_comes_in_shares_are_shares(values: NDArray[np.float64]) -> None:
    found = RankTimes(values, tuple(range(6)), nodes=("a", "a", "b", None, "c", "c")).decompose()
    for part in (found.rank, found.node) if found is not None else ():
        if part is not None:
            assert 0.0 <= part.share <= 1.0


def test_the_order_of_ranks_changes_nothing() -> None:
    values = times()
    values[:, 5] *= 1.3
    order = np.random.default_rng(1).permutation(RANKS)
    one = decomposed(values)
    other = RankTimes(values[:, order], tuple(int(rank) for rank in order)).decompose()
    assert other is not None
    assert other.rank == one.rank
