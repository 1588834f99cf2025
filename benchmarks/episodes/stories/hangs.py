"""Jobs that stand still: somebody didn't come, and who that is must be worked out."""

from __future__ import annotations

from relume.benchmarks.episodes.endings import ended, peers_lost, taken_down, timeouts, told_to_dump
from relume.benchmarks.episodes.script import INFO, Script
from relume.benchmarks.episodes.stories.story import Story, trains, truth


def _behind(s: Script) -> None:
    """One rank's own watchdog says that it is behind the others."""
    trains(s)
    rank = s.world.some_rank()
    truth(s, "hang crash", "unknown platform hardware workload", rank=rank)
    everyone = list(range(s.world.ranks))
    s.rng.shuffle(everyone)
    by = s.rng.randrange(1, 6)
    if s.rng.random() < 0.5:
        timeouts(s, everyone, behind=lambda r: by if r == rank else 0)
        taken_down(s, everyone)
    else:
        others = s.others(rank)
        timeouts(s, others)
        told_to_dump(s, rank, first=others[-1], behind=by)
        taken_down(s, others)
    ended(s, s.others(rank)[0], code=-6, pointer=False)


def _silent(s: Script) -> None:
    """All ranks but one time out: it is the one that prints nothing."""
    trains(s)
    rank = s.world.some_rank()
    truth(s, "hang crash", "unknown platform hardware workload", rank=rank)
    s.no_cut = True
    others = s.others(rank)
    s.rng.shuffle(others)
    timeouts(s, others, roots=True)
    taken_down(s, others)
    ended(s, others[0], code=-6, pointer=False)


def _named(s: Script) -> None:
    """Something that knows who came names who didn't."""
    trains(s)
    rank = s.world.some_rank()
    truth(s, "hang crash", "unknown platform hardware workload", rank=rank)
    others = s.others(rank)
    s.wait(300, 1800)
    count = s.world.ranks
    known = [
        f"RuntimeError: Rank {rank} failed to pass monitoredBarrier in 1800000 ms",
        "[E ProcessGroupNCCL.cpp:1185] To our best knowledge, the lagging/dead/mismatched ranks that caused "
        f"the desync are:\n  - [{rank}] finished collective #4020, but didn't join collective #4021 "
        "(count from 1)",
    ]
    other = [
        "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: step_4021::0. "
        f"# of tasks that reached the barrier: {count - 1}/{count}. Some timed out task names: "
        f"/job:jax_worker/replica:0/task:{rank}",
        "UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats): "
        f"/job:jax_worker/replica:0/task:{rank}",
        "One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and "
        "are waiting for remainder of ranks for more than 60 seconds.\nMissing ranks:\n"
        f"{rank}: [grad.layers.0, grad.layers.1, grad.layers.2 ...]",
        f"step monitor: all but one rank reached step 4021; missing since 900 s: rank {rank}",
    ]
    text = s.say(known, other, slot="laggard_named")
    s.rank(
        0,
        text,
        roots=tuple(range(len(text.split("\n")))),
        tells={"rank"},
        raw=True,
    )
    s.wait(2, 4)
    peers_lost(s, others, lost=rank)
    ended(s, 0, code=1, pointer=False)


