"""A small training job for demos and benches: data parallel, checkpoints, resumes, can fail.

Run by `srun`, one task a rank. It needs PyTorch (CPU, gloo) and nothing of Relume. Its environment
says RUN_FOLDER, STEPS, and if other than usual STEP_SECONDS and SAVE_EVERY. In the run's folder are

``checkpoint.pt``
    the newest checkpoint;
``history.jsonl``
    what happened when, one object a line, over all attempts: ``{"what": "begin" | "step" | "fault"
    | "end", "attempt", "step", "rank", "node", "time"}``, to which the batch script adds a
    ``launch``. It is the job's own word, so that Relume can be measured against it;
``faults.json``
    what is to go wrong: ``[{"attempt": 0, "step": 23, "rank": 2, "fault": "sigkill" | "sigstop" |
    "python", "kernel_log": "/…/{node}/kern.log", "kernel_text": "NVRM: …"}]``. Null for `attempt`
    and `rank` means each; the text is written to the node's kernel log first, null for nothing.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

WIDTH = 32
RANK, WORLD = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
ATTEMPT = int(os.environ.get("SLURM_RESTART_COUNT", "0"))
NODE = os.environ["SLURMD_NODENAME"]
FOLDER = Path(os.environ["RUN_FOLDER"])


def main() -> None:
    """Train for ``STEPS`` steps, going on from the last checkpoint."""
    steps, every = int(os.environ["STEPS"]), int(os.environ.get("SAVE_EVERY", "5"))
    pace = float(os.environ.get("STEP_SECONDS", "0.2"))
    torch.set_num_threads(1)
    # A file to meet at: no port has to be free, and a new one for each attempt.
    meeting = f"file://{FOLDER}/meeting.{ATTEMPT}"
    dist.init_process_group("gloo", init_method=meeting, rank=RANK, world_size=WORLD)
    torch.manual_seed(0)
    model = torch.nn.Linear(WIDTH, 1)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
    first = load(FOLDER / "checkpoint.pt", model, optimiser)
    note("begin", first)
    say(f"loaded checkpoint at step {first}" if first else "starting training")
    for step in range(first, steps):
        begin = time.perf_counter()
        fail_if_asked(step)
        loss = train_one(model, optimiser, seed=step * WORLD + RANK)
        time.sleep(pace)
        say(f"iter {step}: loss {loss:.4f}, time {(time.perf_counter() - begin) * 1000:.2f}ms")
        if RANK == 0:
            note("step", step)
            if (step + 1) % every == 0:
                save(FOLDER / "checkpoint.pt", model, optimiser, step + 1)
    dist.barrier()
    if RANK == 0:
        note("end", steps)
    say("Training completed")
    dist.destroy_process_group()


def train_one(model: torch.nn.Module, optimiser: torch.optim.Optimizer, seed: int) -> float:
    """One step on made-up data; gradients are averaged over all ranks."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(16, WIDTH, generator=generator)
    loss = (model(inputs) - inputs.sum(dim=1, keepdim=True)).pow(2).mean()
    optimiser.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= WORLD
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
    state = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "step": step}
    new = path.with_suffix(".new")
    torch.save(state, new)
    new.replace(path)


def fail_if_asked(step: int) -> None:
    """Let a fault of ``faults.json`` happen, if it is this rank's turn."""
    for fault in json.loads((FOLDER / "faults.json").read_text()):
        mine = fault["rank"] in {None, RANK} and fault["attempt"] in {None, ATTEMPT}
        if mine and step == fault["step"]:
            if fault["kernel_log"] is not None:
                append(Path(fault["kernel_log"].format(node=NODE)), kernel_line(fault))
            note("fault", step)
            if fault["fault"] == "python":
                raise KeyError("max_position_embeddings")
            os.kill(os.getpid(), signal.SIGSTOP if fault["fault"] == "sigstop" else signal.SIGKILL)


def kernel_line(fault: dict[str, str]) -> str:
    """Return what the kernel would log of a fault, as syslog writes it."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
    return f"{stamp} {NODE} kernel: [{time.monotonic():12.6f}] {fault['kernel_text']}"


def note(what: str, step: int) -> None:
    """Write down what happens now."""
    now = time.time()  # noqa: TID251 -- a job has no Clock
    event = {
        "what": what,
        "attempt": ATTEMPT,
        "step": step,
        "rank": RANK,
        "node": NODE,
        "time": now,
    }
    append(FOLDER / "history.jsonl", json.dumps(event))


def append(path: Path, line: str) -> None:
    """Add a line to a file in one piece, whoever else adds to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab", buffering=0) as file:
        file.write(f"{line}\n".encode())


def say(text: str) -> None:
    """Print a line at once, with the clock before it; only the first rank speaks."""
    if RANK == 0:
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
        sys.stdout.write(f"{stamp} {text}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
