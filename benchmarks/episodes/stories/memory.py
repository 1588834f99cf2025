"""Memory of hosts and GPUs that runs out."""

from __future__ import annotations

from relume.benchmarks.episodes.endings import ended, peers_lost
from relume.benchmarks.episodes.script import Script
from relume.benchmarks.episodes.stories.story import Story, trains, truth

_STEP = (
    ("/workspace/train.py", 318, "<module>", "main(parse_args())"),
    ("/workspace/model.py", 204, "forward", "scores = q @ k.transpose(-2, -1)"),
)


def _cuda_words(s: Script, gpu: int) -> str:
    return s.say(
        [
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU "
            f"{gpu} has a total capacity of 79.11 GiB of which 1.02 GiB is free. Including non-PyTorch "
            "memory, this process has 78.08 GiB memory in use.",
        ],
        [
            "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
            "allocate 2684354560 bytes.",
            "RuntimeError: hipErrorOutOfMemory: failed to reserve 2.50 GiB in the caching pool",
            "cudaMalloc of 2684354560 bytes failed: out of memory (arena 'activations')",
        ],
        slot="cuda_oom",
        device=gpu,
    )


def _cuda_one(s: Script) -> None:
    trains(s)
    rank = s.world.some_rank()
    truth(s, "crash", "workload", rank=rank)
    s.exception(
        rank,
        _cuda_words(s, s.world.local(rank)),
        frames=_STEP,
        root=True,
        late=s.rng.choice((0, 6)),
    )
    peers_lost(s, s.others(rank), lost=rank, after=0.5)
    ended(s, rank, code=1)


def _cuda_all(s: Script) -> None:
    s.wait(20, 60)
    truth(s, "crash", "workload")
    for rank in range(s.world.ranks):
        s.exception(
            rank,
            _cuda_words(s, s.world.local(rank)),
            frames=_STEP,
            root=True,
            after=s.rng.uniform(0, 2),
        )
    s.wait(2, 4)
    ended(s, s.rng.randrange(s.world.ranks), code=1, pointer=False)


def _cgroup(s: Script) -> None:
    """The job's own limit: one task is killed, and that is nobody's hardware."""
    trains(s)
    rank = s.world.some_rank()
    world = s.world
    node, pid = world.node_of(rank), world.pid(rank)
    truth(s, "crash", "workload", rank=rank)
    s.truth.state, s.truth.exit_code = "OUT_OF_MEMORY", "0:125"
    has_kernel = s.rng.random() < 0.6
    if has_kernel:
        s.kernel(
            node,
            s.say(
                [
                    f"Memory cgroup out of memory: Killed process {pid} (python) total-vm:912837412kB, "
                    "anon-rss:201326592kB, file-rss:118212kB, shmem-rss:4123kB, UID:20031 "
                    "pgtables:412312kB oom_score_adj:0",
                ],
                [
                    f"oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/slurm/uid_20031/job_{world.job_id},"
                    f"task=python,pid={pid},uid=20031",
                    f"oom_reaper: reaped process {pid} (python) of memcg /system.slice/slurmstepd.scope/"
                    f"job_{world.job_id}/step_0",
                ],
                slot="cgroup_oom",
            ),
            roots=(0,),
        )
    s.wait(0.5, 2)
    if s.launcher in {"srun", "torchrun"} and (not has_kernel or s.rng.random() < 0.7):
        s.launch(
            s.swap(
                f"slurmstepd: error: Detected 1 oom_kill event in StepId={world.job_id}.0. Some of the step "
                "tasks have been OOM Killed.",
                "cgroup_oom/step",
            ),
            roots=(0,),
        )
        s.launch(
            s.swap(f"srun: error: {node}: task {rank}: Out Of Memory", "cgroup_oom/launcher"),
            roots=(0,),
            tells={"node", "rank"},
            after=0.3,
        )
        peers_lost(s, s.others(rank), lost=rank, after=0.5)
        s.wait(3)
        return
    if not has_kernel:
        s.launch(
            s.swap(
                f"launcher: process {rank} on {node} was killed: memory limit of the job (192 GiB) reached",
                "cgroup_oom/launcher",
            ),
            roots=(0,),
            tells={"node", "rank"},
        )
        s.used_new = True
    peers_lost(s, s.others(rank), lost=rank, after=0.5)
    ended(s, rank, code=-9)


