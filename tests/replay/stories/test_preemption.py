"""A big job preempts ten small ones at once; what they print at their end looks terrible."""

from __future__ import annotations

from pathlib import Path

from clusters import MINUTE, Cluster, Job

ENDS = 5 * MINUTE
TERRIBLE = (
    "slurmstepd: error: *** JOB {job} ON {node} CANCELLED AT 2026-01-02T03:09:00 DUE TO PREEMPTION ***",
    "[rank0]: RuntimeError: NCCL communicator was aborted on rank 0.",
    "srun: error: {node}: task 1: Terminated",
)


def story() -> tuple[Cluster, list[Job], Job]:
    """A job of somebody else fails in the same minute, by a fault of its own."""
    cluster = Cluster()
    jobs = cluster.jobs(10, users=5)
    for job in jobs:
        job.start(1).train(5, ENDS, 10)
        lines = [line.format(job=job.number, node=job.nodes[0]) for line in TERRIBLE]
        job.say(ENDS, *lines).end(ENDS + 1, "PREEMPTED", exit_code=0, signal=15)
    other = cluster.job(*cluster.nodes[40:42], user="eve").start(1).train(5, ENDS, 10)
    other.kernel(ENDS, other.nodes[1]).say(ENDS + 1, "srun: error: task 1: Killed").end(ENDS + 3)
    return cluster, jobs, other


def test_the_scheduler_is_left_alone_and_the_other_is_no_part_of_it(tmp_path: Path) -> None:
    cluster, jobs, other = story()
    told = cluster.told()
    assert {one.operation.value for job in jobs for one in told.about(job) if one.settled} <= {
        "OBSERVE"
    }
    assert told.restarts(0, ENDS + 3) == []
    assert told.settled(other) == ["RESTART_EXCLUDING"]
    assert told.excluded == {other.nodes[1]}
    assert told.about_cluster() == []
    assert told.is_same_from_a_lake(cluster, tmp_path)