def _subgroup(s: Script) -> None:
    """A group of few ranks waits for one of them; everybody else waits for that group."""
    world = s.world
    s.rank(
        0,
        f"tensor parallel size: 4, pipeline parallel size: 1, data parallel size: {world.ranks // 4}",
        level=INFO,
    )
    trains(s)
    rank = world.some_rank()
    truth(s, "hang crash", "unknown platform hardware workload", rank=rank)
    s.no_cut = True
    first = rank // 4 * 4
    group = [r for r in range(first, first + 4) if r != rank]
    s.wait(600)
    words = s.say(["known"], ["other"])
    for member in group:
        inner = member - first
        if words == "known":
            text = (
                f"[PG ID 3 PG GUID 7(TENSOR_MODEL_PARALLEL_GROUP) Rank {inner}] Watchdog caught collective "
                f"operation timeout: WorkNCCL(SeqNum=51233, OpType=ALLREDUCE, NumelIn=8388608, "
                f"NumelOut=8388608, Timeout(ms)=600000) ran for {600_000 + s.rng.randrange(400)} milliseconds "
                "before timing out.\n"
                f"[PG ID 3 PG GUID 7(TENSOR_MODEL_PARALLEL_GROUP) Rank {inner}]  failure detected by watchdog "
                "at work sequence id: 51233 PG status: last enqueued work: 51233, last completed work: 51232"
            )
        else:
            text = (
                f"comm monitor: all_reduce #51233 on group tp[{first}-{first + 3}] has not completed after "
                f"600 s; rank {rank} has enqueued only up to #51232"
            )
        told = s.swap(
            f"[rank{member}]: {text}",
            "laggard_in_subgroup",
            rank=member,
            lost=rank,
            low=first,
            high=first + 3,
        )
        s.rank(
            member,
            told,
            after=s.rng.uniform(0, 1),
            raw=True,
            roots=(0, -1),
            tells={"rank"},
        )
    s.wait(1, 2)
    far = [r for r in range(world.ranks) if r not in {*group, rank}]
    timeouts(s, far, seconds=8, op="SEND", seq=1_102)
    ended(s, group[0], code=-6, pointer=False)


def _only_victims(s: Script) -> None:
    """The lines of the cause are lost: some ranks only say that others are gone."""
    trains(s)
    truth(s, "crash hang unknown", "unknown network platform")
    lost = s.world.some_rank()
    ranks = s.rng.sample(s.others(lost), s.world.ranks // 2)
    s.truth.also_ranks = (lost,)  # whom all have lost may be said
    peers_lost(s, ranks, lost=lost)
    ended(s, ranks[0], code=1, pointer=False)


def _stuck_process(s: Script) -> None:
    """A rank's own watchdog thread got stuck: the process that says so is wedged."""
    trains(s)
    rank = s.world.some_rank()
    truth(s, "hang crash", "unknown platform hardware workload", rank=rank)
    s.wait(480, 620)
    s.rank(
        rank,
        s.say(
            [
                f"[E ProcessGroupNCCL.cpp:1450] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] ProcessGroupNCCL's "
                "watchdog got stuck for 480 seconds without making progress in monitoring enqueued "
                "collectives.",
            ],
            [
                f"heartbeat: main thread of rank {rank} has not returned from cudaStreamSynchronize for 480 s, "
                "aborting this process",
                f'faulthandler: Timeout (0:08:00)! rank {rank} is stuck in File "/workspace/loop.py", line 61 in '
                "synchronize",
            ],
            slot="stuck_process",
        ),
        raw=True,
        roots=(0,),
        tells={"rank"},
    )
    s.wait(2, 5)
    peers_lost(s, s.others(rank), lost=rank)
    ended(s, rank, code=-6)


def _lost_heartbeat(s: Script) -> None:
    """The rendezvous misses a node."""
    trains(s)
    node = s.world.some_node()
    rank = s.world.ranks_of(node)[0]
    truth(s, "crash hang", "platform hardware network unknown", node=node, exclude=True)
    s.wait(30, 90)
    pid = s.world.pid(rank) - 50
    s.agent(
        s.world.nodes[0],
        s.say(
            [
                "W torch/distributed/elastic/rendezvous/dynamic_rendezvous.py:1010] The rendezvous removed "
                f"'{node}_{pid}_0' from the set of participants since they had no heartbeat: Detected dead node",
            ],
            [
                f"E elastic/master.py:71] [master] node {node} missed 3 heartbeats (limit 3), removed from the job",
                f"E volcano/plugin.py:40] agent of host {node} is unreachable, its {s.world.per_node} workers count "
                "as lost",
            ],
            slot="lost_heartbeat",
        ),
        roots=(0,),
        tells={"node"},
    )
    gone = set(s.world.ranks_of(node))
    peers_lost(s, [r for r in range(s.world.ranks) if r not in gone], lost=rank)
    ended(s, 0, code=1, pointer=False)


STORIES = (
    Story("laggard_says_so", _behind, 2),
    Story("laggard_silent", _silent, 2),
    Story("laggard_named", _named, 2),
    Story("laggard_in_subgroup", _subgroup, 2),
    Story("only_victims", _only_victims, 2),
    Story("stuck_process", _stuck_process, 2),
    Story("lost_heartbeat", _lost_heartbeat, 2),
)
