"""The filesystem stalls for twenty minutes: every job is silent, then each goes on."""

from __future__ import annotations

from pathlib import Path

from clusters import KILLED, MINUTE, Cluster, Job
from relume.advice import Operation

STALLS, GOES_ON, ENDS = 4 * MINUTE, 24 * MINUTE, 26 * MINUTE


def story() -> tuple[Cluster, list[Job]]:
    cluster = Cluster()
    jobs = cluster.jobs(6, users=3)
    for number, job in enumerate(jobs):
        job.start(1).train(5, STALLS + 2 * number, 10).train(GOES_ON + number, ENDS, 10)
        job.end(ENDS, "COMPLETED")
    return cluster, jobs


def test_it_is_waited_for_and_everything_is_taken_back(tmp_path: Path) -> None:
    cluster, jobs = story()
    told = cluster.told()
    assert told.restarts(0, ENDS) == []
    assert {one.operation.value for job in jobs for one in told.about(job)} == {"HOLD", "OBSERVE"}
    assert {told.last(job) for job in jobs} == {Operation.OBSERVE}
    assert told.excluded == set()
    assert told.about_cluster() == ["HOLD", "OBSERVE"]  # one incident
    assert told.is_same_from_a_lake(cluster, tmp_path)


def test_one_that_hangs_alone_is_started_again() -> None:
    """The counterpart: it is not that hangs are left alone."""
    cluster = Cluster()
    alone, *others = cluster.jobs(6, users=3)
    alone.start(1).train(5, STALLS, 10)
    for job in others:
        job.start(1).train(5, 11 * MINUTE, 10).end(11 * MINUTE, "COMPLETED")
    alone.end(11 * MINUTE, "CANCELLED")
    told = cluster.told()
    assert "RESTART" in told.settled(alone)
    assert [told.about(job) for job in others] == [[]] * 5


def test_a_time_in_which_nobody_looked_lets_nobody_go() -> None:
    """One job crashed by it and is held; the service is away for a minute, and it still stalls."""
    cluster = Cluster()
    jobs = cluster.jobs(7, users=3)
    for job in jobs:
        job.start(1).train(5, STALLS, 10)
    crashed = STALLS + 60
    jobs[0].say(crashed, KILLED.format(node=jobs[0].nodes[0])).end(crashed + 2)
    for job in jobs[1:]:
        job.train(10 * MINUTE, 11 * MINUTE, 10).end(11 * MINUTE, "COMPLETED")
    told = cluster.told(skips=(crashed + 30, crashed + 90))
    assert told.settled(jobs[0]) == ["HOLD", "RESTART"]
    assert told.restarts(0, 10 * MINUTE) == []
