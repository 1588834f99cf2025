"""The log pipe is cut: nothing of any job can be read for a quarter of an hour, and all work on."""

from __future__ import annotations

from pathlib import Path

from clusters import MINUTE, Cluster, Job
from relume.verdict import Health

CUT, MENDED, ENDS = 4 * MINUTE, 19 * MINUTE, 21 * MINUTE


def story() -> tuple[Cluster, list[Job]]:
    cluster = Cluster()
    jobs = cluster.jobs(6, users=3)
    for job in jobs:
        job.start(1).train(5, CUT, 10)
        cluster.land(CUT + 1, job.health(CUT + 1, Health.UNHEALTHY, "stale file handle"))
        cluster.land(MENDED, job.health(MENDED, Health.HEALTHY, None))
        job.train(MENDED + 2, ENDS, 10).end(ENDS, "COMPLETED")
    return cluster, jobs


def test_what_nobody_can_read_is_no_hang_of_anybody(tmp_path: Path) -> None:
    cluster, _ = story()
    told = cluster.told()
    assert told.advice == []
    assert told.about_cluster() == []
    assert told.is_same_from_a_lake(cluster, tmp_path)


def test_who_fails_meanwhile_is_known_by_the_scheduler_alone() -> None:
    cluster, jobs = story()
    lost = cluster.job(*cluster.nodes[40:42], user="eve").start(1).train(5, CUT, 10)
    cluster.land(CUT + 1, lost.health(CUT + 1, Health.UNHEALTHY, "stale file handle"))
    lost.end(CUT + 60)
    told = cluster.told()
    assert told.settled(lost) == ["RESTART"]
    assert told.excluded == set()
    assert [told.about(job) for job in jobs] == [[]] * 6
