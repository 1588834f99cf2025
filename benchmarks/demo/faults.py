"""Endings of attempts: what a fault prints, on which file, and who is to blame.

Written from the grammar of the signature reference. Victims print first on purpose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from relume.benchmarks.demo.world import World


@dataclass(slots=True)
class Ending:
    """The lines of an ending by file role (`job`, or `kernel:NODE`) and its truth."""

    kind: str
    domain: str
    lines: dict[str, list[str]] = field(default_factory=dict)
    root: str | None = None
    """Words of the line that names the cause; null where no line does."""
    culprit: dict[str, Any] = field(default_factory=dict)

    def job(self, *lines: str) -> None:
        """Add lines to the job's log."""
        self.lines.setdefault("job", []).extend(lines)

    def kernel(self, node: str, *lines: str) -> None:
        """Add lines to a node's kernel log."""
        self.lines.setdefault(f"kernel:{node}", []).extend(lines)


def gpu_out_of_memory(world: World) -> Ending:
    """One rank runs out of GPU memory; the launcher reports it."""
    rank = world.pick_rank()
    gpu = rank % 8
    end = Ending("crash", "workload", root="Tried to allocate", culprit={"rank": rank})
    end.job(
        f"[rank{rank}]: Traceback (most recent call last):",
        f'[rank{rank}]:   File "/app/train.py", line 311, in forward',
        f"[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB. "
        f"GPU {gpu} has a total capacity of 79.15 GiB of which 301.00 MiB is free.",
        *_teardown(world, rank, 1),
    )
    return end


def python_error_everywhere(world: World) -> Ending:
    """The same deterministic error on every rank: nobody alone is to blame."""
    end = Ending("crash", "workload", root="KeyError: 'max_position'")
    for rank in range(min(world.ranks, 16)):
        end.job(
            f"[rank{rank}]: Traceback (most recent call last):",
            f'[rank{rank}]:   File "/app/config.py", line 42, in build',
            f"[rank{rank}]: KeyError: 'max_position'",
        )
    end.job(*_teardown(world, 0, 1))
    return end


def gpu_fell_off_the_bus(world: World) -> Ending:
    """Xid 79 in one node's kernel log; in the job's log only victims speak."""
    rank = world.pick_rank()
    node, gpu = world.node_of(rank), world.pci(rank % 8)
    stamp = world.now.strftime("%b %d %H:%M:%S")
    end = Ending("crash", "hardware", root="): 79,", culprit={"node": node, "gpu": gpu})
    end.kernel(
        node,
        f"{stamp} {node} kernel: NVRM: Xid (PCI:{gpu}): 79, pid='<unknown>', name=<unknown>, "
        "GPU has fallen off the bus.",
        f"{stamp} {node} kernel: NVRM: GPU {gpu}.0: GPU has fallen off the bus.",
        f"{stamp} {node} kernel: NVRM: Xid (PCI:{gpu}): 154, pid='<unknown>', GPU recovery action "
        "changed from 0x0 (None) to 0x2 (Node Reboot Required)",
    )
    end.job(*_timeouts(world, {rank}), *_teardown(world, (rank + 1) % world.ranks, -6))
    return end


def node_failure(world: World) -> Ending:
    """A node dies under the job; the line of slurmstepd names another, innocent node."""
    node = world.rng.choice(world.nodes[1:])
    stamp = world.now.strftime("%Y-%m-%dT%H:%M:%S")
    end = Ending("crash", "hardware", root="Node failure on", culprit={"node": node})
    end.job(
        f"srun: error: Node failure on {node}",
        "srun: Job step aborted: Waiting up to 62 seconds for job step to finish.",
        f"slurmstepd: error: *** STEP {world.job_id}.0 ON {world.nodes[0]} CANCELLED AT {stamp} "
        "DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
    )
    return end


def rank_never_joins(world: World) -> Ending:
    """One rank lags: its counter is lower than everybody else's."""
    rank = world.pick_rank()
    end = Ending("hang", "unknown", culprit={"rank": rank})
    end.job(*_timeouts(world, set(), lagging=rank))
    return end


