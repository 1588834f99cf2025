"""Time-out waves: the counters name who is out of step, or nobody."""

from __future__ import annotations

import pytest

from making import make_episode, make_hit, make_signature
from relume.models.diagnosis.waves import find_laggard
from relume.models.ranks.mapping import RankMap, RankPlace
from relume.models.signatures.rule import Tier

TIMEOUT = make_signature("timeout", tier=Tier.TIMEOUT)


def counters(*ranks: dict[str, str]) -> object:
    hits = [make_hit(TIMEOUT, i, captures=c, rank=i) for i, c in enumerate(ranks)]
    return find_laggard(make_episode(*hits))


def named(*ranks: dict[str, str]) -> int | None:
    found = counters(*ranks)
    return getattr(found, "rank", None)


@pytest.mark.parametrize(
    ("ranks", "laggard"),
    [
        ([{"enqueued": "12"}, {"enqueued": "12"}, {"enqueued": "9"}], 2),
        ([{"enqueued": "12"}, {"enqueued": "12"}, {"enqueued": "11"}], None),
        ([{"enqueued": "12", "seq": "12"}, {"enqueued": "11", "seq": "12"}], 1),
        ([{"enqueued": "12"}, {"enqueued": "12"}], None),
        ([{"enqueued": "11"}, {"enqueued": "11"}, {"enqueued": "12"}], None),
        ([{"enqueued": "12", "seq": "10"}, {"enqueued": "11", "seq": "10"}], None),
        ([{"enqueued": "12", "seq": "10"}, {"enqueued": "9"}], 1),
        ([{"queued": "103"}, {"queued": "84"}, {"queued": "103"}], 1),
        ([{"queued": "3"}, {"queued": "2"}], None),
        ([{"seq": "90000"}, {"seq": "60000"}], 1),
        ([{"seq": "96120"}, {"seq": "96117"}], None),
        ([{"seq": "1580"}], None),
        ([{"enqueued": "-1", "seq": "1"}, {"enqueued": "5", "seq": "1"}], 0),
    ],
)
def test_counters_name_the_rank_out_of_step(
    ranks: list[dict[str, str]], laggard: int | None
) -> None:
    assert named(*ranks) == laggard


def test_counters_of_different_groups_are_not_compared() -> None:
    hits = [
        make_hit(TIMEOUT, 0, captures={"pg": "0", "enqueued": "500"}, rank=0),
        make_hit(TIMEOUT, 1, captures={"pg": "0", "enqueued": "500"}, rank=1),
        make_hit(TIMEOUT, 2, captures={"pg": "7", "enqueued": "3"}, rank=2),
    ]
    assert find_laggard(make_episode(*hits)) is None


def test_the_only_silent_rank_of_a_known_world_is_named() -> None:
    hits = [make_hit(TIMEOUT, r, captures={"seq": "5"}, rank=r) for r in (0, 1, 3)]
    episode = make_episode(*hits)
    assert find_laggard(episode) is None
    episode.ranks = RankMap({2: RankPlace("gpu-a01", "2")}, world_size=4)
    found = find_laggard(episode)
    assert found is not None
    assert found.rank == 2
    episode.ranks = RankMap(world_size=8)
    assert find_laggard(episode) is None


def test_a_rank_whose_last_work_all_others_have_completed_is_behind() -> None:
    behind = {"seq": "903", "enqueued": "903", "completed": "902"}
    ahead = {"seq": "912", "enqueued": "913", "completed": "911"}
    assert named(ahead, behind, ahead) == 1
    assert named(ahead, ahead) is None


def test_a_node_of_which_no_rank_says_anything_is_named() -> None:
    places = {rank: RankPlace(f"n{1 + rank // 2}") for rank in range(8)}
    episode = make_episode(*(make_hit(TIMEOUT, r, captures={"seq": "5"}, rank=r) for r in range(6)))
    episode.ranks = RankMap(places, world_size=8)
    found = find_laggard(episode)
    assert found is not None
    assert (found.rank, found.node) == (None, "n4")
    episode.ranks = RankMap(places | {6: RankPlace("n3")}, world_size=8)
    assert find_laggard(episode) is None


def test_all_ranks_of_one_node_that_lag_are_named_by_their_node() -> None:
    said = [{"enqueued": "12", "seq": "12"}] * 4 + [{"enqueued": "9", "seq": "9"}] * 2
    hits = [make_hit(TIMEOUT, i, captures=c, rank=i) for i, c in enumerate(said)]
    episode = make_episode(*hits)
    assert find_laggard(episode) is None
    episode.ranks = RankMap({rank: RankPlace(f"n{1 + rank // 2}") for rank in range(6)})
    found = find_laggard(episode)
    assert found is not None
    assert (found.rank, found.node) == (None, "n3")


def test_the_line_of_a_silent_rank_is_one_of_its_group() -> None:
    far = [make_hit(TIMEOUT, r, captures={"pg": "0", "seq": "5"}, rank=r) for r in (0, 1, 6, 7)]
    group = [make_hit(TIMEOUT, 10 + r, captures={"pg": "3", "seq": "9"}, rank=r) for r in (2, 4, 5)]
    episode = make_episode(*far, *group)
    episode.ranks = RankMap(world_size=8)
    found = find_laggard(episode)
    assert found is not None
    assert found.rank == 3
    assert found.hit is group[0]


def test_who_tells_of_its_counters_when_asked_and_had_not_begun_is_behind() -> None:
    waits = [make_hit(TIMEOUT, r, captures={"seq": "41", "pg": "all"}, rank=r) for r in (0, 1, 3)]
    told = make_hit(TIMEOUT, 9, captures={"enqueued": "39", "completed": "39"}, task=2)
    found = find_laggard(make_episode(*waits, told))
    assert found is not None
    assert (found.rank, found.hit is not None) == (2, True)
    joined = make_hit(TIMEOUT, 9, captures={"enqueued": "41", "completed": "40"}, task=2)
    assert find_laggard(make_episode(*waits, joined)) is None


def test_a_task_that_is_no_rank_tells_of_no_rank() -> None:
    waits = [
        make_hit(TIMEOUT, r, captures={"seq": "41"}, rank=r, task=r // 2) for r in (0, 1, 4, 5)
    ]
    told = make_hit(TIMEOUT, 9, captures={"enqueued": "39", "completed": "39"}, task=2)
    assert find_laggard(make_episode(*waits, told)) is None


@pytest.mark.parametrize(("others", "laggard"), [(9, 9), (4, None)])
def test_one_of_many_that_is_alone_with_an_earlier_collective_is_behind(
    others: int, laggard: int | None
) -> None:
    assert named(*[{"seq": "4021"}] * others, {"seq": "4019"}) == laggard
    assert named(*[{"seq": "4021"}] * (others - 1), {"seq": "4020"}, {"seq": "4019"}) is None
