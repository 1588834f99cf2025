"""Each pattern of a hang by hand: who is named, and when nobody is."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from recorders import SECOND, START, dump, group, pair, work
from relume.dumps import RankDump
from relume.models.collectives.finding import CollectiveFinding, Pattern
from relume.models.collectives.judge import judge

FOUR = (0, 1, 2, 3)
DONE = tuple(work(n, "completed") for n in range(1, 7))


def judged(*dumps: RankDump) -> CollectiveFinding:
    found = judge(dumps)
    assert found is not None
    return found


def at(rank: int, number: int = 7, state: str = "started", **changes: Any) -> RankDump:
    """Return a rank that waits in an all-reduce of everybody."""
    return dump(rank, *DONE, work(number, state, **changes))


def test_who_did_not_come_is_named() -> None:
    found = judged(at(0), at(1), dump(2, *DONE), at(3))
    assert (found.pattern, found.culprits) == (Pattern.NEVER_JOINED, (2,))
    assert found.work is not None
    assert (found.work.sequence, found.work.waiting, found.work.absent) == (7, (0, 1, 3), (2,))
    assert found.waits == (
        "ranks 0-1, 3 wait for rank 2, the first in nccl:all_reduce number 7 of group 0 for rank 2",
    )


def test_a_position_may_be_known_by_a_counter_only() -> None:
    counted = group(FOUR, last_enqueued=6, last_completed=6)
    assert judged(at(0), at(1), at(3), dump(2, groups=[counted])).culprits == (2,)
    ahead = group(FOUR, last_enqueued=7, last_completed=6)
    assert judge([at(0), at(1), at(3), dump(2, groups=[ahead])]).culprits == ()  # type: ignore[union-attr]


def test_an_empty_ring_that_holds_everything_is_of_a_rank_that_called_nothing() -> None:
    first = [dump(rank, work(1, "started")) for rank in (0, 1, 3)]
    assert judged(*first, dump(2, is_whole=True)).culprits == (2,)


def test_an_empty_ring_is_from_before_the_hang_when_others_are_through_with_what_its_rank_called() -> (
    None
):
    """They could not be through with numbers 1 to 6 without rank 2, which shows none of them."""
    found = judged(at(0), at(1), at(3), dump(2, is_whole=True))
    assert (found.pattern, found.culprits, found.suspects) == (Pattern.NO_DUMP, (), (2,))


def test_rings_may_hold_different_works() -> None:
    """A ring that wrapped has lost what others still hold; only what is open counts."""
    short = dump(0, work(7))
    assert judged(
        short, at(1), dump(2, work(5, "completed"), work(6, "completed")), at(3)
    ).culprits == (2,)


def test_a_rank_that_waits_for_another_is_no_culprit() -> None:
    """Tensor pairs (0, 1) and (2, 3), data pairs (0, 2) and (1, 3): 3 is stuck before its pair's work."""
    tensor = {
        0: group((0, 1), "t"),
        1: group((0, 1), "t"),
        2: group((2, 3), "t"),
        3: group((2, 3), "t"),
    }
    data = {
        0: group((0, 2), "d0"),
        2: group((0, 2), "d0"),
        1: group((1, 3), "d1"),
        3: group((1, 3), "d1"),
    }

    def both(rank: int, *works: object) -> RankDump:
        return dump(rank, *works, groups=[tensor[rank], data[rank]])  # type: ignore[arg-type]

    found = judged(
        both(0, work(5, "completed", group="t"), work(3, group="d0")),
        both(1, work(5, "completed", group="t"), work(3, group="d1")),
        both(2, work(2, "completed", group="d0"), work(5, group="t")),  # waits for 3
        both(3, work(4, "completed", group="t"), work(2, "completed", group="d1")),
    )
    assert (found.pattern, found.culprits) == (Pattern.NEVER_JOINED, (3,))
    assert len(found.waits) == 2  # 1 and 2 wait for 3, and 0 for 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"operation": "nccl:broadcast"},
        {"input_sizes": ((9,),), "output_sizes": ((9,),)},
        {"input_dtypes": ("Half",), "output_dtypes": ("Half",)},
    ],
)
def test_who_called_another_is_named_and_it_is_the_workloads(wrong: dict[str, Any]) -> None:
    found = judged(at(0), at(1, **wrong), at(2), at(3))
    assert (found.pattern, found.culprits) == (Pattern.MISMATCH, (1,))


