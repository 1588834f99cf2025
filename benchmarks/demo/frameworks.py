"""Healthy output of training frameworks, from the grammar of the progress formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

from relume.benchmarks.demo.world import GPUS_PER_NODE, World

Slowdown = Callable[[int], float]
"""Factor on the step time of a step, by its index."""


def steady(_: int) -> float:
    """No slowdown."""
    return 1.0


def megatron(world: World, steps: int, slow: Slowdown = steady) -> Iterator[str]:
    """Megatron-LM: one line a step from the last rank."""
    total, batch = 50_000, 512
    first, base = world.rng.randrange(10, 20_000), world.seconds_a_line(2.0, 14.0)
    first = first if world.done is None else world.done
    yield "training ..."
    yield f"[before the start of training step] datetime: {world.now:%Y-%m-%d %H:%M:%S} "
    for i in range(steps):
        seconds = base * slow(i) * world.rng.gauss(1.0, 0.003)
        loss = 2.1 + 1.0 / (1 + i / 40) + world.rng.gauss(0, 0.01)
        stamp = f"{world.wait(seconds):%Y-%m-%d %H:%M:%S.%f}"
        yield (
            f" [{stamp}] iteration {first + i:8d}/{total:8d} | consumed samples: "
            f"{(first + i) * batch:12d} | elapsed time per iteration (ms): {seconds * 1000:.1f} | "
            f"learning rate: 9.850E-05 | global batch size: {batch:5d} | lm loss: {loss:.6E} | "
            f"loss scale: 1.0 | grad norm: {abs(world.rng.gauss(0.3, 0.05)):.3f} | number of "
            f"skipped iterations:   0 | number of nan iterations:   0 |"
        )


def deepspeed(world: World, steps: int, slow: Slowdown = steady) -> Iterator[str]:
    """DeepSpeed engine: a line every ten steps and one of its timer."""
    base, first = world.seconds_a_line(0.4, 3.0, steps=10), world.done or 0
    for i in range(steps):
        seconds = base * slow(i) * world.rng.gauss(1.0, 0.004)
        stamp = f"{world.wait(seconds):%Y-%m-%d %H:%M:%S},{world.rng.randrange(1000):03d}"
        step, rate = 10 * (first + i + 1), 640 / seconds
        yield (
            f"[{stamp}] [INFO] [logging.py:96:log_dist] [Rank 0] step={step}, skipped=2, "
            f"lr=[5e-05], mom=[[0.9, 0.999]]"
        )
        yield (
            f"[{stamp}] [INFO] [timer.py:199:stop] epoch=0/micro_step={step}/global_step={step}, "
            f"RunningAvgSamplesPerSec={rate:.6f}, CurrSamplesPerSec={rate:.6f}, MemAllocated=8.1GB"
        )


def hf_trainer(world: World, steps: int, slow: Slowdown = steady) -> Iterator[str]:
    """HF Trainer: a tqdm bar redrawn with carriage returns, a dict now and then."""
    base, first, elapsed = world.seconds_a_line(1.5, 9.0), world.done or 0, 0.0
    total = max((first + steps) * 3, 900)
    yield "***** Running training *****"
    drawn: list[str] = []
    for i in range(first + 1, first + steps + 1):
        seconds = base * slow(i - first - 1) * world.rng.gauss(1.0, 0.01)
        elapsed += seconds
        world.wait(seconds)
        left = (total - i) * base
        drawn.append(
            f"{100 * i // total:3d}%|{'#' * (10 * i // total):<10}| {i}/{total} "
            f"[{_clock(elapsed)}<{_clock(left)}, {seconds:6.2f}s/it]"
        )
        if i % 10 == 0:
            yield "\r".join(drawn)
            drawn = []
            loss = 1.2 + 1.0 / (1 + i / 30)
            yield f"{{'loss': {loss:.4f}, 'learning_rate': 2e-05, 'epoch': {i / total:.2f}}}"


def torchtitan(world: World, steps: int, slow: Slowdown = steady) -> Iterator[str]:
    """torchtitan: one line a step with tokens per second and device."""
    base, first = world.seconds_a_line(1.0, 6.0), world.done or 0
    for i in range(steps):
        seconds = base * slow(i) * world.rng.gauss(1.0, 0.004)
        stamp = f"{world.wait(seconds):%Y-%m-%d %H:%M:%S},{world.rng.randrange(1000):03d}"
        tps = round(8192 / seconds)
        yield (
            f"[rank0]:[titan] {stamp} - root - INFO - step: {first + i + 1:2d}  loss:  "
            f"{3.2 - i * 0.001:.5f}  grad_norm:  0.5{world.rng.randrange(100):02d}  memory: "
            f"40.12GiB(50.71%)  tps: {tps:,}  tflops: 310.52  mfu: 31.40%"
        )


def mlperf(world: World, steps: int, slow: Slowdown = steady) -> Iterator[str]:
    """MLPerf logging: JSON events behind an `srun --label` number."""
    base, step = world.seconds_a_line(5.0, 20.0), 100 * (world.done or 0)
    for i in range(steps):
        seconds = base * slow(i) * world.rng.gauss(1.0, 0.004)
        step += 100
        stamp = int(world.wait(seconds).timestamp() * 1000)
        yield (
            f'0: :::MLLOG {{"namespace": "", "time_ms": {stamp}, "event_type": "POINT_IN_TIME", '
            f'"key": "tracked_stats", "value": {{"throughput": {51_200 / seconds:.2f}}}, '
            f'"metadata": {{"file": "train.py", "lineno": 310, "step": {step}}}}}'
        )


FRAMEWORKS: dict[str, Callable[[World, int, Slowdown], Iterator[str]]] = {
    "megatron": megatron,
    "deepspeed": deepspeed,
    "hf_trainer": hf_trainer,
    "torchtitan": torchtitan,
    "mlperf": mlperf,
}


def banner(world: World) -> list[str]:
    """Start-up lines full of frightening words that mean nothing: every healthy log has them."""
    node = world.nodes[0]
    return [
        f"{node}:4100:4100 [0] NCCL INFO Bootstrap : Using eth0:10.1.0.7<0>",
        f"{node}:4100:4310 [0] NCCL INFO NET/Plugin : No plugin found (libnccl-net.so)",
        (
            f"I{world.now:%m%d %H:%M:%S}.482718 4100 ProcessGroupNCCL.cpp:980] [PG ID 0 PG GUID 0 "
            "Rank 0] ProcessGroupNCCL environments: TORCH_NCCL_ASYNC_ERROR_HANDLING: 3, "
            "TIMEOUT(ms): 600000"
        ),
        "  distributed_timeout_minutes ..................... 10",
        "  exit_on_missing_checkpoint ...................... False",
        "UserWarning: error_threshold is deprecated; failed lookups are now killed silently",
        *(_init_complete(world, rank) for rank in range(world.ranks)),
    ]


def clean_end(framework: str, world: World) -> Sequence[str]:
    """What a run prints when it is done."""
    stamp = int(world.now.timestamp() * 1000)
    ends = {
        "megatron": f"[after training is done] datetime: {world.now:%Y-%m-%d %H:%M:%S} ",
        "hf_trainer": "{'train_runtime': 8123.4, 'train_samples_per_second': 9.1, "
        "'train_loss': 1.31, 'epoch': 1.0}",
        "torchtitan": f"[rank0]:[titan] {world.now:%Y-%m-%d %H:%M:%S},001 - root - INFO - "
        "Training completed",
        "mlperf": f'0: :::MLLOG {{"namespace": "", "time_ms": {stamp}, "event_type": '
        '"INTERVAL_END", "key": "run_stop", "value": null, "metadata": {"file": "train.py", '
        '"lineno": 646, "status": "success"}}',
        "deepspeed": "Training completed",
    }
    return [ends[framework]]


def noise_line(world: World, draw: Random) -> str:
    """Return a line that means nothing, as healthy logs are full of."""
    node = world.nodes[draw.randrange(len(world.nodes))]
    rank, worker, number = draw.randrange(world.ranks), draw.randrange(16), draw.randrange(100_000)
    return draw.choice(
        (
            f"{node}:{4100 + rank}:{number} [{rank % 8}] NCCL INFO Channel {worker:02d}/0 : ring",
            f"[dataloader {worker}] shard {number:05d} of 99999 opened in {number / 997:.1f} ms",
            f"[rank{rank}] memory: allocated {number / 1000:.2f} GiB, reserved 79.15 GiB",
            f"{world.now:%Y-%m-%d %H:%M:%S} metrics: {number} samples wait in queue {worker}",
        )
    )


def _init_complete(world: World, rank: int) -> str:
    local_rank = rank % GPUS_PER_NODE
    bus = world.pci(local_rank)[5:].replace(":", "")
    return (
        f"{world.node_of(rank)}:{4100 + rank}:{5200 + rank} [{local_rank}] NCCL INFO comm 0x5581 "
        f"rank {rank} nranks {world.ranks} cudaDev {local_rank} nvmlDev {local_rank} "
        f"busId {bus} commId 0x77 - Init COMPLETE"
    )


def _clock(seconds: float) -> str:
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes:02d}:{left:02d}"
