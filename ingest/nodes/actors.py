"""Who brought a node into its state, told by the reason that stands with it.

Slurm writes reasons of its own, in fixed words; health checks begin theirs with their name; what is
left was typed by somebody. The user beside a reason tells less: checks run as root, and so do the
people who mend nodes.

Sources: slurmctld's node_mgr.c, job_mgr.c, node_scheduler.c, slurmd's req.c; LBNL NHC.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from relume.events import Actor, CheckOutcome

_OWN = re.compile(r"relume\b", re.IGNORECASE)
_CHECKS = (
    (re.compile(r"nhc\b(?:: *(?P<check>check_\w+))?", re.IGNORECASE), "nhc"),
    (re.compile(r"(?P<check>check_\w+)"), "check"),
    (re.compile(r"(?:slurm )?prolog\b", re.IGNORECASE), "prolog"),
    (re.compile(r"(?:slurm )?epilog\b", re.IGNORECASE), "epilog"),
    (re.compile(r"health ?check", re.IGNORECASE), "HealthCheckProgram"),
)
_SLURM = re.compile(
    r"not responding|node unexpectedly rebooted|kill task failed|duplicate jobid"
    r"|batch job complete failure|low (?:socket|cpus|realmemory|tmpdisk|real ?memory)"
    r"|gres/\S+ count|reboot (?:asap|issued|complete|timed out)|resumetimeout|suspendtimeout"
    r"|invalid (?:state|node)|power(?:ed)? (?:down|up)|(?:node )?ping|step(?:d)? .*not ending"
    r"|job env setup|corespec differ|node configuration differs|failed node|reconfig",
    re.IGNORECASE,
)
_NOBODY = frozenset({"", "unknown", "none", "n/a"})
_USER_ID = re.compile(r"\(\d+\)$")


@dataclass(frozen=True, slots=True)
class Cause:
    """Who it was, and what a check said; null when nobody can tell, and when it was no check."""

    actor: Actor | None = None
    check: str | None = None
    outcome: CheckOutcome | None = None


def judge(reason: str | None, user: str | None = None, *, default: Actor | None = None) -> Cause:
    """Tell who set a node's state by the reason, then by the user, else `default`.

    >>> cause = judge("NHC: check_fs_mount: /scratch not mounted", "root")
    >>> cause.actor.value, cause.check, cause.outcome.value
    ('check', 'check_fs_mount', 'failed')
    >>> judge("Not responding", "slurm").actor, judge("bad riser", "ada").actor, judge(None).actor
    (<Actor.SLURM: 'slurm'>, <Actor.ADMIN: 'admin'>, None)
    """
    text = (reason or "").strip()
    if _OWN.match(text):
        return Cause(Actor.RELUME)
    for pattern, name in _CHECKS:
        if found := pattern.match(text):
            check = found.groupdict().get("check") or name
            return Cause(Actor.CHECK, check, CheckOutcome.FAILED)
    if _SLURM.match(text):
        return Cause(Actor.SLURM)
    name = _USER_ID.sub("", user or "").strip().lower()
    if name == "slurm":
        return Cause(Actor.SLURM)
    return Cause(default if name in _NOBODY else Actor.ADMIN)
