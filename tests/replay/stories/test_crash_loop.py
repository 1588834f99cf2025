"""One job fails by its own bug, again and again, while others train on."""

from __future__ import annotations

from pathlib import Path

from clusters import MINUTE, Cluster, Job

BUG = (
    "[rank0]: Traceback (most recent call last):",
    '[rank0]:   File "/home/ada/train.py", line 88, in step',
    "[rank0]:     loss = model(batch)",
    "[rank0]: ValueError: expected 4 channels, got 3",
)


def fails(job: Job, second: int) -> Job:
    return job.start(second).say(second + 5, *BUG).end(second + 7)


def story() -> tuple[Cluster, list[Job], list[Job]]:
    """The user, or a script of the user's, starts it again whatever Relume says."""
    cluster = Cluster()
    loop, *others = cluster.jobs(4, users=2)
    tries = [fails(loop, MINUTE)]
    for number in range(2, 7):
        tries.append(fails(tries[-1].again(), number * MINUTE))
    for job in others:
        job.start(1).train(5, 8 * MINUTE, 10).end(8 * MINUTE, "COMPLETED")
    return cluster, tries, others


def test_it_is_tried_once_more_and_then_stopped_for_good(tmp_path: Path) -> None:
    cluster, tries, others = story()
    told = cluster.told()
    assert [told.settled(job) for job in tries] == [["RESTART"]] + [["STOP"]] * 5
    assert [told.about(job) for job in others] == [[]] * 3
    assert told.excluded == set()
    assert told.about_cluster() == []
    assert told.is_same_from_a_lake(cluster, tmp_path)
