"""Nodes, configuration and liveness from scontrol's text forms.

Users can't write anything that these print (only administrators set a node's reason), and the forms
have been the same for many versions, which those of JSON haven't. Jobs come from `squeue`: in
scontrol's form of a job, names and comments stand unquoted between the fields.

Source: `scontrol(1)`; tried on Slurm 22.05.
"""

from __future__ import annotations

import re

from relume.errors import InputError
from relume.slurm.job import SlurmNode

PING = ("scontrol", "ping")
SHOW_NODES = ("scontrol", "show", "node", "--oneliner")
SHOW_CONFIG = ("scontrol", "show", "config")
_UP = re.compile(r"^Slurmctld\(.+\) at .* (?:is|are) UP\b", re.MULTILINE)
_NODE = re.compile(r"NodeName=(?P<node>\S+) ")
_STATE = re.compile(r" State=(?P<state>\S+)")
_PARTITIONS = re.compile(r" Partitions=(?P<partitions>\S+)")
_REASON = re.compile(r" Reason=(?P<reason>.*?)(?: \[\S+@\S+\])?(?: Comment=.*| Extra=.*)?\s*$")
_SETTING = re.compile(r"^(?P<name>[A-Za-z][\w/]*(?:\[\d+\])?)\s*= (?P<value>.*)$")


def is_up(text: str) -> bool:
    r"""Whether any slurmctld answered ``scontrol ping``.

    >>> is_up("Slurmctld(primary) at ctl1 is DOWN\nSlurmctld(backup) at ctl2 is UP\n")
    True
    """
    return _UP.search(text) is not None


def parse_nodes(text: str) -> list[SlurmNode]:
    """Read ``scontrol show node --oneliner``.

    Raises
    ------
    InputError
        For a line that isn't a node.

    Examples
    --------
    >>> line = (
    ...     "NodeName=n1 Arch=x86_64 State=IDLE+DRAIN Partitions=gpu,all Reason=bad dimm [root@x]"
    ... )
    >>> parse_nodes(line)
    [SlurmNode(node='n1', state='IDLE+DRAIN', reason='bad dimm', partitions=('gpu', 'all'))]
    """
    # Not splitlines: a reason may hold any of the line separators that only Unicode knows.
    return [_node(line) for line in text.split("\n") if line.strip()]


def parse_config(text: str) -> dict[str, str]:
    r"""Read ``scontrol show config`` by name; ``(null)`` is left out.

    >>> parse_config(
    ...     "Configuration data as of …\nClusterName             = lab\nDbdHost = (null)\n"
    ... )
    {'ClusterName': 'lab'}
    """
    found = (_SETTING.match(line) for line in text.splitlines())
    return {m["name"]: m["value"].strip() for m in found if m and m["value"].strip() != "(null)"}


def _node(line: str) -> SlurmNode:
    name, state = _NODE.match(line), _STATE.search(line)
    if name is None or state is None:
        raise InputError(
            "answer of scontrol show node",
            found=repr(line[:120]),
            expected="a node in one line",
        )
    partitions, reason = _PARTITIONS.search(line), _REASON.search(line)
    return SlurmNode(
        node=name["node"],
        state=state["state"],
        reason=reason["reason"] if reason else None,
        partitions=tuple(partitions["partitions"].split(",")) if partitions else (),
    )
