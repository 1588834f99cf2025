"""Each guard gets its facts from what lands: told of clusters, second by second."""

from __future__ import annotations

import pytest

from clusters import KILLED, MINUTE, START, Cluster, Job
from relume.events import Actor
from relume.models.policy.policy import Policy


def loses_a_gpu(job: Job, second: int) -> Job:
    job.start(second).train(second + 4, second + 60, 5).kernel(second + 60, job.nodes[0])
    job.say(second + 61, KILLED.format(node=job.nodes[0]))
    return job.end(second + 63)


def is_killed(job: Job, second: int) -> Job:
    """A failure of which nobody knows the cause."""
    return job.start(second).say(second + 5, KILLED.format(node=job.nodes[0])).end(second + 7)


def test_of_a_partition_only_so_many_nodes_are_left_out() -> None:
    cluster = Cluster(nodes=40)  # two of them
    jobs = [loses_a_gpu(job, 10 + 20 * n) for n, job in enumerate(cluster.jobs(3))]
    told = cluster.told()
    assert [told.settled(job) for job in jobs] == [
        ["RESTART_EXCLUDING"],
        ["RESTART_EXCLUDING"],
        ["RESTART"],
    ]


def test_a_node_that_is_left_out_already_counts_once() -> None:
    cluster = Cluster(nodes=40)
    jobs = [cluster.job("gpu-a07", f"gpu-a{10 + number}") for number in range(4)]
    for number, job in enumerate(jobs):
        loses_a_gpu(job, 10 + 70 * number)
    told = cluster.told()
    assert [told.settled(job) for job in jobs] == [["RESTART_EXCLUDING"]] * 4


@pytest.mark.parametrize(
    ("drained", "advice"), [(0, "RESTART_EXCLUDING"), (1, "RESTART_EXCLUDING"), (2, "RESTART")]
)
def test_there_must_be_enough_other_nodes_in_service(drained: int, advice: str) -> None:
    cluster = Cluster(nodes=6)
    for node in cluster.nodes[4 : 4 + drained]:
        cluster.node(5, node, "IDLE+DRAIN", "firmware", Actor.ADMIN)
    job = loses_a_gpu(cluster.job(*cluster.nodes[:4]), 10)
    assert cluster.told().settled(job) == [advice]


def test_tries_are_counted_within_the_window() -> None:
    policy = Policy(max_restarts=9, window_restarts=2, window_seconds=30 * MINUTE)
    cluster = Cluster(policy=policy)
    tries = [is_killed(cluster.job(*cluster.nodes[:2]), MINUTE)]
    for minute in (3, 5, 34):
        tries.append(is_killed(tries[-1].again(), minute * MINUTE))
    told = cluster.told()
    assert [told.settled(job)[-1] for job in tries] == ["RESTART", "RESTART", "STOP", "RESTART"]


@pytest.mark.parametrize(
    ("deadline", "advice"), [(None, "RESTART"), (90 * MINUTE, "RESTART"), (11 * MINUTE, "STOP")]
)
def test_what_cannot_be_done_by_the_deadline_is_not_begun(
    deadline: int | None, advice: str
) -> None:
    cluster = Cluster()
    time = None if deadline is None else (START + deadline) * 1_000_000
    job = is_killed(cluster.job(*cluster.nodes[:2], deadline=time), MINUTE)
    assert cluster.told().settled(job) == [advice]


def test_the_queue_is_part_of_the_cost() -> None:
    """It waited twenty minutes for its nodes, and would again: half an hour is too little."""
    cluster = Cluster()
    time = (START + 51 * MINUTE) * 1_000_000
    waited = is_killed(cluster.job(*cluster.nodes[:2], deadline=time), 25 * MINUTE)
    prompt = is_killed(
        is_killed(cluster.job(*cluster.nodes[2:4], deadline=time), MINUTE).again(), 2 * MINUTE
    )
    told = cluster.told()
    assert told.settled(waited) == ["STOP"]
    assert told.settled(prompt) == ["RESTART"]


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("job_requeued_in_held_state", "RESTART"),
        ("JobHeldUser", "OBSERVE"),
        ("JobHeldAdmin", "OBSERVE"),
    ],
)
def test_whoever_holds_the_job_by_hand_knows_better(reason: str, advice: str) -> None:
    cluster = Cluster()
    job = cluster.job(*cluster.nodes[:2]).start(1).say(5, KILLED.format(node="gpu-a01"))
    job.end(9, "REQUEUED", reason=reason)
    assert cluster.told().settled(job)[-1:] == [advice]


def test_who_starts_a_held_job_again_ends_its_hold() -> None:
    cluster = Cluster()
    jobs = [is_killed(job, 10 + n) for n, job in enumerate(cluster.jobs(6))]
    jobs[5].again().start(2 * MINUTE).train(130, 3 * MINUTE).end(3 * MINUTE, "COMPLETED")
    told = cluster.told()
    assert told.settled(jobs[5])[:2] == ["HOLD", "OBSERVE"]


def test_where_nobody_told_of_nodes_no_guard_speaks_of_them() -> None:
    cluster = Cluster(nodes=0)
    jobs = [cluster.job(f"n{n}", f"m{n}", partition=None) for n in range(4)]
    for number, job in enumerate(jobs):
        loses_a_gpu(job, 10 + 20 * number)
    told = cluster.told()
    assert [told.settled(job) for job in jobs] == [["RESTART_EXCLUDING"]] * 4
