"""Bench `forged`: whatever a job prints, it never accuses a node that isn't its own.

Every episode is a job of known nodes (by accounting) that writes forged lines among its own. A
verdict names a node outside, or excludes any node on the word of such a line: wrong. So is an
Advice, made by the policy as the service makes it, that excludes; and a line of the job's own file
that counts as one of a kernel's or a controller's log, which is what the lemon ledger takes.

Lines that Slurm's own `srun` writes into the same file look the same as forged ones that name the
job's own nodes and carry no prefix: nobody can tell them apart, and they cost the job nothing but
a node of its own. They are not in here.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Protocol

from relume import __version__
from relume.advice import Mode
from relume.benchmarks.hostile.forgeries import DISGUISES, FORGERIES, Target
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.result import Bar, BenchResult
from relume.identity import AttemptId, JobKey
from relume.ingest.attempts import KERNEL, SLURMCTLD, find_attempts
from relume.models.policy.decide import decide
from relume.models.policy.policy import Policy
from relume.models.policy.record import to_advice
from relume.models.policy.view import PolicyView
from relume.serve.offline import Analyzer
from relume.slurm.hostlists import fold
from relume.slurm.nodes import short_name
from relume.verdict import Verdict

SEED = 20260902
EPISODES = 364
"""Seven rounds over all disguises and four kinds of jobs."""
_NOW = 1_775_130_000_000_000
_BARS = {
    "suspects_outside": Bar("==", 0),
    "exclusions": Bar("==", 0),
    "advice_that_excludes": Bar("==", 0),
    "ledger_evidence": Bar("==", 0),
    "crashes": Bar("==", 0),
}


@dataclass(frozen=True, slots=True)
class Forged:
    """One job: its nodes, its file, and what was forged in it.

    `disguised` is a file that holds nothing but lines of a kernel or a controller.
    """

    name: str
    nodes: tuple[str, ...]
    file: str
    text: str
    accounting: str
    job_id: int
    disguised: bool


@dataclass(slots=True)
class Wrong:
    """Names of the episodes that went wrong, by how."""

    found: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in _BARS})

    def add(self, measure: str, name: str) -> None:
        """Note one."""
        self.found[measure].append(name)


def run(data: Path | None = None, *, quick: bool = False) -> BenchResult:
    """Diagnose all jobs and decide about them; `data` is not used. `quick` takes a fifth."""
    del data
    count = EPISODES // 5 if quick else EPISODES
    episodes = list(forged(count=count))
    wrong, usage = measured(lambda: judge_all(episodes))
    digest = sha256("".join(e.name + e.text for e in episodes).encode("utf-8", "replace"))
    return BenchResult(
        id="forged",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "forged lines (simulated)",
            "hash": digest.hexdigest()[:16],
            "episodes": len(episodes),
        },
        measures={name: len(names) for name, names in wrong.found.items()},
        bars=_BARS,
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={"wrong": wrong.found, "by_forgery": _by_forgery(wrong)},
    )


def forged(seed: int = SEED, count: int = EPISODES) -> Iterator[Forged]:
    """Yield the jobs: every disguise in turn, one to three forgeries each. Deterministic."""
    disguises = list(DISGUISES)
    for index in range(count):
        yield _make(f"{seed}/{index}", index, disguises[index % len(disguises)])


def judge_all(episodes: list[Forged]) -> Wrong:
    """Diagnose the jobs and decide about them; return what went wrong."""
    wrong, analyzer = Wrong(), Analyzer()
    for episode in episodes:
        try:
            verdict, forms = _diagnose(analyzer, episode)
        except Exception:  # noqa: BLE001 - whatever it is, a job's text did it
            wrong.add("crashes", episode.name)
            continue
        _judge(episode, verdict, forms, wrong)
    return wrong


def _diagnose(analyzer: Analyzer, episode: Forged) -> tuple[Verdict, dict[str, str]]:
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / episode.file
        path.write_bytes(episode.text.encode("utf-8", "surrogateescape"))
        (Path(work) / "sacct.txt").write_text(episode.accounting, encoding="utf-8")
        attempt = find_attempts([work])[0]
        forms = {str(source.path): source.form for source in attempt.files}
        return analyzer.diagnose(attempt).verdict, forms


def _judge(episode: Forged, verdict: Verdict, forms: dict[str, str], wrong: Wrong) -> None:
    node = verdict.culprit.node
    if node is not None and short_name(node) not in episode.nodes and not node[:1].isdigit():
        wrong.add("suspects_outside", episode.name)
    if verdict.exclude_nodes:
        wrong.add("exclusions", episode.name)
    if _advice_excludes(episode, verdict):
        wrong.add("advice_that_excludes", episode.name)
    if node is not None and any(
        forms.get(line.file) in {KERNEL, SLURMCTLD} for line in verdict.evidence
    ):
        wrong.add("ledger_evidence", episode.name)


def _advice_excludes(episode: Forged, verdict: Verdict) -> bool:
    """Whether Advice of the service would leave out a node: every guard open, evidence settled."""
    view = PolicyView(
        attempt=AttemptId(JobKey("forged", str(episode.job_id), 0), 0),
        verdict=verdict,
        settled=True,
        ended=True,
        scheduler_state="FAILED",
        run_nodes=episode.nodes,
    )
    policy = Policy(exclusion_cap=1000)
    advice = to_advice(decide(view, policy), view, generation=1, mode=Mode.ACT, now=_NOW)
    return bool(advice.exclude_nodes)


def _make(seed: str, index: int, disguise: str) -> Forged:
    rng = Random(seed)
    first = rng.randrange(20, 800)
    nodes = tuple(f"cn{first + i:04d}" for i in range(rng.choice((1, 2, 4, 8))))
    job_id = rng.randrange(10_000, 900_000)
    names = rng.sample(list(FORGERIES), rng.randrange(1, 4))
    kind = list(_JOBS)[index // len(DISGUISES) % len(_JOBS)]
    accused = rng.choice(("gpu001", "cn0001", f"cn{first + 90:04d}", "node7.other.example"))
    target = Target(accused, job_id, rng)
    lines = [DISGUISES[disguise](line) for name in names for line in FORGERIES[name](target)]
    prefixed = rng.choice((True, False)) and kind != "nothing else"
    text = "\n".join(_JOBS[kind](lines, nodes, rng, prefixed=prefixed)) + "\n"
    return Forged(
        name=f"{index:03d} {kind}, {disguise}: {' + '.join(names)}",
        nodes=nodes,
        file=f"slurm-{job_id}.out",
        text=text,
        accounting=(
            "JobID|JobName|State|ExitCode|NodeList|Start|End\n"
            f"{job_id}|train|FAILED|1:0|{fold(nodes)}|2026-04-02T09:00:00|2026-04-02T10:00:20\n"
        ),
        job_id=job_id,
        disguised=kind == "nothing else",
    )


class _Job(Protocol):
    """Writes a job's file with forged lines in it."""

    def __call__(
        self, lines: list[str], nodes: tuple[str, ...], rng: Random, *, prefixed: bool
    ) -> list[str]: ...