def fabric_timeout(world: World) -> Ending:
    """A transport retry time-out between two nodes, then what follows from it."""
    node = world.nodes[0]
    end = Ending("crash", "network", root="status=12")
    end.job(
        f"{node}:4104:4477 [4] ib_plugin.c:1615 NCCL WARN NET/IB : Got completion from peer "
        "10.1.0.19<44206> with status=12 opcode=129 len=65536 vendor err 129 (Recv)",
        f"{node}:4104:4477 [4] NCCL INFO transport/net.cc:1298 -> 6",
        f"{node}:4104:4477 [4] ib_plugin.c:1615 NCCL WARN NET/IB : Got completion from peer "
        "10.1.0.19<44206> with status=5 opcode=32656 len=32659 vendor err 249 (Recv)",
        *_teardown(world, 4, -6),
    )
    return end


def host_out_of_memory(world: World) -> Ending:
    """The kernel kills a task in the job's own cgroup."""
    rank = world.pick_rank()
    end = Ending("crash", "workload", root="Out Of Memory")
    end.job(
        f"srun: error: {world.node_of(rank)}: task {rank}: Out Of Memory",
        f"slurmstepd: error: Detected 1 oom_kill event in StepId={world.job_id}.0. Some of the "
        "step tasks have been OOM Killed.",
    )
    return end


def time_limit(world: World) -> Ending:
    """The job ran into its limit: a scheduler's decision, not a fault."""
    stamp = world.now.strftime("%Y-%m-%dT%H:%M:%S")
    end = Ending("crash", "scheduler", root="DUE TO TIME LIMIT")
    end.job(
        f"slurmstepd: error: *** JOB {world.job_id} ON {world.nodes[0]} CANCELLED AT {stamp} DUE "
        "TO TIME LIMIT ***",
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
    )
    return end


def disk_full(world: World) -> Ending:
    """The checkpoint folder is full."""
    end = Ending("crash", "platform", root="[Errno 28]")
    end.job(
        "[rank0]: Traceback (most recent call last):",
        '[rank0]:   File "/app/checkpoint.py", line 88, in save',
        "[rank0]: OSError: [Errno 28] No space left on device: '/ckpt/iter_0001200'",
        *_teardown(world, 0, 1),
    )
    return end


def _timeouts(world: World, silent: set[int], lagging: int | None = None) -> list[str]:
    """A wave of watchdog time-outs, printed by everybody who waits."""
    sequence = world.rng.randrange(2_000, 90_000)
    stamp = f"{world.wait(600):%m%d %H:%M:%S}.482718123"
    lines = []
    ranks = [r for r in range(world.ranks) if r not in silent]
    world.rng.shuffle(ranks)
    for rank in ranks:
        enqueued = sequence - 1 if rank == lagging else sequence + 2
        head = f"[rank{rank}]:[E{stamp} ProcessGroupNCCL.cpp"
        if rank != lagging:
            lines.append(
                f"{head}:632] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL("
                f"SeqNum={sequence}, OpType=ALLREDUCE, NumelIn=304640, NumelOut=304640, "
                "Timeout(ms)=600000) ran for 600021 milliseconds before timing out."
            )
        lines.append(
            f"{head}:2168] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure detected by "
            f"watchdog at work sequence id: {sequence} PG status: last enqueued work: {enqueued}, "
            f"last completed work: {sequence - 1}"
        )
    return lines


def _teardown(world: World, rank: int, code: int) -> list[str]:
    """What the launcher prints around any failure: loud, late, and never the cause."""
    stamp = f"{world.wait(4):%m%d %H:%M:%S}.123000"
    api = "torch/distributed/elastic/multiprocessing/api.py"
    return [
        f"W{stamp} 4242 {api}:897] Sending process 4110 closing signal SIGTERM",
        (
            f"E{stamp} 4242 {api}:869] failed (exitcode: {code}) local_rank: {rank % 8} "
            f"(pid: {4100 + rank}) of binary: /usr/bin/python3"
        ),
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
    ]


FAULTS: dict[str, Callable[[World], Ending]] = {
    "gpu_out_of_memory": gpu_out_of_memory,
    "python_error_everywhere": python_error_everywhere,
    "gpu_fell_off_the_bus": gpu_fell_off_the_bus,
    "node_failure": node_failure,
    "rank_never_joins": rank_never_joins,
    "fabric_timeout": fabric_timeout,
    "host_out_of_memory": host_out_of_memory,
    "time_limit": time_limit,
    "disk_full": disk_full,
}
