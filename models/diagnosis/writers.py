"""Finds out who wrote lines whose prefixes no grammar knows: by the attempt's own ranks and nodes.

A word at the front of a line that is the name of one of the attempt's nodes tells the node, and so
does the name of a log; a number that is another one for each process tells the rank.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from relume.events import LogLine
from relume.models.diagnosis.consequences import SYSTEM_CATEGORIES
from relume.models.diagnosis.episode import SignatureHits
from relume.models.ranks.slots import HEAD_CHARACTERS, Slots, learn, ranks_of_names
from relume.models.signatures.hit import Hit
from relume.slurm.nodes import short_name
from relume.verdict import JOB_STREAMS

_WORD = re.compile(r"[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)*")
_LIBRARY = re.compile(r"(?:^|\s)\[?([A-Za-z][\w.-]*\d[\w.-]*):\d{2,7}(?::\d{2,7})?\]? \[\d{1,3}\] ")
"""Libraries of communication begin what they print with their host, process and device."""
_LABELS = frozenset({"host", "node", "pod", "proc", "process", "r", "rank", "task", "worker"})
"""Words that name what follows in a prefix; levels and names with digits stand beside them."""
_FILE_WORD = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


@dataclass(frozen=True)
class Writers:
    """Who writes what: the attempt's nodes, where ranks stand in lines, and whose each log is."""

    nodes: Mapping[str, str] = field(default_factory=dict)
    slots: Slots = field(default_factory=Slots)
    ranks: Mapping[str, int] = field(default_factory=dict)

    def named(self, line: LogLine) -> LogLine:
        """Return a line of the job with its rank and node, where these can be told."""
        if line.stream not in JOB_STREAMS:
            return line
        if not _is_unknown(line):
            node = line.node or self._of_library(line.text)
            return line if node == line.node else replace(line, node=node)
        learned = self.slots.rank_of(line.text)
        rank = learned if learned is not None else self.ranks.get(line.file)
        node = line.node or self._node(line)
        return line if rank is None and node == line.node else replace(line, rank=rank, node=node)

    def _node(self, line: LogLine) -> str | None:
        told = _own_node(line.text, self.nodes) or _node_of_file(line.file, self.nodes)
        return told or self._of_library(line.text)

    def _of_library(self, text: str) -> str | None:
        """The host that a library names as its own; one that is none of the attempt's is none."""
        found = _LIBRARY.search(text, 0, HEAD_CHARACTERS)
        if found is None:
            return None
        return self.nodes.get(short_name(found[1])) if self.nodes else found[1]


def learn_writers(
    hits: Mapping[str, SignatureHits],
    *,
    nodes: Iterable[str],
    world_size: int | None,
    job_files: Iterable[str],
    told: Mapping[str, int],
) -> Writers:
    """Learn who writes lines, from those that rules know, and from the names of logs.

    Parameters
    ----------
    nodes
        Nodes of the attempt, or of which there are logs.
    told
        Ranks of logs in which one rank alone says where it runs.
    """
    unknown = (h.line.text for group in hits.values() for h in group.first if _is_unknown(h.line))
    return Writers(
        nodes={short_name(node): node for node in nodes},
        slots=learn(unknown, world_size),
        ranks=ranks_of_names(job_files, world_size) | dict(told),
    )


def name_writers(hits: Mapping[str, SignatureHits], writers: Writers) -> dict[str, SignatureHits]:
    """Return the hits with the ranks and nodes of their writers, where these can be told."""
    return {
        rule: group.relabelled(lambda hit: _named(hit, writers))
        if any(_is_unknown(hit.line) for hit in group.kept())
        else group
        for rule, group in hits.items()
    }


def _is_unknown(line: LogLine) -> bool:
    """Whether no prefix tells which rank wrote a line of the job."""
    return line.stream in JOB_STREAMS and line.rank is None and line.task is None


def _named(hit: Hit, writers: Writers) -> Hit:
    if hit.signature.category in SYSTEM_CATEGORIES:
        return hit
    line = writers.named(hit.line)
    return hit if line is hit.line else Hit(hit.signature, line, hit.captures)


def _own_node(text: str, own: Mapping[str, str]) -> str | None:
    """The attempt's node whose name stands before the message; a sentence about a node is none."""
    for found in _WORD.finditer(text[:HEAD_CHARACTERS] if own else ""):
        word = found[0]
        node = own.get(short_name(word))
        if node is not None:
            return node
        is_label = word.lower() in _LABELS or word.isupper() or any(map(str.isdigit, word))
        if not is_label:
            return None
    return None


def _node_of_file(file: str, own: Mapping[str, str]) -> str | None:
    """The attempt's node that the name of a log holds, or its folder."""
    parts = file.split("/")[-2:]
    nodes = _nodes_among([found[0] for part in parts for found in _FILE_WORD.finditer(part)], own)
    return nodes.pop() if len(nodes) == 1 else None


def _nodes_among(words: Collection[str], own: Mapping[str, str]) -> set[str]:
    """Own nodes whose whole name is one of the words, or begins one before a dash and a number."""
    found = {own[short_name(word)] for word in words if short_name(word) in own}
    for word in words:
        head, dash, tail = word.rpartition("-")
        if dash and tail.isdigit() and short_name(head) in own:
            found.add(own[short_name(head)])
    return found
