"""A recording of any size: attempts with the step lines of real frameworks, and noise. Seeded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from random import Random

from relume.benchmarks.demo.faults import FAULTS, Ending
from relume.benchmarks.demo.frameworks import (
    FRAMEWORKS,
    banner,
    clean_end,
    noise_line,
    steady,
)
from relume.benchmarks.demo.world import World, make_world
from relume.clock import from_datetime, from_seconds
from relume.dataset import (
    LABELLED,
    AttemptEntry,
    DatasetHeader,
    Incident,
    LogFile,
    Origin,
)
from relume.ingest.datasets import Dataset, write_dataset
from relume.verdict import Domain, Kind

SEED = 20260302
NOISE_SHARE = 0.4
"""Share of lines that show no progress."""
FAULTY_EVERY = 4
CLUSTER = "made-up"
_MAX_STEPS = 10**9
_SILENCE_SECONDS = 3600
"""How long a hang goes on before somebody ends it."""


def make_recording(folder: Path, *, lines: int, attempts: int, seed: int = SEED) -> Dataset:
    """Write a data set of about `lines` lines into `folder`, and return it.

    A redraw of a progress bar counts as a line. Every fourth attempt fails, by a fault of the demo
    that is labelled; its kernel lines go to logs of the nodes.
    """
    (folder / "logs").mkdir(parents=True)
    entries: list[AttemptEntry] = []
    node_logs: list[LogFile] = []
    names = [name for name, fault in FAULTS.items() if _is_incident(fault(_world(seed, 0)))]
    for number in range(attempts):
        fails = number % FAULTY_EVERY == FAULTY_EVERY - 1
        fault = names[number // FAULTY_EVERY % len(names)] if fails else None
        entry, kernel = _attempt(folder, seed, number, lines // attempts, fault)
        entries.append(entry)
        node_logs += kernel
    header = DatasetHeader(
        name=f"generated, {lines} lines",
        origin=Origin.SIMULATED,
        description="Step lines of several frameworks, with noise; faults of the demo.",
        node_logs=tuple(node_logs),
    )
    return write_dataset(folder, header, entries)


def _is_incident(ending: Ending) -> bool:
    """Whether it is a failure of the job: what the scheduler ends has none."""
    return ending.kind in LABELLED and ending.domain != Domain.SCHEDULER


def _attempt(
    folder: Path, seed: int, number: int, lines: int, fault: str | None
) -> tuple[AttemptEntry, list[LogFile]]:
    """Write the logs of one attempt; return it, and the logs of its nodes."""
    world = _world(seed, number)
    framework = list(FRAMEWORKS)[number % len(FRAMEWORKS)]
    start = world.now
    path = f"logs/{world.job_id}-{number}.out"
    with (folder / path).open("w", encoding="utf-8", newline="") as stream:
        stream.writelines(f"{line}\n" for line in _lines(world, framework, lines))
        onset = world.now
        ending = _ending(world, framework, fault)
        stream.writelines(f"{line}\n" for line in ending.lines.pop("job", []))
    kernel = [_kernel(folder, name.partition(":")[2], text) for name, text in ending.lines.items()]
    submitted = int(start.timestamp()) - 60
    entry = AttemptEntry(
        attempt=f"{CLUSTER}/{world.job_id}@{submitted}.0",
        user="u1",
        nodes=world.nodes,
        start=from_datetime(start),
        end=from_datetime(world.now),
        state="COMPLETED" if fault is None else "FAILED",
        exit_code=0 if fault is None else 1,
        signal=0,
        files=(LogFile(path=path, stream="stdout"),),
        incidents=(),
    )
    if fault is None:
        return entry, kernel
    end = from_datetime(world.now)
    if ending.kind == Kind.HANG:
        end += from_seconds(_SILENCE_SECONDS)
        entry = replace(entry, end=end, state="CANCELLED", exit_code=0)
    incident = Incident(
        incident_id=f"{number} {fault}",
        attempt=entry.attempt,
        kind=Kind(ending.kind),
        domain=Domain(ending.domain) if ending.domain in set(Domain) else None,
        culprit_nodes=tuple(filter(None, [ending.culprit.get("node")])),
        culprit_ranks=tuple(r for r in [ending.culprit.get("rank")] if r is not None),
        onset=from_datetime(onset),
        end=end,
        label_source="injected",
    )
    return replace(entry, incidents=(incident,)), kernel


def _world(seed: int, number: int) -> World:
    """The world of one attempt; no other one has its nodes or its job id."""
    world = make_world(f"{seed}/{number}")
    world.nodes = tuple(f"gpu-{number:04d}-{at}" for at in range(len(world.nodes)))
    world.job_id = 100_000 + number
    return world


def _lines(world: World, framework: str, count: int) -> Iterator[str]:
    """The banner, and then steps with noise in between: `count` lines, redraws among them."""
    steps = chain(banner(world), FRAMEWORKS[framework](world, _MAX_STEPS, steady))
    draw, written = Random(world.job_id), 0
    while written < count:
        line = noise_line(world, draw) if draw.random() < NOISE_SHARE else next(steps)
        written += line.count("\r") + 1
        yield line


def _ending(world: World, framework: str, fault: str | None) -> Ending:
    if fault is not None:
        return FAULTS[fault](world)
    ending = Ending("benign", "unknown")
    ending.job(*clean_end(framework, world))
    return ending


def _kernel(folder: Path, node: str, lines: list[str]) -> LogFile:
    path = f"logs/kernel-{node}.log"
    (folder / path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return LogFile(path=path, stream="kernel", node=node)
