"""A labelled corpus that the project generates itself: a few dozen attempts, seeded.

Simulated: its scores are never pooled with those on recordings. One folder an attempt: `job.log`,
`kernel-NODE.log` where a kernel speaks, `sacct.txt` with the accounting row; `labels.jsonl` beside.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from relume.benchmarks.demo.faults import FAULTS, Ending
from relume.benchmarks.demo.frameworks import FRAMEWORKS, Slowdown, banner, clean_end, steady
from relume.benchmarks.demo.world import World, make_world

SEED = 20260302
STEPS = 60
SLOW_FROM = 40
SLOW_FACTOR = 1.3
_STATES = {
    "hang": "CANCELLED",
    "straggler": "COMPLETED",
    "benign": "COMPLETED",
    "node_failure": "NODE_FAIL",
    "time_limit": "TIMEOUT",
    "host_out_of_memory": "OUT_OF_MEMORY",
}
"""Slurm's word by scenario or kind; FAILED for the others."""
_CODES = {"COMPLETED": "0:0", "TIMEOUT": "0:15", "OUT_OF_MEMORY": "0:125", "CANCELLED": "0:15"}


@dataclass(frozen=True, slots=True)
class Label:
    """The truth of one attempt; `root_line` is 0-based in `root_file`, null when none shows it."""

    attempt: str
    framework: str
    scenario: str
    kind: str
    domain: str
    root_file: str | None = None
    root_line: int | None = None
    culprit: dict[str, Any] = field(default_factory=dict)


def generate(folder: Path, seed: int = SEED) -> list[Label]:
    """Write the corpus below `folder` and return its labels, in order of the attempts."""
    labels = [_write(folder, *scenario, seed) for scenario in _scenarios()]
    lines = b"".join(orjson.dumps(asdict(label)) + b"\n" for label in labels)
    (folder / "labels.jsonl").write_bytes(lines)
    return labels


def _scenarios() -> list[tuple[str, str]]:
    """Every framework once healthy, interrupted and slow; every fault under two frameworks."""
    names = list(FRAMEWORKS)
    calm = [(name, scenario) for name in names for scenario in ("healthy", "still_running")]
    slow = [(name, "slowdown") for name in ("megatron", "torchtitan", "deepspeed")]
    faults = [
        (names[(i + shift) % len(names)], fault)
        for i, fault in enumerate(FAULTS)
        for shift in (0, 2)
    ]
    return [*calm, *slow, *faults]


def _write(folder: Path, framework: str, scenario: str, seed: int) -> Label:
    world = make_world(f"{seed}/{framework}/{scenario}")
    slow: Slowdown = _slow if scenario == "slowdown" else steady
    job = [*banner(world), *FRAMEWORKS[framework](world, STEPS, slow)]
    ending = _ending(world, framework, scenario)
    files = {"job.log": [*job, *ending.lines.pop("job", [])]}
    for name, lines in ending.lines.items():
        files[f"kernel-{name.partition(':')[2]}.log"] = lines
    name = f"{framework}-{scenario}"
    target = folder / name
    target.mkdir(parents=True, exist_ok=True)
    for stale in target.glob("kernel-*.log"):  # another seed's nodes have other names
        stale.unlink()
    for file, lines in files.items():
        (target / file).write_text("\n".join(lines) + "\n", encoding="utf-8")
    if scenario != "still_running":
        (target / "sacct.txt").write_text(_sacct(world, ending, scenario), encoding="utf-8")
    root = _find(files, ending.root)
    return Label(name, framework, scenario, ending.kind, ending.domain, *root, ending.culprit)


def _ending(world: World, framework: str, scenario: str) -> Ending:
    if scenario in FAULTS:
        return FAULTS[scenario](world)
    kind = "straggler" if scenario == "slowdown" else "benign"
    ending = Ending(kind, "unknown")
    if scenario == "healthy":
        ending.job(*clean_end(framework, world))
    return ending


def _slow(step: int) -> float:
    return SLOW_FACTOR if step >= SLOW_FROM else 1.0


def _sacct(world: World, ending: Ending, scenario: str) -> str:
    state = _STATES.get(scenario) or _STATES.get(ending.kind, "FAILED")
    stamp = world.now.strftime("%Y-%m-%dT%H:%M:%S")
    code = _CODES.get(state, "1:0")
    return (
        "JobID|JobName|State|ExitCode|NodeList|End\n"
        f"{world.job_id}|train|{state}|{code}|{','.join(world.nodes)}|{stamp}\n"
    )


def _find(files: dict[str, list[str]], words: str | None) -> tuple[str | None, int | None]:
    """First line that holds `words`; kernel logs go first, where they speak the truth is there."""
    if words is None:
        return None, None
    for file in sorted(files, key=lambda name: name == "job.log"):
        for number, line in enumerate("\n".join(files[file]).split("\n")):
            if words in line:
                return file, number
    return None, None