def test_shapes_of_equal_counts_agree_and_some_collectives_may_differ() -> None:
    same = at(1, input_sizes=((2, 4),), output_sizes=((4, 2),))
    assert judged(at(0), same, at(2), at(3)).pattern is Pattern.ALL_STARTED
    uneven = [
        at(r, operation="nccl:all_to_all", input_sizes=((r,),), output_sizes=((9,),)) for r in FOUR
    ]
    assert judged(*uneven).pattern is Pattern.ALL_STARTED


def test_of_two_that_differ_groups_of_the_same_purpose_tell() -> None:
    def of(rank: int, ranks: tuple[int, ...], operation: str, state: str) -> RankDump:
        groups = [group(ranks, f"t{ranks[0]}", description="TP")]
        one = work(7, state, group=f"t{ranks[0]}", operation=operation)
        return dump(rank, one, groups=groups)

    apart = [
        of(0, (0, 1), "nccl:all_reduce", "started"),
        of(1, (0, 1), "nccl:broadcast", "started"),
    ]
    assert judged(*apart).culprits == ()
    others = [of(rank, (2, 3), "nccl:all_reduce", "completed") for rank in (2, 3)]
    assert judged(*apart, *others).culprits == (1,)


def test_who_does_not_get_through_what_the_others_did_is_named() -> None:
    through = [dump(rank, *DONE, work(7, "completed")) for rank in (0, 1, 3)]
    found = judged(*through, at(2))
    assert (found.pattern, found.culprits) == (Pattern.LEFT_BEHIND, (2,))


def test_a_broadcast_may_be_through_on_some() -> None:
    sent = [dump(0, work(7, "completed", operation="nccl:broadcast"))]
    waiting = [dump(rank, work(7, operation="nccl:broadcast")) for rank in (1, 2)]
    assert judged(*sent, *waiting, dump(3, *DONE)).culprits == (3,)


def test_a_kernel_that_never_started_is_named() -> None:
    found = judged(at(0), at(1), at(2, state="scheduled"), at(3))
    assert (found.pattern, found.culprits) == (Pattern.NOT_STARTED, (2,))


def test_what_never_started_first_on_a_rank_is_its_own_fault_though_its_peer_left_no_dump() -> None:
    pairs = group((2, 3), "p")
    held = dump(
        2,
        *(work(n, "completed", started_time=START) for n in range(1, 7)),
        work(4, "scheduled", group="p"),
        work(7),
        groups=[group(FOUR), pairs],
    )
    found = judged(at(0), at(1), held)
    assert (found.pattern, found.culprits) == (Pattern.NOT_STARTED, (2,))


def test_a_ring_that_lost_what_its_rank_waits_for_shows_no_dead_network() -> None:
    """All came to number 7, but what rank 2 still holds begins in the middle of what is open."""
    cut = dump(2, work(7), work(8))
    found = judged(*(dump(rank, *DONE, work(7)) for rank in (0, 1, 3)), cut)
    assert (found.pattern, found.culprits) == (Pattern.ALL_STARTED, ())
    assert "no longer hold" in found.why[0]
    whole = dump(2, work(7), work(8), is_whole=True)
    told = judged(*(dump(rank, *DONE, work(7)) for rank in (0, 1, 3)), whole)
    assert "no longer hold" not in told.why[0]


def test_dumps_of_what_is_active_only_have_lost_nothing() -> None:
    """A recorder can leave out what is complete: its counters alone tell who is through."""
    counted = group(FOUR, last_enqueued=7, last_completed=7)
    through = [dump(rank, groups=[counted]) for rank in (0, 1, 3)]
    waiting = dump(2, work(7), groups=[group(FOUR, last_enqueued=7, last_completed=6)])
    found = judged(*through, waiting)
    assert (found.pattern, found.culprits) == (Pattern.LEFT_BEHIND, (2,))


def test_all_started_names_nobody() -> None:
    found = judged(*(at(rank) for rank in FOUR))
    assert (found.pattern, found.culprits, found.suspects) == (Pattern.ALL_STARTED, (), ())


def test_without_starts_all_scheduled_names_nobody_either() -> None:
    found = judged(*(at(rank, state="scheduled") for rank in FOUR))
    assert (found.pattern, found.culprits) == (Pattern.ALL_STARTED, ())


def test_who_left_no_dump_while_others_wait_is_named() -> None:
    found = judged(at(0), at(1), at(3))
    assert (found.pattern, found.culprits, found.missing) == (Pattern.NO_DUMP, (2,), (2,))


