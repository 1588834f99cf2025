"""System logs of simulated nodes: what faults leave in them, and what kernels say anyway."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from relume.benchmarks.episodes.decoys import calm_line
from relume.benchmarks.episodes.staging import Told
from relume.benchmarks.simulator.telemetry.site import moment, node_name
from relume.dataset import LogFile

FOLDER = "nodes"
_CALM_SECONDS = 6 * 3600.0
"""On average from one line that means nothing to the next."""


@dataclass(slots=True)
class NodeLogs:
    """The lines of all nodes, held until they are written: faults are few."""

    _lines: defaultdict[str, list[tuple[float, str]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, told: Told, at: float, until: float) -> None:
        """Take what nodes said of an accident at `at` (seconds), up to `until`."""
        for node, lines in told.nodes.items():
            self._lines[node] += [(at + one.at, one.text) for one in lines if at + one.at <= until]

    def write(self, folder: Path, nodes: int, seconds: float, words: str) -> list[LogFile]:
        """Write the log of each node below `folder`; return their places in it."""
        (folder / FOLDER).mkdir()
        written = []
        for name in map(node_name, range(nodes)):
            rng = Random(f"{words}/{name}")
            lines = [*self._lines[name], *_calm(name, seconds, rng)]
            path = f"{FOLDER}/{name}.log"
            text = "".join(f"{line}\n" for _, line in sorted(lines, key=lambda one: one[0]))
            (folder / path).write_text(text, encoding="utf-8", newline="")
            written.append(LogFile(path=path, stream="kernel", node=name))
        return written


def _calm(node: str, seconds: float, rng: Random) -> list[tuple[float, str]]:
    lines, at = [], rng.uniform(0, min(seconds, _CALM_SECONDS))
    while at < seconds:
        lines.append(
            (at, f"{moment(at).isoformat(timespec='microseconds')} {node} kernel: {calm_line(rng)}")
        )
        at += rng.expovariate(1 / _CALM_SECONDS)
    return lines
