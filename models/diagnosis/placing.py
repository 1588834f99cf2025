"""What the lines that rules recognise say of where ranks and tasks run, beside what they tell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from relume.errors import RelumeError
from relume.models.diagnosis.elastic import failures_of
from relume.models.diagnosis.episode import SignatureHits
from relume.models.ranks.facts import Origin, RankFact, Source
from relume.models.ranks.reading import global_rank
from relume.models.signatures.hit import Hit
from relume.slurm.hostlists import expand
from relume.verdict import JOB_STREAMS

MAX_TASKS = 4096
"""Tasks read from one message of srun: more than any node has."""
_SRUN = re.compile(r"\bsrun: error: ")
_ITEM = re.compile(r"(\d{1,7})(?:-(\d{1,7}))?")


def facts_of(groups: Iterable[SignatureHits]) -> Iterator[RankFact]:
    """Yield the facts of hits: prefixes, messages of srun, and reports of torchrun's agents."""
    hits = [hit for group in groups for hit in group.first]
    for hit in hits:
        if hit.line.stream in JOB_STREAMS:
            yield from _of_prefix(hit)
            yield from _of_srun(hit)
    for failure in failures_of(sorted(hits, key=lambda hit: (hit.line.file, hit.line.line))):
        if failure.hit is not None and failure.rank is not None and failure.node is not None:
            line = failure.hit.line
            yield RankFact(
                Origin(Source.LAUNCHER, line.file, line.line),
                rank=failure.rank,
                node=failure.node,
                local_rank=failure.local_rank,
            )


def has_agents(rules: Iterable[str]) -> bool:
    """Whether torchrun's agents, which start the ranks, printed any of the lines of these rules."""
    return any(rule.startswith("elastic_") for rule in rules)


def _of_prefix(hit: Hit) -> Iterator[RankFact]:
    line = hit.line
    rank = global_rank(line)
    number = line.task if rank is None else rank
    if number is not None:
        yield RankFact(
            Origin(Source.PREFIX, line.file, line.line),
            rank=rank,
            task=line.task,
            node=line.node,
            local_rank=line.local_rank,
            gpu=line.gpu,
        )


def _of_srun(hit: Hit) -> Iterator[RankFact]:
    """`srun: error: HOST: tasks 8-15: …` puts tasks on a host; a list of hosts leaves it open."""
    node, tasks = hit.captures.get("nodes"), hit.captures.get("tasks") or hit.captures.get("task")
    if node is None or tasks is None or not _SRUN.search(hit.line.text):
        return
    try:
        names = expand(node, limit=2)
    except RelumeError:
        return
    if len(names) == 1:
        origin = Origin(Source.SRUN, hit.line.file, hit.line.line)
        for task in _listed(tasks):
            yield RankFact(origin, task=task, node=names[0])


def _listed(text: str) -> Iterator[int]:
    """The numbers of a list such as ``0,4-7``; at most `MAX_TASKS`."""
    count = 0
    for found in _ITEM.finditer(text):
        first = int(found[1])
        last = min(int(found[2] or first), first + MAX_TASKS)
        for number in range(first, last + 1):
            count += 1
            if count > MAX_TASKS:
                return
            yield number
