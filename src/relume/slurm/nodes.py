"""Nodes and the attempts on them: when two names are one node, which times are an attempt's."""

from __future__ import annotations

import re

NOT_RESPONDING = "NOT_RESPONDING"
RESPONDING = "RESPONDING"
RESUME = "RESUME"
"""Our words where Slurm tells of a change and prints no state (`docs/formats/nodes.md`)."""
_OUT = re.compile(
    r"\b(?:down|drain\w*|drng|fail\w*|error|futr|future?|inval\w*|maint\w*|no_respond"
    r"|not_responding|reboot\w*|unk\w*)\b|[*$@^]",
    re.IGNORECASE,
)
"""Signs that sinfo puts behind a state: ``*`` doesn't answer, ``$`` maintenance, ``@^`` reboots."""
_DRAINED = re.compile(r"\b(?:drain\w*|drng|fail(?:ing|g)?)\b", re.IGNORECASE)
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


def is_out(state: str) -> bool:
    """Whether a node in this state gets no new jobs; Slurm's words, long or short, or ours.

    One that is switched off to save power is not out: Slurm wakes it for a job.

    >>> [is_out(one) for one in ("IDLE+DRAIN", "mix", "down*", "ALLOCATED", "idle*", "RESPONDING")]
    [True, False, True, False, True, False]
    """
    return _OUT.search(state) is not None


def is_drained(state: str) -> bool:
    """Whether a node was taken out on purpose, and comes back only when somebody says so.

    >>> is_drained("drng"), is_drained("DOWN*+DRAIN"), is_drained("DOWN*")
    (True, True, False)
    """
    return _DRAINED.search(state) is not None