def test_of_several_without_a_dump_none_is_named_where_nothing_tells_which() -> None:
    eight = [group(range(8))]
    there = [dump(rank, *DONE, work(7, "started"), groups=eight) for rank in (0, 1, 2, 4, 5, 6)]
    found = judged(*there)
    assert (found.pattern, found.culprits, found.suspects) == (Pattern.NO_DUMP, (), (3, 7))


def test_all_ranks_of_a_node_without_a_dump_are_the_node() -> None:
    eight = [group(range(8))]
    there = [dump(rank, *DONE, work(7, "started"), groups=eight) for rank in range(4)]
    assert judged(*there).culprits == (4, 5, 6, 7)


def test_all_ranks_of_a_node_are_told_from_dumps_lost_one_by_one() -> None:
    world = [group(range(32))]
    lost = {*range(8, 16), 3, 20}
    there = [dump(r, *DONE, work(7, "started"), groups=world) for r in range(32) if r not in lost]
    assert judged(*there).culprits == tuple(range(8, 16))
    half = [dump(r, *DONE, work(7, "started"), groups=world) for r in range(32) if r % 16 < 9]
    assert judged(*half).culprits == ()


def test_of_several_that_are_each_waited_for_alone_none_is_named() -> None:
    """Pairs (0, 1), (2, 3): 0 waits for 1 and 2 for 3, and any of the two may hold up everybody."""

    def of(rank: int, *works: Any) -> RankDump:
        own = group((rank, rank + 1), f"t{rank}", description="TP")
        return dump(rank, *works, groups=[group(range(8)), own])

    waiting = [of(rank, work(3, "started", group=f"t{rank}")) for rank in (0, 2)]
    through = [of(rank, *DONE, work(7, "started")) for rank in (4, 6)]
    found = judged(*waiting, *through)
    assert (found.pattern, found.culprits, found.suspects) == (Pattern.NO_DUMP, (), (1, 3))
    one = judged(waiting[0], *through)
    assert (one.pattern, one.culprits) == (Pattern.NO_DUMP, ())  # too few dumps to name by absence


def test_missing_dumps_do_not_hide_who_is_there_and_did_not_come() -> None:
    assert judged(at(0), dump(2, *DONE), at(3)).culprits == (2,)
    assert judged(at(0), at(1, operation="nccl:broadcast"), at(3)).culprits == (1,)


def test_a_dump_from_before_the_hang_counts_as_missing_and_names_nobody() -> None:
    """Rank 2 stood at number 3 when its dump was written; others are through with 6, so it came."""
    early = dump(2, work(1, "completed"), work(2, "completed"), work(3, "started"))
    found = judged(at(0), at(1), early, at(3))
    assert (found.pattern, found.culprits, found.suspects) == (Pattern.NO_DUMP, (), (2,))
    absent = judged(at(0), dump(1, *DONE), early, at(3))
    assert (absent.pattern, absent.culprits) == (Pattern.NEVER_JOINED, (1,))


def test_few_dumps_name_nobody_for_being_missing() -> None:
    found = judged(at(0))
    assert (found.pattern, found.culprits) == (Pattern.NO_DUMP, ())


def test_most_that_did_not_come_are_not_named() -> None:
    found = judged(at(0), dump(1, *DONE), dump(2, *DONE), dump(3, *DONE))
    assert (found.pattern, found.culprits) == (Pattern.MANY_ABSENT, ())


def test_receives_in_a_circle_name_the_first_to_wait() -> None:
    def ring(rank: int, when: int) -> RankDump:
        before, after = (rank - 1) % 4, (rank + 1) % 4
        called = START + when * SECOND
        return dump(
            rank,
            *DONE,
            pair(1, f"recv {rank}<-{before}", enqueued_time=called),
            pair(2, f"send {rank}->{after}", enqueued_time=called + 1),
        )

    found = judged(ring(0, 40), ring(1, 30), ring(2, 50), ring(3, 60))
    assert (found.pattern, found.culprits) == (Pattern.CYCLE, (1,))
    assert found.suspects == FOUR


def test_a_send_that_nobody_receives_names_who_does_not() -> None:
    two = [group((0, 1))]
    sender = dump(0, work(6, "completed"), pair(1, "send 0->1"), work(7), groups=two)
    receiver = dump(1, work(6, "completed"), groups=two)
    found = judged(sender, receiver)
    assert (found.pattern, found.culprits) == (Pattern.NEVER_JOINED, (1,))


