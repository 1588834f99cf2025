"""Which nodes evidence of hardware grade accuses: what a job writes never does (DESIGN 4.2)."""

from __future__ import annotations

import re

from relume.events import Actor, NodeEvent
from relume.slurm.nodes import short_name
from relume.verdict import Domain, Evidence, Verdict

HARDWARE_GRADE = frozenset({Domain.HARDWARE, Domain.NETWORK})
"""Domains whose failures say something about a node; a job's own never do."""
SHOWN = 3
"""Lines that are kept of a fault."""
_LOST = re.compile(r"not responding|unexpectedly rebooted|gres/gpu\S* count", re.IGNORECASE)
"""Slurm's reasons that are the node's own: others follow from a job, or from a person."""
_OF_JOBS = frozenset({"prolog", "epilog"})
"""Checks that fail by what a job left behind, too."""


def faulty_nodes(verdict: Verdict) -> tuple[str, ...]:
    """Return the nodes that a verdict accuses by a line that no job can have written.

    That takes a failure of hardware or network, and a line of a kernel or of slurmctld that names
    the node.
    """
    if verdict.domain not in HARDWARE_GRADE or not verdict.kind.is_failure:
        return ()
    lines = {(one.file, one.line) for one in verdict.evidence if not one.is_forgeable}
    told = {
        short_name(one.where.node)
        for one in verdict.mentions
        if one.where.node is not None and (one.file, one.line) in lines
    }
    accused = dict.fromkeys((verdict.culprit.node, *verdict.exclude_nodes))
    return tuple(node for node in accused if node is not None and short_name(node) in told)


def shown(verdict: Verdict) -> tuple[Evidence, ...]:
    """Return the first lines of a verdict that no job can have written."""
    return tuple(one for one in verdict.evidence if not one.is_forgeable)[:SHOWN]


def is_fault(event: NodeEvent) -> bool:
    """Whether a node was taken out of service for what is its own fault, by Slurm or a check.

    A person may have taken it out for anything, and tells nobody's computer which.

    >>> lost = NodeEvent(source="slurm", node="n1", state="DOWN*", reason="Not responding")
    >>> is_fault(lost), is_fault(NodeEvent(source="slurm", node="n1", state="DRAIN"))
    (True, False)
    """
    if event.actor is Actor.CHECK:
        return event.check not in _OF_JOBS
    return event.actor in {Actor.SLURM, None} and _LOST.search(event.reason or "") is not None
