"""A switch dies: six jobs behind it fail one after the other, six behind another train on."""

from __future__ import annotations

from pathlib import Path

from clusters import MINUTE, Cluster, Job
from relume.advice import Operation
from relume.events import Actor

DIES, ANSWERS, ENDS = 4 * MINUTE, 30 * MINUTE, 32 * MINUTE
RETRIES = (
    "{node}:4242:4300 [0] transport/net_ib.cc:1298 NCCL WARN NET/IB : Got completion from peer "
    "10.0.0.7<45678> with status=12 opcode=0 len=0 vendor err 129 (Recv)"
)
WATCHDOG = (
    "[rank{rank}]:[E102 03:24:00.100000001 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught "
    "collective operation timeout: WorkNCCL(SeqNum=880, OpType=ALLREDUCE, NumelIn=4096, "
    "NumelOut=4096, Timeout(ms)=600000) ran for 600012 milliseconds before timing out."
)


def story() -> tuple[Cluster, list[Job], list[Job]]:
    cluster = Cluster()
    struck, others = cluster.jobs(6, users=4), cluster.jobs(6, users=4, first=32)
    for job in others:
        job.start(1).train(5, ENDS, 20).end(ENDS, "COMPLETED")
    for number, job in enumerate(struck):
        job.start(1).train(5, DIES, 10)
        if number < 3:  # the network card gives up
            ends = DIES + 45 + 3 * number
            job.say(ends, RETRIES.format(node=job.nodes[0])).end(ends + 2)
        else:  # nobody answers, until the watchdog's time is over
            ends = DIES + 600 + number
            job.say(ends, WATCHDOG.format(rank=0), WATCHDOG.format(rank=1)).end(ends + 3)
        for node in job.nodes:
            cluster.node(DIES + 300, node, "DOWN*", "Not responding", Actor.SLURM)
            cluster.node(ANSWERS, node, "IDLE")
    return cluster, struck, others


def test_nobody_is_blamed_and_nobody_starts_again_until_it_answers(tmp_path: Path) -> None:
    cluster, struck, others = story()
    told = cluster.told()
    assert told.restarts(0, ANSWERS) == []
    assert told.excluded == set()
    assert [told.about(job) for job in others] == [[]] * 6
    assert [told.last(job) for job in struck[:3]] == [Operation.HOLD] * 3  # until it expires
    assert [told.settled(job)[-2:] for job in struck[3:]] == [["HOLD", "RESTART"]] * 3
    assert told.faults == []  # nodes that went down together are no lemons
    assert told.about_cluster() == ["HOLD", "OBSERVE"]  # one incident
    assert told.is_same_from_a_lake(cluster, tmp_path)
