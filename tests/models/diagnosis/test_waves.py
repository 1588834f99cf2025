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
