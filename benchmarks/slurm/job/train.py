"""A small training job for tests and demos: data parallel, checkpoints, resumes, can fail.

Run by `srun`, one task a rank. It needs PyTorch (CPU) and nothing of Relume. Faults are asked for
in a file, so that a test can let one happen at a step of its choice:
``{"step": 30, "rank": 2, "fault": "sigkill" | "sigstop" | "python", "once": true}``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

WIDTH = 32


def main() -> None:
    """Train for ``STEPS`` steps, going on from the last checkpoint."""
    rank, world = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
    folder, steps = Path(os.environ["RUN_FOLDER"]), int(os.environ["STEPS"])
    pace, every = (
        float(os.environ.get("STEP_SECONDS", "0.2")),
        int(os.environ.get("SAVE_EVERY", "5")),
    )
    dist.init_process_group(
        "gloo",
        init_method=f"tcp://127.0.0.1:{os.environ['MASTER_PORT']}",
        rank=rank,
        world_size=world,
        timeout=timedelta(seconds=float(os.environ.get("COLLECTIVE_SECONDS", "1800"))),
    )
    torch.manual_seed(0)
    model = torch.nn.Linear(WIDTH, 1)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
    first = load(folder / "checkpoint.pt", model, optimiser)
    if rank == 0:
        say(f"loading checkpoint from step {first}" if first else "starting training")
    for step in range(first, steps):
        begin = time.perf_counter()
        fail_if_asked(folder, step, rank)
        loss = train_one(model, optimiser, world, seed=step * world + rank)
        time.sleep(pace)
        if rank == 0:
            took = (time.perf_counter() - begin) * 1000
            say(f"iter {step}: loss {loss:.4f}, time {took:.2f}ms")
            if (step + 1) % every == 0:
                save(folder / "checkpoint.pt", model, optimiser, step + 1)
    dist.barrier()
    if rank == 0:
        say("Training completed")
    dist.destroy_process_group()


def train_one(
    model: torch.nn.Module, optimiser: torch.optim.Optimizer, world: int, seed: int
) -> float:
    """One step on made-up data; gradients are averaged over all ranks."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(16, WIDTH, generator=generator)
    loss = (model(inputs) - inputs.sum(dim=1, keepdim=True)).pow(2).mean()
    optimiser.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= world
    optimiser.step()
    return float(loss.detach())


def load(path: Path, model: torch.nn.Module, optimiser: torch.optim.Optimizer) -> int:
    """Return the step to begin with, 0 without a checkpoint."""
    if not path.exists():
        return 0
    state = torch.load(path, weights_only=True)
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    return int(state["step"])


def save(path: Path, model: torch.nn.Module, optimiser: torch.optim.Optimizer, step: int) -> None:
    """Write a checkpoint so that a reader sees the old one or the new one, whole."""
    new = path.with_suffix(".new")
    torch.save(
        {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "step": step}, new
    )
    new.replace(path)


def fail_if_asked(folder: Path, step: int, rank: int) -> None:
    """Let the fault of ``fault.json`` happen, if it is this rank's turn."""
    try:
        fault = json.loads((folder / "fault.json").read_text())
    except FileNotFoundError:
        return
    if step < fault["step"] or fault.get("rank", rank) != rank:
        return
    if fault.get("once"):
        try:
            (folder / f"fault.{rank}.done").touch(exist_ok=False)
        except FileExistsError:
            return
    (folder / "fault.time").write_text(str(time.time()))  # noqa: TID251 -- a job has no Clock
    if fault["fault"] == "python":
        raise KeyError("max_position_embeddings")
    os.kill(os.getpid(), signal.SIGSTOP if fault["fault"] == "sigstop" else signal.SIGKILL)


def say(text: str) -> None:
    """Print a line at once, with the clock before it."""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
    sys.stdout.write(f"{stamp} {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
