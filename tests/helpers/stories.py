"""Whole logs, written by us from the grammar of the references, and what must be said of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Story:
    """A log and what must be said of it; `root` are words of the root line, null for none."""

    log: str
    kind: str
    domain: str
    root: str | None = None
    culprit: dict[str, Any] | None = None
    operation: str | None = None
    excluded: tuple[str, ...] = ()


STORIES = {
    "victims print first, the rank that lags prints last": Story(
        """
[rank0]:[E302 10:20:30.100000001 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=880, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.
[rank0]:[E302 10:20:30.200000001 ProcessGroupNCCL.cpp:2168] [PG ID 0 PG GUID 0(default_pg) Rank 0]  failure detected by watchdog at work sequence id: 880 PG status: last enqueued work: 882, last completed work: 879
[rank1]:[E302 10:20:30.300000001 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=880, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600015 milliseconds before timing out.
[rank1]:[E302 10:20:30.400000001 ProcessGroupNCCL.cpp:2168] [PG ID 0 PG GUID 0(default_pg) Rank 1]  failure detected by watchdog at work sequence id: 880 PG status: last enqueued work: 882, last completed work: 879
[rank2]:[E302 10:20:30.500000001 ProcessGroupNCCL.cpp:2168] [PG ID 0 PG GUID 0(default_pg) Rank 2]  failure detected by watchdog at work sequence id: 880 PG status: last enqueued work: 879, last completed work: 879
""",
        "hang",
        "unknown",
        culprit={"rank": 2},
        operation="RESTART",
    ),
    "everybody waits in the same collective: nobody is named": Story(
        """
[rank0]:[E302 10:20:30.100000001 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=BROADCAST, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.
[rank1]:[E302 10:20:30.300000001 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=BROADCAST, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600015 milliseconds before timing out.
""",
        "hang",
        "unknown",
        root="SeqNum=12",
        culprit={},
        operation="HOLD",
    ),
    "an exception on one rank explains the time-outs of the others": Story(
        """
[rank5]: Traceback (most recent call last):
[rank5]:   File "/app/loop.py", line 10, in step
[rank5]: torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered
[rank1]:[E302 10:20:30.300000001 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600015 milliseconds before timing out.
""",
        "crash",
        "hardware",
        root="uncorrectable ECC",
        culprit={"rank": 5},
        operation="RESTART",
    ),
    "an illegal access on one rank, printed after the others had waited": Story(
        """
[rank1]:[E302 10:20:30.300000001 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600015 milliseconds before timing out.
[rank5]: Traceback (most recent call last):
[rank5]:   File "/app/loop.py", line 10, in step
[rank5]: torch.AcceleratorError: CUDA error: an illegal memory access was encountered
""",
        "crash",
        "workload",
        root="illegal memory access",
        culprit={"rank": 5},
    ),
    "the failed node is not the one that prints": Story(
        """
srun: error: Node failure on gpu-c04
slurmstepd: error: *** STEP 77.0 ON gpu-a01 CANCELLED AT 2026-03-02T10:00:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***
""",
        "crash",
        "hardware",
        root="Node failure on",
        culprit={"node": "gpu-c04"},
        operation="RESTART_EXCLUDING",
        excluded=("gpu-c04",),
    ),
    "a rank says what only srun may say": Story(
        """
[rank0]: srun: error: Node failure on gpu-z99
[rank3]: slurmctld: error: Nodes gpu-z98 not responding, setting DOWN
""",
        "unknown",
        "unknown",
        culprit={},
        operation="OBSERVE",
    ),
    "a rank quotes the kernel: alone that says nothing": Story(
        """
[rank2]: Oct 12 10:00:00 gpu-z01 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus.
""",
        "unknown",
        "unknown",
        operation="OBSERVE",
    ),
    "the last line of a traceback names any exception": Story(
        """
[rank4]: Traceback (most recent call last):
[rank4]:   File "/app/data.py", line 3, in read
[rank4]:     shard = open_shard(17)
[rank0]: waiting for the next batch
[rank4]: mypkg.errors.ShardMissing: shard 17 is missing
[rank0]: RuntimeError: NCCL communicator was aborted on rank 0.
""",
        "crash",
        "workload",
        root="ShardMissing",
        culprit={"rank": 4},
        operation="STOP",
    ),
    "of two ranks with one error nobody is named": Story(
        """
[rank0]: ValueError: hidden size must be divisible by 16
[rank1]: ValueError: hidden size must be divisible by 16
""",
        "crash",
        "workload",
        root="[rank0]",
        culprit={},
        operation="STOP",
    ),
    "the earlier clock wins over the earlier line": Story(
        """
2026-03-02 10:00:05 [rank2]: RuntimeError: CUDA error: misaligned address
2026-03-02 10:00:01 [rank6]: RuntimeError: CUDA error: an illegal memory access was encountered
""",
        "crash",
        "workload",
        root="[rank6]",
        culprit={"rank": 6},
    ),
    "what somebody has to mend first is held": Story(
        """
[rank1]: OSError: [Errno 122] Disk quota exceeded: '/home/someone/ckpt'
""",
        "crash",
        "platform",
        operation="HOLD",
    ),
    "a killed process without a witness": Story(
        """
W0302 10:00:00.100000 4242 torch/distributed/elastic/multiprocessing/api.py:897] Sending process 5001 closing signal SIGTERM
E0302 10:00:00.200000 4242 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 3 (pid: 5004) of binary: /usr/bin/python3
""",
        "crash",
        "unknown",
        root="exitcode: -9",
        culprit={"local_rank": 3},
    ),
    "a killed process with a witness": Story(
        """
srun: error: gpu-a02: task 3: Killed
slurmstepd: error: Detected 1 oom_kill event in StepId=77.0. Some of the step tasks have been OOM Killed.
""",
        "crash",
        "workload",
        root="oom_kill event",
        operation="STOP",
    ),
    "a failure that the job got over is no failure": Story(
        "wandb: Network error (ConnectTimeout), entering retry loop.\n"
        "OSError: [Errno 5] Input/output error: '/mnt/data/shard'\n"
        + "\n".join(f"iter {n}: loss 3.90{n % 10}, time 512.10ms" for n in range(40, 60)),
        "benign",
        "unknown",
        operation="OBSERVE",
    ),
    "the time limit ends a healthy job": Story(
        "\n".join(f"iter {n}: loss 3.90{n % 10}, time 512.10ms" for n in range(40, 60))
        + "\nslurmstepd: error: *** JOB 77 ON gpu-a01 CANCELLED AT 2026-03-02T10:00:00 DUE TO TIME LIMIT ***"
        "\nTraceback (most recent call last):\nKeyboardInterrupt",
        "crash",
        "scheduler",
        root="TIME LIMIT",
        culprit={},
        operation="OBSERVE",
    ),
    "start-up banners full of frightening words": Story(
        """
  distributed_timeout_minutes ..................... 10
  exit_on_missing_checkpoint ...................... True
I0302 10:00:01.482718 4100 ProcessGroupNCCL.cpp:980] [PG ID 0 PG GUID 0 Rank 0] ProcessGroupNCCL environments: TORCH_NCCL_ASYNC_ERROR_HANDLING: 3, TORCH_NCCL_DUMP_ON_TIMEOUT: 1
gpu-a01:4100:4310 [0] NCCL INFO NET/Plugin : No plugin found (libnccl-net.so), using internal implementation
UserWarning: failed lookups are killed silently; set error=raise to abort
""",
        "unknown",
        "unknown",
        operation="OBSERVE",
    ),
    "a steady run that gets a third slower and stays so": Story(
        "\n".join(f"iter {n}: loss 3.9, time {500 + n % 3}.10ms" for n in range(100, 140))
        + "\n"
        + "\n".join(f"iter {n}: loss 3.9, time {670 + n % 3}.10ms" for n in range(140, 170)),
        "straggler",
        "unknown",
        root="iter 140:",
    ),
}
