"""One node loses a GPU under every job that meets it: ten jobs, one after the other."""

from __future__ import annotations

from pathlib import Path

from clusters import KILLED, MINUTE, Cluster, Job

LEMON, LASTS, EVERY = "gpu-a07", 60, 12 * MINUTE


def story() -> tuple[Cluster, list[Job]]:
    """Each job comes to the lemon when the one before has left it; others work beside it."""
    cluster = Cluster()
    jobs = []
    for number in range(10):
        mate = cluster.nodes[10 + number]
        begin = 10 + number * EVERY
        job = cluster.job(LEMON, mate, user=f"user{number % 3}")
        job.start(begin).train(begin + 4, begin + LASTS, 5).kernel(begin + LASTS, LEMON)
        job.say(begin + LASTS + 1, KILLED.format(node=LEMON)).end(begin + LASTS + 3)
        jobs.append(job)
    return cluster, jobs


def test_every_job_goes_on_without_it_and_it_is_to_be_kept_from_the_next(tmp_path: Path) -> None:
    cluster, jobs = story()
    told = cluster.told()
    assert [told.settled(job) for job in jobs] == [["RESTART_EXCLUDING"]] * 10
    assert told.excluded == {LEMON}
    assert told.about_nodes() == [(LEMON, "HOLD")]
    assert told.about_cluster() == []
    assert told.is_same_from_a_lake(cluster, tmp_path)


def test_what_a_job_writes_makes_no_lemon() -> None:
    """A job may say what it likes of its nodes: no kernel says so."""
    cluster = Cluster()
    jobs = []
    for number in range(3):
        begin = 10 + number * EVERY
        job = cluster.job(LEMON, cluster.nodes[10 + number])
        job.start(begin).train(begin + 4, begin + LASTS)
        job.say(begin + LASTS, f"srun: error: Node failure on {LEMON}").end(begin + LASTS + 2)
        jobs.append(job)
    told = cluster.told()
    assert told.about_nodes() == []
    assert told.faults == []


def test_ten_jobs_at_once_on_one_shared_node_are_no_incident_of_the_cluster() -> None:
    cluster = Cluster()
    jobs = [cluster.job(LEMON, cluster.nodes[10 + n], user=f"user{n}") for n in range(10)]
    for job in jobs:
        job.start(1).train(5, LASTS, 5)
    jobs[0].kernel(LASTS, LEMON)
    for number, job in enumerate(jobs):
        job.say(LASTS + 1, KILLED.format(node=LEMON)).end(LASTS + 2 + number)
    told = cluster.told()
    assert [told.settled(job) for job in jobs] == [["RESTART_EXCLUDING"]] * 10
