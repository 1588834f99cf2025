"""Who has called more or less than others in its place, when nothing else tells."""

from __future__ import annotations

from recorders import SECOND, START, dump, group, pair, work
from relume.dumps import RankDump
from relume.events import Collective
from relume.models.collectives.finding import CollectiveFinding, Pattern
from relume.models.collectives.judge import judge
from relume.models.collectives.state import build_state

WORLD = range(12)


def judged(*dumps: RankDump) -> CollectiveFinding:
    found = judge(dumps)
    assert found is not None
    return found


def stage(rank: int, sends: int, *last: Collective) -> RankDump:
    """Return a rank of six pipelines, (0, 1) to (10, 11), with its sends before one of everybody."""
    name = f"p{rank // 2}"
    line = group((rank - rank % 2, rank - rank % 2 + 1), name, description="PP")
    verb = f"send {rank % 2}->{1 - rank % 2}"
    works = [pair(n, verb, "completed", group=name) for n in range(1, sends + 1)]
    before = work(3, "completed")
    return dump(rank, before, *works, *(last or (work(4),)), groups=[group(WORLD), line])


def test_who_called_fewer_than_others_in_its_place_is_named() -> None:
    there = [stage(rank, 3) for rank in WORLD if rank not in {2, 5}]
    found = judged(*there, stage(2, 2))
    assert (found.pattern, found.culprits) == (Pattern.ODD_ONE_OUT, (2,))
    assert found.why[0].startswith("rank 2 has called 2 sends and receives of its PP when 5 others")


def test_others_places_call_another_number() -> None:
    there = [stage(rank, 3 + rank % 2) for rank in WORLD if rank != 5]
    assert judged(*there).pattern is Pattern.NO_DUMP


def test_who_called_more_did_so_with_a_peer_that_may_have_been_first() -> None:
    found = judged(*(stage(rank, 3 + 2 * (rank == 4)) for rank in WORLD if rank != 5))
    assert (found.pattern, found.culprits, found.suspects) == (Pattern.ODD_ONE_OUT, (), (4, 5))


def test_of_two_that_are_odd_together_the_first_to_wait_is_named() -> None:
    late = work(4, enqueued_time=START + 4 * SECOND + SECOND // 2)
    odd = [stage(2, 5, late), stage(3, 5)]
    found = judged(*odd, *(stage(rank, 3) for rank in WORLD if rank not in {1, 2, 3}))
    assert (found.pattern, found.culprits, found.suspects) == (Pattern.ODD_ONE_OUT, (3,), (2, 3))


def test_odd_ones_of_several_groups_just_differ() -> None:
    there = [stage(rank, 3 - (rank in {2, 4})) for rank in WORLD if rank != 5]
    assert judged(*there).pattern is Pattern.NO_DUMP


def test_the_one_rank_that_differs_in_a_collective_is_named_whatever_its_place() -> None:
    def of(rank: int, number: int) -> RankDump:
        own = group((rank // 2 * 2, rank // 2 * 2 + 1), f"d{rank // 2}", description="DP")
        called = work(number, "completed", group=own.name)
        return dump(rank, called, work(4), groups=[group(WORLD), own])

    there = [of(rank, 4 + (rank == 7)) for rank in WORLD if rank != 5]
    found = judged(*there)
    assert (found.pattern, found.culprits) == (Pattern.ODD_ONE_OUT, (7,))


def test_with_nothing_open_and_all_dumps_there_nobody_is_odd() -> None:
    ended = [stage(rank, 3 - (rank == 2), work(4, "completed")) for rank in WORLD]
    assert judge(ended) is None
    found = judged(*(one for one in ended if one.rank != 5))
    assert (found.culprits, found.confidence) == ((2,), 0.6)


def test_a_rank_that_no_job_has_makes_up_no_others() -> None:
    rank = 2**31 - 1
    assert build_state([RankDump(rank=rank, file="pushed")]).world == {rank}
    assert build_state([RankDump(rank=2, file="pushed")]).world == {0, 1, 2}
