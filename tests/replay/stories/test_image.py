"""A bad image is rolled out: whoever starts with it fails in the first seconds, every user alike."""

from __future__ import annotations

from pathlib import Path

from clusters import MINUTE, Cluster, Job
from relume.advice import Operation

BROKEN = (
    "[rank0]: Traceback (most recent call last):",
    '[rank0]:   File "/home/{user}/{run}.py", line 3, in <module>',
    "[rank0]:     import torch",
    '[rank0]:   File "/opt/env/lib/python3.11/site-packages/torch/__init__.py", line 367, in <module>',
    "[rank0]:     from torch._C import *",
    "[rank0]: ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory",
)
ROLLED_OUT = 2 * MINUTE


def fails(job: Job, second: float) -> Job:
    lines = [line.format(user=job.user, run=job.run) for line in BROKEN]
    return job.start(second).say(second + 4, *lines).end(second + 6)


def works(job: Job, second: int, end: int) -> Job:
    return job.start(second).train(second + 10, end, 10).end(end, "COMPLETED")


def story() -> tuple[Cluster, list[Job]]:
    """Eight jobs of four users start within a minute."""
    cluster = Cluster()
    jobs = cluster.jobs(8, users=4)
    return cluster, [fails(job, ROLLED_OUT + 7 * number) for number, job in enumerate(jobs)]


def test_from_the_fifth_on_it_is_one_incident(tmp_path: Path) -> None:
    cluster, jobs = story()
    told = cluster.told()
    assert [told.settled(job)[0] for job in jobs] == ["RESTART"] * 4 + ["HOLD"] * 4
    assert told.excluded == set()
    assert told.about_cluster() == ["HOLD"]  # one incident
    assert told.is_same_from_a_lake(cluster, tmp_path)


def test_a_second_try_is_held_too_and_nobody_is_stopped_for_it() -> None:
    """The failure is the same again, but it isn't the user's bug: others have it, too."""
    cluster, jobs = story()
    again = [fails(job.again(), ROLLED_OUT + 90 + n) for n, job in enumerate(jobs[:4])]
    told = cluster.told()
    assert [told.settled(job)[0] for job in again] == ["HOLD"] * 4
    assert Operation.STOP not in {one.operation for one in told.advice}


def test_one_goes_ahead_to_see_whether_it_is_mended() -> None:
    """The first one that goes ahead fails again; the image is mended, and the second one trains."""
    cluster, jobs = story()
    first = fails(jobs[4].again(), 13 * MINUTE)
    second = works(jobs[5].again(), 25 * MINUTE, 28 * MINUTE)
    told = cluster.told()
    waiting = [told.settled(job) for job in (jobs[6], jobs[7], first)]
    assert waiting == [["HOLD", "RESTART"]] * 3
    assert [told.settled(job) for job in jobs[4:6]] == [["HOLD", "RESTART"]] * 2
    assert len(told.restarts(10 * MINUTE, 25 * MINUTE)) == 2  # the two that went ahead
    assert told.about(second) == []
    assert told.about_cluster() == ["HOLD", "OBSERVE"]


def test_a_bug_of_one_user_is_that_users() -> None:
    """The counterpart: eight jobs of one user, with one bug, are started again and then stopped."""
    bug = ("[rank0]: Traceback (most recent call last):", "[rank0]: ValueError: 4 channels, got 3")
    cluster = Cluster()
    jobs = cluster.jobs(8)
    for number, job in enumerate(jobs):
        begin = ROLLED_OUT + 7 * number
        job.start(begin).say(begin + 4, *bug).end(begin + 6)
    again = jobs[7].again().start(ROLLED_OUT + 90).say(ROLLED_OUT + 94, *bug).end(ROLLED_OUT + 96)
    told = cluster.told()
    assert [told.settled(job) for job in jobs] == [["RESTART"]] * 8
    assert told.settled(again) == ["STOP"]
