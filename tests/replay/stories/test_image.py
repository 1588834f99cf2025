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
ROLLED_OUT, SETTLED = 2 * MINUTE, 2 * MINUTE + 60


def fails(job: Job, second: float) -> Job:
    lines = [line.format(user=job.user, run=job.run) for line in BROKEN]
    return job.start(second).say(second + 4, *lines).end(second + 6)


def story() -> tuple[Cluster, list[Job]]:
    """Eight jobs of four users start within a minute, and start again where they may."""
    cluster = Cluster()
    jobs = [
        fails(job, ROLLED_OUT + 7 * number) for number, job in enumerate(cluster.jobs(8, users=4))
    ]
    return cluster, jobs


def test_from_the_fifth_on_it_is_one_incident(tmp_path: Path) -> None:
    cluster, jobs = story()
    told = cluster.told()
    assert [told.settled(job)[0] for job in jobs] == ["RESTART"] * 4 + ["HOLD"] * 4
    assert told.excluded == set()
    assert told.is_same_from_a_lake(cluster, tmp_path)


def test_a_second_try_is_held_too_and_nobody_is_stopped_for_it() -> None:
    """The failure is the same again, but it isn't the user's bug: others have it, too."""
    cluster, jobs = story()
    again = [
        fails(job.again(ROLLED_OUT + 90 + n), ROLLED_OUT + 90 + n) for n, job in enumerate(jobs[:4])
    ]
    told = cluster.told()
    assert [told.settled(job)[0] for job in again] == ["HOLD"] * 4
    assert Operation.STOP not in {one.operation for one in told.advice}


def test_a_bug_of_one_user_is_that_users() -> None:
    """The counterpart: eight jobs of one user, with one bug, are started again and then stopped."""
    cluster = Cluster()
    jobs = [fails(job, ROLLED_OUT + 7 * n) for n, job in enumerate(cluster.jobs(8))]
    again = fails(jobs[7].again(ROLLED_OUT + 90), ROLLED_OUT + 90)
    told = cluster.told()
    assert [told.settled(job) for job in jobs] == [["RESTART"]] * 8
    assert told.settled(again) == ["STOP"]