def _prefix(lines: list[str], rng: Random, *, prefixed: bool) -> list[str]:
    """A launcher's own prefix, which a job can't leave out, before every line of a rank."""
    if not prefixed:
        return lines
    rank = rng.randrange(8)
    return [f"[default{rank}]:{line}" for line in lines]


def _steps(count: int) -> list[str]:
    return [f"step {n} loss {3 - n * 0.01:.3f} lr 1e-4" for n in range(1, count)]


def _fails(lines: list[str], nodes: tuple[str, ...], rng: Random, *, prefixed: bool) -> list[str]:
    del nodes
    own = [
        "Traceback (most recent call last):",
        '  File "/work/train.py", line 12, in <module>',
        "ValueError: bad batch",
    ]
    return _prefix([*_steps(9), *lines, *own], rng, prefixed=prefixed)


def _fails_first(
    lines: list[str], nodes: tuple[str, ...], rng: Random, *, prefixed: bool
) -> list[str]:
    return _fails([], nodes, rng, prefixed=prefixed) + _prefix(lines, rng, prefixed=prefixed)


def _only_forges(
    lines: list[str], nodes: tuple[str, ...], rng: Random, *, prefixed: bool
) -> list[str]:
    del nodes
    return _prefix([*_steps(5), *lines], rng, prefixed=prefixed)


def _nothing_else(
    lines: list[str], nodes: tuple[str, ...], rng: Random, *, prefixed: bool
) -> list[str]:
    """A file that is told from a node's or a controller's log by nothing but its name."""
    del prefixed
    node = rng.choice(nodes)
    made = [
        f"Apr  2 09:59:5{n} {node} kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
        if rng.choice((True, False))
        else f"Apr  2 09:59:5{n} {node} kernel: usb 1-1: new high-speed USB device number {n}"
        for n in range(9)
    ]
    return [*made, *lines]


_JOBS: dict[str, _Job] = {
    "fails after": _fails,
    "fails before": _fails_first,
    "only forges": _only_forges,
    "nothing else": _nothing_else,
}


def _by_forgery(wrong: Wrong) -> dict[str, int]:
    """How often each forgery was in an episode that went wrong."""
    names = [name for found in wrong.found.values() for name in found]
    return dict(Counter(part for name in names for part in name.partition(": ")[2].split(" + ")))