def test_a_rank_that_skipped_one_is_named_though_it_waits_itself() -> None:
    """Rank 3 left number 7 of everybody out and waits in its next step's pair for rank 2."""
    pairs = group((2, 3), "p")
    everybody = group(FOUR)
    others = [dump(rank, *DONE, work(7), groups=[everybody]) for rank in (0, 1)]
    two = dump(2, *DONE, work(4, "completed", group="p"), work(7), groups=[everybody, pairs])
    three = dump(
        3,
        *DONE,
        work(4, "completed", group="p"),
        work(5, group="p"),
        work(7),
        groups=[everybody, pairs],
    )
    found = judged(*others, two, three)
    assert (found.pattern, found.culprits) == (Pattern.CYCLE, (3,))


def test_who_came_long_after_the_others_is_named_with_clocks_compared() -> None:
    hour = 3600 * SECOND

    def on(rank: int, ahead: int, late: int) -> RankDump:
        shifted = [
            work(
                n,
                "completed",
                enqueued_time=START + n * SECOND + ahead,
                completed_time=START + n * SECOND + ahead + 5000,
            )
            for n in range(1, 7)
        ]
        called = START + 7 * SECOND + ahead + late
        return dump(rank, *shifted, work(7, "started", enqueued_time=called))

    found = judged(on(0, 0, 0), on(1, hour, 0), on(2, -hour, 700 * SECOND), on(3, 0, 1000))
    assert (found.pattern, found.culprits) == (Pattern.LATE, (2,))
    alike = judged(on(0, 0, 0), on(1, hour, 0), on(2, -hour, 0), on(3, 0, 1000))
    assert (alike.pattern, alike.culprits) == (Pattern.ALL_STARTED, ())


def test_who_is_late_every_time_does_not_hide_that_it_is_late_now() -> None:
    def on(rank: int, late: int) -> RankDump:
        usual = [
            work(
                n,
                "completed",
                enqueued_time=START + n * 60 * SECOND + late,
                completed_time=START + n * 60 * SECOND + 30 * SECOND,
            )
            for n in range(1, 7)
        ]
        called = START + 7 * 60 * SECOND + late
        return dump(rank, *usual, work(7, "started", enqueued_time=called))

    found = judged(on(0, 0), on(1, 2000), on(2, 20 * SECOND), on(3, 1000))
    assert (found.pattern, found.culprits) == (Pattern.LATE, (2,))


def test_gloo_gives_a_work_up_and_calls_it_over() -> None:
    def gloo(rank: int, last: int) -> RankDump:
        works = [work(n, "completed", operation="gloo:all_reduce") for n in range(1, last + 1)]
        return dump(rank, *works)

    found = judged(gloo(0, 7), gloo(1, 7), gloo(2, 6), gloo(3, 7))
    assert (found.pattern, found.culprits) == (Pattern.GAVE_UP, (2,))


def test_nothing_open_is_no_finding() -> None:
    assert judge([]) is None
    assert judge([dump(rank, *DONE) for rank in FOUR]) is None


def test_groups_of_one_name_are_told_apart_by_their_ranks() -> None:
    """`split_group` gives all parts one name: rank 3 did not come to its own part's work."""
    first, second = group((0, 1), "1"), group((2, 3), "1")
    done = work(6, "completed", group="1")
    found = judged(
        dump(0, done, work(7, "completed", group="1"), groups=[first]),
        dump(1, done, work(7, "completed", group="1"), groups=[first]),
        dump(2, done, work(7, group="1"), groups=[second]),
        dump(3, done, groups=[second]),
    )
    assert found.culprits == (3,)


def test_the_order_of_the_dumps_does_not_matter() -> None:
    dumps = [at(0), at(1, operation="nccl:broadcast"), at(2), dump(3, *DONE)]
    assert len({judge(order) for order in itertools.permutations(dumps)}) == 1


def test_a_place_in_a_group_that_names_no_ranks_is_no_rank_but_in_that_of_everybody() -> None:
    def sends(description: str) -> CollectiveFinding | None:
        unnamed = group([], description=description)
        return judge([dump(rank, pair(1, f"send {rank}->2"), groups=[unnamed]) for rank in (0, 1)])

    assert sends("x") is None
    everybody = sends("default_pg")
    assert everybody is not None
    assert everybody.culprits == (2,)
