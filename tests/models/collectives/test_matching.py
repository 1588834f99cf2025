"""What all ranks of a collective must have alike."""

from __future__ import annotations

import pytest

from recorders import work
from relume.models.collectives.matching import difference, ends_together, signature


@pytest.mark.parametrize(
    "kind", ["all_reduce", "all_gather", "reduce_scatter", "_all_gather_base", "broadcast"]
)
def test_counts_are_compared_where_all_ranks_have_the_same(kind: str) -> None:
    one, other = (signature(work(1, operation=f"nccl:{kind}", input_sizes=((n,),))) for n in (8, 9))
    assert difference(one, other) is not None


@pytest.mark.parametrize("kind", ["all_to_all", "_broadcast_oop", "_reduce_oop", "send 0->1"])
def test_counts_are_not_compared_where_ranks_may_differ(kind: str) -> None:
    one, other = (
        signature(work(1, operation=f"nccl:{kind}", input_sizes=((n,),), output_sizes=((n,),)))
        for n in (8, 9)
    )
    assert difference(one, other) is None


def test_the_root_alone_is_through_early_where_others_only_receive() -> None:
    assert ends_together(work(1))
    assert not ends_together(work(1, operation="nccl:broadcast"))
