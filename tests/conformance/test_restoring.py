"""What is put on disk at any moment of any story, and read back, goes on as if nothing had been."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clusters import Cluster, Job, at
from relume.events import Sample
from restoring import tell

LINES = (
    "[rank1]: Traceback (most recent call last):",
    "[rank1]: KeyError: 'vocab'",
    '  File "/app/train.py", line 3, in step',
    "torch.OutOfMemoryError: CUDA out of memory.",
    "RuntimeError: NCCL communicator was aborted on rank 0.",
    "saving checkpoint at iteration 100",
    "validation loss 3.1",
    "Mar  2 10:00:00 something dated without a year",
    "2026-01-02 03:04:30 a line with a clock",
    "loss nan",
)
ENDS = ("FAILED", "COMPLETED", "CANCELLED", "NODE_FAIL", "TIMEOUT", "PREEMPTED")
MOVES = st.one_of(
    st.tuples(st.just("train"), st.integers(5, 40)),
    st.tuples(st.just("slow"), st.integers(5, 30)),
    st.tuples(st.just("say"), st.sampled_from(LINES)),
    st.tuples(st.just("kernel"), st.integers(0, 1)),
    st.tuples(st.just("silence"), st.integers(30, 400)),
    st.tuples(st.just("measure"), st.integers(0, 100)),
    st.tuples(st.just("end"), st.sampled_from(ENDS)),
)


def move(job: Job, second: int, kind: str, value: Any) -> tuple[Job, int]:
    """Let a job do something; return who goes on, and when."""
    if kind in {"train", "slow"}:
        every = 1 if kind == "train" else 3
        job.train(second, second + value * every, every=every)
        return job, second + value * every
    if kind == "say":
        job.say(second, value)
    elif kind == "kernel":
        job.kernel(second, job.nodes[value % len(job.nodes)])
    elif kind == "silence":
        return job, second + value
    elif kind == "measure":
        measure(job, second, value)
    elif kind == "end":
        job.end(second, value)
        return job.again().start(second + 20), second + 21
    return job, second + 2


def measure(job: Job, second: int, value: int) -> None:
    for node in job.nodes:
        sample = Sample(
            source="metrics",
            cluster="lab",
            event_time=at(second),
            observed_at=at(second),
            node=node,
            gpu="0",
            metric="gpu_utilisation_ratio",
            value=value / 100,
        )
        job.cluster.land(second, sample)


def cluster_of(moves: list[list[tuple[str, Any]]]) -> Cluster:
    """Return a small cluster on which each job does its moves, one after the other."""
    cluster = Cluster(2 * len(moves))
    for job, theirs in zip(cluster.jobs(len(moves)), moves, strict=True):
        going, second = job.start(10), 12
        for kind, value in theirs:
            going, second = move(going, second, kind, value)
        cluster.node(second, going.nodes[0], "DOWN")
    return cluster


STORIES = st.lists(st.lists(MOVES, min_size=1, max_size=4), min_size=1, max_size=2)


@settings(max_examples=6, deadline=None)
@given(moves=STORIES, places=st.lists(st.floats(0, 1), min_size=1, max_size=3))
def test_restored_at_any_cut_it_says_and_knows_the_same(
    moves: list[list[tuple[str, Any]]], places: list[float]
) -> None:
    cluster = cluster_of(moves)
    landings = cluster.told().landings
    looks = range(0, len(landings), max(1, len(landings) // 4))
    straight = tell(landings, cluster.settings, looks=looks)
    cuts = {round(place * len(landings)) for place in places}
    assert tell(landings, cluster.settings, cuts=cuts, looks=looks).is_like(straight)


def test_restored_before_every_landing_it_says_and_knows_the_same() -> None:
    """One story with something of everything, short enough to be cut everywhere."""
    moves = [
        [("train", 30), ("measure", 90), ("silence", 100), ("say", LINES[1]), ("end", "FAILED")],
        [("train", 20), ("slow", 20), ("kernel", 1), ("say", LINES[4]), ("end", "NODE_FAIL")],
    ]
    cluster = cluster_of(moves)
    landings = cluster.told().landings
    straight = tell(landings, cluster.settings)
    assert straight.advice
    every = tell(landings, cluster.settings, cuts=range(0, len(landings), 3))
    assert every.is_like(straight)
