"""An operator gives a node back to jobs while Relume still has something against it."""

from __future__ import annotations

from pathlib import Path

from clusters import KILLED, MINUTE, Cluster, Job
from relume.events import Actor

LEMON = "gpu-a07"


def loses_a_gpu(cluster: Cluster, begin: int, mate: str) -> Job:
    job = cluster.job(LEMON, mate).start(begin).train(begin + 4, begin + 60, 5)
    job.kernel(begin + 60, LEMON).say(begin + 61, KILLED.format(node=LEMON))
    return job.end(begin + 63)


def story() -> tuple[Cluster, list[Job]]:
    """Two jobs lose a GPU on it, it is held, somebody mends it, and it works again."""
    cluster = Cluster()
    other = cluster.job(*cluster.nodes[30:32], user="eve").start(1)
    other.train(5, 65 * MINUTE, 30).end(65 * MINUTE, "COMPLETED")
    jobs = [loses_a_gpu(cluster, 10, "gpu-a11"), loses_a_gpu(cluster, 15 * MINUTE, "gpu-a12")]
    cluster.node(40 * MINUTE, LEMON, "IDLE+DRAIN", "new riser", Actor.ADMIN)
    cluster.node(60 * MINUTE, LEMON, "IDLE")
    works = cluster.job(LEMON, "gpu-a13").start(61 * MINUTE).train(61 * MINUTE, 64 * MINUTE, 10)
    jobs.append(works.end(64 * MINUTE, "COMPLETED"))
    return cluster, jobs


def test_the_older_advice_ends_and_the_node_is_as_good_as_new(tmp_path: Path) -> None:
    cluster, jobs = story()
    told = cluster.told()
    assert told.about_nodes() == [(LEMON, "HOLD"), (LEMON, "OBSERVE")]
    assert told.about(jobs[2]) == []
    assert told.faults == []  # forgotten
    assert told.about_cluster() == []
    assert told.is_same_from_a_lake(cluster, tmp_path)


def test_one_fault_after_that_is_one_fault() -> None:
    cluster, _ = story()
    again = loses_a_gpu(cluster, 70 * MINUTE, "gpu-a14")
    told = cluster.told()
    assert told.settled(again) == ["RESTART_EXCLUDING"]
    assert told.about_nodes() == [(LEMON, "HOLD"), (LEMON, "OBSERVE")]


def test_a_job_that_hangs_by_the_node_is_left_to_who_gave_it_back() -> None:
    """The fault is seen, the job still hangs; the operator resumes the node before it ended."""
    cluster = Cluster()
    job = cluster.job(LEMON, "gpu-a11").start(1).train(5, 2 * MINUTE, 5).kernel(2 * MINUTE, LEMON)
    cluster.node(2 * MINUTE + 2, LEMON, "MIXED+DRAIN", "NHC: check_gpu: lost", Actor.CHECK)
    cluster.node(2 * MINUTE + 5, LEMON, "MIXED")
    job.end(3 * MINUTE)
    told = cluster.told()
    assert told.excluded == set()
    assert told.settled(job)[-1] == "OBSERVE"
