"""What lies beside the cause and is none: calm kernels, other jobs, old failures, clean-up."""

from __future__ import annotations

from random import Random

from relume.benchmarks.episodes.script import INFO, Script, clock


def calm_nodes(script: Script, *busy: str) -> None:
    """Let kernels of some nodes say what kernels say anyway, over the time of the episode."""
    world, rng = script.world, script.rng
    nodes = list(dict.fromkeys([*busy, *rng.sample(world.nodes, min(3, len(world.nodes)))]))
    if rng.random() < 0.3:
        old_faults(script, rng.choice(nodes))
    if rng.random() < 0.3:
        cleaned_up(script)
    end = script.now
    for node in nodes:
        for _ in range(rng.randrange(3, 9)):
            script.kernel(node, calm_line(script.rng), after=rng.uniform(0, end) - end, tells=())
        script.daemon(
            node,
            f"slurmd[3391]: launch task StepId={world.job_id}.0 request from UID:20031 GID:20031 "
            "HOST:10.12.0.2 PORT:41230",
            after=rng.uniform(0.2, 1.5) - end,
            tells=(),
        )


def calm_line(rng: Random) -> str:
    """Return what a kernel says anyway."""
    n = rng.randrange(100, 999)
    return rng.choice(
        (
            f'audit: type=1400 audit(17{n}00000.{n}:{n}): apparmor="ALLOWED" operation="open"',
            "perf: interrupt took too long (2513 > 2500), lowering kernel.perf_event_max_sample_rate to 79000",
            f"EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (page:0x{n}a offset:0x0)",
            "nvidia-uvm: Loaded the UVM driver, major device number 508.",
            "TCP: request_sock_TCP: Possible SYN flooding on port 29500. Sending cookies.",
            f"python[{n}]: memfd_create() called without MFD_EXEC or MFD_NOEXEC_SEAL set",
            "mlx5_core 0000:5e:00.0 ens1f0np0: Link up",
            "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode. Quota mode: none.",
            "process 'bin/nvidia-smi' launched with executable stack",
        )
    )


def controller_noise(script: Script) -> None:
    """Let slurmctld write of other jobs and other nodes, some of which fail."""
    world, rng = script.world, script.rng
    spare, other = rng.choice(world.spare_nodes), world.job_id + rng.randrange(1, 40)
    end = script.now
    for text in (
        f"sched: Allocate JobId={other} NodeList={spare} #CPUs=96 Partition=gpu",
        f"_job_complete: JobId={other} WEXITSTATUS 1",
        f"_job_complete: JobId={other} done",
        f"Node {spare} now responding",
        f"error: Nodes {spare} not responding",
        f"_slurm_rpc_submit_batch_job: JobId={other + 1} InitPrio=4294901 usec=611",
    ):
        script.controller(text, after=rng.uniform(0, end) - end, level=INFO)
    script.controller(
        f"sched/backfill: _start_job: Started JobId={world.job_id} in gpu on {world.hostlist()}",
        after=-end,
        level=INFO,
        lists_nodes=True,
    )


def cleaned_up(script: Script) -> None:
    """Let the driver of some nodes tell that channels of killed processes were taken away."""
    world, rng = script.world, script.rng
    for rank in rng.sample(range(world.ranks), min(3, world.ranks)):
        script.kernel(
            world.node_of(rank),
            f"NVRM: Xid (PCI:{world.pci(rank)}): 45, pid={world.pid(rank)}, name=python, Ch 0000000a",
            after=rng.uniform(0.5, 3.0),
            tells=(),
        )


def old_faults(script: Script, node: str) -> None:
    """Let a kernel tell of what happened to earlier jobs, a day and more ago."""
    script.kernel(
        node,
        script.rng.choice(
            (
                "NVRM: Xid (PCI:0000:9b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
                "Memory cgroup out of memory: Killed process 771 (python) total-vm:812kB, anon-rss:201kB",
                "mlx5_core 0000:18:00.0 ib0: Link down",
            )
        ),
        after=-script.now - script.rng.uniform(86_000, 400_000),
        tells=(),
        dated_only=True,
    )


def earlier_attempt(script: Script) -> None:
    """Let the job's file begin with an attempt before this one, which failed of something else."""
    world, rng = script.world, script.rng
    rank = world.some_rank()
    steps = rng.randrange(3, 9)
    script.now = -rng.uniform(900, 4_000)
    for step in range(1, steps):
        script.wait(2)
        script.rank(
            0,
            f"step: {step:>2}  loss: {9 - step * 0.1:.4f}  memory: 41.20GiB(52.1%)  tps: 2,911",
            level=INFO,
        )
    script.exception(
        rank,
        rng.choice(
            (
                "RuntimeError: CUDA error: uncorrectable ECC error encountered",
                "OSError: [Errno 116] Stale file handle: '/nfs/data/tokens/train_0007.bin'",
                "ConnectionError: HTTPSConnectionPool(host='hub.internal', port=443): Max retries exceeded",
            )
        ),
    )
    script.wait(3)
    if script.launcher in {"srun", "torchrun"}:
        script.launch(
            f"srun: error: {world.node_of(rank)}: task {rank}: Exited with exit code 1", after=0.5
        )
        script.launch(
            f"slurmstepd: error: *** JOB {world.job_id} ON {world.nodes[0]} CANCELLED AT "
            f"{clock('%Y-%m-%dT%H:%M:%S')} DUE TO JOB REQUEUE ***",
            after=4.0,
        )
    script.now = 0.0
    script.launch(f"=== restart 1 of job {world.job_id} ===", after=-1.0, level=INFO)
