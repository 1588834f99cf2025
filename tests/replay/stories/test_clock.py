"""Clocks jump: that of the machine that watches, and those of the nodes whose logs are read."""

from __future__ import annotations

from pathlib import Path

from clusters import MINUTE, Cluster, Job, clock

JUMPS, BY, ENDS = 5 * MINUTE, 60 * MINUTE, 4 * MINUTE


def story() -> tuple[Cluster, list[Job]]:
    """The watching machine's clock goes forward an hour, and the jobs never stopped."""
    cluster = Cluster()
    jobs = cluster.jobs(6, users=3)
    for job in jobs:
        job.start(1).train(5, JUMPS, 10).train(JUMPS + BY, JUMPS + BY + ENDS, 10)
        job.end(JUMPS + BY + ENDS, "COMPLETED")
    return cluster, jobs


def test_an_hour_in_which_nobody_looked_is_no_hang(tmp_path: Path) -> None:
    cluster, _ = story()
    told = cluster.told(skips=(JUMPS, JUMPS + BY))
    assert told.advice == []
    assert told.about_cluster() == []
    assert told.is_same_from_a_lake(cluster, tmp_path)


def test_a_log_whose_clock_goes_back_a_day_shows_a_job_that_works() -> None:
    cluster = Cluster()
    job = cluster.job(*cluster.nodes[:2]).start(1)
    for second in range(5, 2 * JUMPS, 10):
        wrong = second if second < JUMPS else second - 86_400
        job.step += 1
        job.say(second, f"[{clock(wrong, '%Y-%m-%d %H:%M:%S')}] iter {job.step}: loss 3.9")
    job.end(2 * JUMPS, "COMPLETED")
    assert cluster.told().advice == []


def test_a_fault_of_yesterday_by_a_node_whose_clock_is_wrong_blames_nobody() -> None:
    """Its kernel's line is a day old by its own clock: it may be of any job before."""
    cluster = Cluster()
    job = cluster.job(*cluster.nodes[:2]).start(1).train(5, JUMPS, 10)
    job.kernel(JUMPS, job.nodes[1], clock_second=JUMPS - 86_400)
    job.say(JUMPS + 1, "srun: error: task 1: Killed").end(JUMPS + 3)
    told = cluster.told()
    assert told.settled(job) == ["RESTART"]
    assert told.excluded == set()
    assert told.faults == []
