"""Hostlists in what Slurm printed of nodes."""

from __future__ import annotations

from relume.errors import RelumeError
from relume.ingest.skips import SkipCounts
from relume.slurm.hostlists import expand


def names_of(hostlist: str, skipped: SkipCounts) -> list[str]:
    """Return the names in a hostlist; one that makes no sense has none, and counts as `node_row`.

    >>> names_of("n[1-2]", SkipCounts())
    ['n1', 'n2']
    """
    try:
        return expand(hostlist)
    except RelumeError:
        skipped.add("node_row")
        return []
