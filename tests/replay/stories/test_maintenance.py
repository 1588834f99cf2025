"""Maintenance comes: nodes are drained, a job reaches its deadline, another fails just before."""

from __future__ import annotations

from pathlib import Path

from clusters import KILLED, MINUTE, START, Cluster, Job
from relume.events import Actor

BEGINS = 30 * MINUTE
DEADLINE = (START + BEGINS) * 1_000_000
WORDS = "slurmstepd: error: *** JOB {job} ON {node} CANCELLED AT 2026-01-02T03:34:00 DUE TO TIME LIMIT ***"


def story() -> tuple[Cluster, dict[str, Job]]:
    cluster = Cluster()
    nodes = cluster.nodes
    early = cluster.job(*nodes[0:2], deadline=DEADLINE).start(1).train(5, 5 * MINUTE, 10)
    early.say(5 * MINUTE, KILLED.format(node=nodes[0])).end(5 * MINUTE + 2)
    late = cluster.job(*nodes[2:4], deadline=DEADLINE).start(1).train(5, 25 * MINUTE, 20)
    late.say(25 * MINUTE, KILLED.format(node=nodes[2])).end(25 * MINUTE + 2)
    cut = cluster.job(*nodes[4:6], deadline=DEADLINE).start(1).train(5, BEGINS, 20)
    cut.say(BEGINS, WORDS.format(job=cut.number, node=nodes[4])).end(BEGINS, "TIMEOUT")
    for node in nodes[:6]:
        cluster.node(20 * MINUTE, node, "MIXED+DRAIN", "firmware", Actor.ADMIN)
    return cluster, {"early": early, "late": late, "cut": cut}


def test_who_has_time_starts_again_who_has_none_stops_and_a_limit_is_no_failure(
    tmp_path: Path,
) -> None:
    cluster, jobs = story()
    told = cluster.told()
    assert told.settled(jobs["early"]) == ["RESTART"]
    assert told.settled(jobs["late"]) == ["STOP"]
    assert [one.value for one in {told.last(jobs["cut"])} if one] in ([], ["OBSERVE"])
    assert told.excluded == set()
    assert told.faults == []  # a person drained them
    assert told.about_cluster() == []
    assert told.is_same_from_a_lake(cluster, tmp_path)
