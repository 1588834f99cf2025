"""What every episode begins with: the launch, the ranks' places, steps, and noise between them."""

from __future__ import annotations

from collections.abc import Callable

from relume.benchmarks.episodes.script import INFO, WARNING, Script

_MAX_PLACED = 256
"""Ranks that print where they are: more would say the same."""


def launch(script: Script) -> None:
    """Print the job's head: nodes, world size, and from where each rank runs."""
    world, rng = script.world, script.rng
    if rng.random() < 0.5:
        script.launch(_header(script), level=INFO, lists_nodes=True)
    if script.launcher == "torchrun":
        for node in world.nodes[:32]:
            script.agent(
                node, "W torch/distributed/run.py:793] OMP_NUM_THREADS is set to 1", level=WARNING
            )
    script.wait(2, 9)
    if rng.random() < 0.5:
        _places(script)
    script.wait(5, 40)


def _header(script: Script) -> str:
    world = script.world
    names = world.hostlist()
    return script.say(
        [
            f"SLURM_JOB_NODELIST={names}\nSLURM_NTASKS_PER_NODE={world.per_node} "
            f"SLURM_NTASKS={world.ranks}",
            f"NODELIST={names} NNODES={len(world.nodes)} GPUS_PER_NODE={world.per_node}",
        ],
        [
            f"+ srun --nodes={len(world.nodes)} --ntasks-per-node={world.per_node} "
            f"--nodelist={names} python train.py",
            f"Job {world.job_id} runs on {names}: {world.ranks} processes, {world.per_node} a node",
            "hosts: " + " ".join(world.nodes) + f" (slots={world.per_node})",
        ],
        "header",
        names=names,
    )


def _places(script: Script) -> None:
    world = script.world
    words = script.rng.randrange(3)
    for rank in range(min(world.ranks, _MAX_PLACED)):
        node, local, pid = world.node_of(rank), world.local(rank), world.pid(rank)
        nccl = (
            f"{node}:{pid}:{pid + 240} [{local}] NCCL INFO ncclCommInitRank comm 0x55d0c3a0 rank "
            f"{rank} nranks {world.ranks} cudaDev {local} nvmlDev {local} busId "
            f"{world.pci(rank)[5:7]}000 commId 0x9c1e2 - Init COMPLETE"
        )
        other = (
            f"initialized process {rank}/{world.ranks} on {node}, device cuda:{local}",
            f"hello from rank {rank} (host={node} local_rank={local} pid={pid})",
            f"proc_id={rank} hostname={node} visible_gpus={local}",
        )[words]
        text = script.say([nccl], [other], "places", rank=rank)
        script.rank(
            rank, text, level=INFO, places=rank, after=script.rng.uniform(0, 2), raw="NCCL" in text
        )


def train(script: Script, *, steps: int | None = None, seconds: float | None = None) -> int:
    """Print some steps with noise between them; returns the last step."""
    if script.trained is not None:
        return script.trained
    rng = script.rng
    count = steps if steps is not None else rng.randrange(4, 40)
    first = rng.choice((0, 0, 120, 4_400, 91_250))
    pace = seconds or rng.uniform(0.8, 12.0)
    line = _progress(script)
    for step in range(first + 1, first + count + 1):
        script.wait(pace * 0.95, pace * 1.05)
        rank = 0 if rng.random() < 0.95 else script.world.ranks - 1
        script.rank(rank, line(step), level=INFO)
        if rng.random() < 0.25:
            noise(script)
    return first + count


def _progress(script: Script) -> Callable[[int], str]:
    rng, total = script.rng, 120_000

    def loss(step: int) -> float:
        return 1.6 + 8.0 / float((1 + step) ** 0.3)

    known: list[Callable[[int], str]] = [
        lambda s: (
            f" iteration {s:>8}/ {total:>8} | consumed samples: {s * 512:>12} | elapsed time per "
            f"iteration (ms): {rng.uniform(900, 1100):.1f} | learning rate: 1.500E-04 | global "
            f"batch size:   512 | lm loss: {loss(s):.6E} | loss scale: 1.0 | grad norm: 0.841 | "
            "number of skipped iterations:   0 | number of nan iterations:   0 |"
        ),
        lambda s: (
            f"{{'loss': {loss(s):.4f}, 'grad_norm': 0.61, 'learning_rate': 2e-05, 'epoch': {s / 900:.2f}}}"
        ),
        lambda s: (
            f"step: {s:>2}  loss: {loss(s):.4f}  memory: 41.20GiB(52.1%)  tps: 2,911  mfu: 41.30%"
        ),
    ]
    other: list[Callable[[int], str]] = [
        lambda s: f"upd {s} ce={loss(s):.3f} |g|=0.77 {rng.uniform(30, 33):.1f}ktok/s",
        lambda s: (
            f'{{"global_update": {s}, "objective": {loss(s):.4f}, "sec": {rng.uniform(1, 2):.2f}}}'
        ),
        lambda s: (
            f"=> [{s}/{total}] batch_time {rng.uniform(1, 2):.3f} data 0.011 ce {loss(s):.4f}"
        ),
    ]
    if script.is_unseen:
        return lambda s: script.unseen("progress", step=s, loss=f"{loss(s):.4f}")
    if script.new_words and rng.random() < 0.5:
        return rng.choice(other)
    return rng.choice(known)


def noise(script: Script) -> None:
    """Print one harmless line that holds words of failures, from some rank."""
    world, rng = script.world, script.rng
    n = rng.randrange(2, 40)
    text = rng.choice(
        (
            f"Killed {n} idle dataloader workers of the previous epoch, {n} new ones started",
            f"self-test: PASSED: {n}, FAILED: 0, SKIPPED: 2",
            f"Nodes: {len(world.nodes)}, tensor parallel 4, pipeline parallel 2, data parallel {n}",
            "no errors found in shard index, 0 samples dropped",
            f"checkpoint saved to /ckpt/step_{n * 100}.pt in {rng.uniform(3, 30):.1f} s, 0 failures",
            "/opt/venv/lib/python3.11/site-packages/torch/utils/checkpoint.py:61: UserWarning: None "
            "of the inputs have requires_grad=True. Gradients will be None\n  warnings.warn(",
            f"NCCL_IB_TIMEOUT=22 NCCL_IB_RETRY_CNT=13 TORCH_NCCL_BLOCKING_WAIT=0 timeout={n * 60}s",
            f"retrying download of shard {n} (1/5): HTTP 503; succeeded after 2.1 s",
            "wandb: Network error (ConnectionError), entering retry loop.",
            f"watchdog: all {world.ranks} ranks reported within {rng.uniform(0.1, 0.9):.2f} s",
            f"error_rate=0.0 oom_count=0 restarts=0 nan_count=0 dead_nodes=[] lag={n}ms",
            "Token indices sequence length is longer than the specified maximum sequence length for "
            "this model (9120 > 8192). Running this sequence through the model will result in "
            "indexing errors",
            f"eval: exact_match 0.{n:02d}, timeouts 0, errors 0, aborted 0",
        )
    )
    script.rank(rng.choice((0, 0, world.ranks - 1)), text, level=rng.choice((INFO, WARNING)))
