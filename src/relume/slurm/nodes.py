"""Nodes and the attempts on them: when two names are one node, which times are an attempt's."""

from __future__ import annotations

START_SLACK_SECONDS = 2
"""Before the start there is only the difference of clocks, which both may tell in whole seconds.
More would blame a node for what it did to the job before: often that job has just been moved."""
END_SLACK_SECONDS = 60
"""Clocks of a node and of the controller differ by seconds, and ending a job takes as long: Slurm
waits 30 s (KillWait) between its two signals. What ended it may be logged late, too."""


def short_name(node: str) -> str:
    """Return a node's name without its domain, in lower case; addresses stay whole.

    Kernels print the one form, Slurm the other.

    >>> short_name("GPU-a07.cluster.example"), short_name("10.0.0.7")
    ('gpu-a07', '10.0.0.7')
    """
    return node if node[:1].isdigit() else node.partition(".")[0].lower()