def _foreign_hog(s: Script) -> None:
    """Something that is not the job's eats the memory of a node."""
    trains(s)
    rank = s.world.some_rank()
    node, pid = s.world.node_of(rank), s.world.pid(rank)
    truth(s, "crash", "platform", rank=rank, exclude=True)
    s.kernel(
        node,
        s.say(
            [
                "mmfsd invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0"
            ],
            ["node_exporter invoked oom-killer: gfp_mask=0x140dca, order=0, oom_score_adj=-999"],
            slot="foreign_memory_hog",
        ),
        roots=(0,),
    )
    s.kernel(
        node,
        s.swap(
            f"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,"
            f"task_memcg=/slurm/job_{s.world.job_id},task=python,pid={pid},uid=20031",
            "foreign_memory_hog/chosen",
        ),
        after=0.1,
        roots=(0,),
    )
    s.kernel(
        node,
        s.swap(
            f"Out of memory: Killed process {pid} (python) total-vm:91283741kB, anon-rss:81326592kB, "
            "file-rss:118212kB, shmem-rss:4123kB, UID:20031 pgtables:412312kB oom_score_adj:0",
            "foreign_memory_hog/killed",
        ),
        after=0.2,
        roots=(0,),
    )
    s.wait(0.5, 2)
    peers_lost(s, s.others(rank), lost=rank)
    ended(s, rank, code=-9)


def _loader(s: Script) -> None:
    """The kernel kills a worker of a data loader, the rank dies of it."""
    trains(s)
    rank = s.world.some_rank()
    node, pid = s.world.node_of(rank), s.world.pid(rank) + 777
    truth(s, "crash", "workload", rank=rank)
    if s.rng.random() < 0.5:
        s.kernel(
            node,
            s.swap(
                f"Memory cgroup out of memory: Killed process {pid} (pt_data_worker) total-vm:91283741kB, "
                "anon-rss:20132659kB, file-rss:18212kB, shmem-rss:912kB, UID:20031",
                "data_loader_killed/kernel",
                pid=pid,
            ),
            roots=(0,),
        )
    s.wait(0.5, 1.5)
    s.exception(
        rank,
        s.say(
            [
                f"RuntimeError: DataLoader worker (pid {pid}) is killed by signal: Killed. ",
                f"RuntimeError: DataLoader worker (pid(s) {pid}) exited unexpectedly",
            ],
            [
                f"grain.python.multiprocessing: worker process {pid} died with exit code -9",
                f"mosaicml streaming: prefetch process {pid} got SIGKILL",
            ],
            slot="data_loader_killed",
            pid=pid,
        ),
        root=True,
    )
    peers_lost(s, s.others(rank), lost=rank)
    ended(s, rank, code=1)


def _shared_memory(s: Script) -> None:
    trains(s)
    rank = s.world.some_rank()
    pid = s.world.pid(rank) + 31
    truth(s, "crash", "workload platform", also=(rank,))
    s.rank(
        rank,
        s.say(
            [
                "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient "
                "shared memory (shm).",
            ],
            [
                "shared tensor pool: mapping 1.2 GiB in /dev/shm failed: bus error, segment is too small"
            ],
            slot="shared_memory_too_small",
            rank=rank,
        ),
        roots=(0,),
        raw=True,
    )
    s.exception(
        rank,
        s.swap(
            f"RuntimeError: DataLoader worker (pid {pid}) is killed by signal: Bus error. It is possible that "
            "dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
            "shared_memory_too_small/error",
            rank=rank,
            pid=pid,
        ),
        after=0.3,
        root=True,
    )
    peers_lost(s, s.others(rank), lost=rank, after=0.5)
    ended(s, rank, code=1)


def _gpu_taken(s: Script) -> None:
    """A process that is not the job's holds a GPU of one node."""
    s.wait(4, 9)
    rank = s.world.some_rank()
    gpu = s.world.local(rank)
    truth(s, "crash", "platform workload", rank=rank, exclude=True)
    s.exception(
        rank,
        s.say(
            [
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU "
                f"{gpu} has a total capacity of 79.11 GiB of which 211.00 MiB is free. Process 4021877 has "
                "76.20 GiB memory in use. Process 4021878 has 1.31 GiB memory in use. Including "
                "non-PyTorch memory, this process has 1.32 GiB memory in use.",
            ],
            [
                f"RuntimeError: GPU {gpu} is not free: pid 4021877 (python, uid 20977) holds 76.2 GiB "
                "and is not of this job",
            ],
            slot="gpu_held_by_stranger",
        ),
        root=True,
    )
    peers_lost(s, s.others(rank), lost=rank)
    ended(s, rank, code=1)


STORIES = (
    Story("cuda_oom_one_rank", _cuda_one, 2),
    Story("cuda_oom_all_ranks", _cuda_all, 1),
    Story("cgroup_oom", _cgroup, 2),
    Story("foreign_memory_hog", _foreign_hog, 2),
    Story("data_loader_killed", _loader, 2),
    Story("shared_memory_too_small", _shared_memory, 1),
    Story("gpu_held_by_stranger", _gpu_taken, 2),
)
