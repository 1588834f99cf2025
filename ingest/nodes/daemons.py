"""Node events in the logs of slurmctld and slurmd, and of node health checks.

A line counts only where it begins with one of the wordings: job names and other people's words
stand further behind. What a line says of a job is the business of signatures, not of this module.

Sources: src/slurmctld/node_mgr.c, ping_nodes.c, job_mgr.c, proc_req.c; src/slurmd/slurmd/req.c and
src/common/run_command.c; LBNL Node Health Check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from relume.events import Actor, CheckOutcome, LogLine, NodeEvent
from relume.ingest.nodes.actors import judge
from relume.ingest.nodes.hosts import names_of
from relume.ingest.skips import SkipCounts
from relume.slurm.nodes import NOT_RESPONDING, RESPONDING, RESUME

MAX_REASONS = 4096
"""Reasons that are remembered until their states come: one command drains as many nodes."""
_DOWN, _DRAIN = "DOWN", "DRAIN"
_LEVEL = r"^(?:\w+: )*"
"""The level, and the function that logged it."""
_NODES = r"(?P<nodes>[\w.\[\],-]+)"


@dataclass(frozen=True, slots=True)
class _Wording:
    """How a line begins and what it says; groups `state` and `reason` of the line go first."""

    pattern: re.Pattern[str]
    state: str | None
    reason: str | None
    actor: Actor


def _wording(
    text: str,
    state: str | None = None,
    reason: str | None = None,
    *,
    actor: Actor = Actor.SLURM,
) -> _Wording:
    return _Wording(re.compile(_LEVEL + text, re.ASCII), state, reason, actor)


_WORDINGS = (
    _wording(rf"[Nn]odes? {_NODES} not responding, setting DOWN", _DOWN, "Not responding"),
    _wording(rf"[Nn]odes? {_NODES} not responding", NOT_RESPONDING, "Not responding"),
    _wording(rf"[Nn]ode {_NODES} now responding", RESPONDING),
    _wording(rf"[Nn]ode {_NODES} returned to service", RESUME),
    _wording(rf"[Nn]ode {_NODES} unexpectedly rebooted", _DOWN, "Node unexpectedly rebooted"),
    _wording(rf"[Nn]ode {_NODES} (?P<reason>rebooted \d+ secs ago)"),
    _wording(rf"update_node: node {_NODES} state set to (?P<state>\w+)", actor=Actor.ADMIN),
    _wording(rf"drain_nodes: node {_NODES} state set to (?P<state>\w+)"),
    _wording(rf"[Ss]etting node {_NODES} state to (?P<state>\w+) with reason: ?(?P<reason>.+)"),
    _wording(rf"(?:JobId=\S+ )?epilog error on {_NODES}, draining", _DRAIN, "Epilog error"),
    _wording(rf"Prolog or job env setup failure on node {_NODES}", _DRAIN, "Prolog error"),
    _wording(rf"[Kk]illing JobId=\S+ on failed node {_NODES}", _DOWN, "failed node"),
    _wording(rf"[Rr]equeue job JobId=\S+ due to failure of node {_NODES}", _DOWN, "failed node"),
    _wording(rf"Removing failed node {_NODES} from JobId=", _DOWN, "failed node"),
    _wording(rf"Batch JobId=\S+ missing from batch node {_NODES}", reason="batch job missing"),
)
_REASON = re.compile(
    rf"{_LEVEL}(?:update_node: node {_NODES} reason set to"
    r"|slurmd error running JobId=\S+ on node\(s\)=(?P<failed>[\w.\[\],-]+)): (?P<reason>.*)",
    re.ASCII,
)
_CHECK = re.compile(
    rf"{_LEVEL}(?:health_check:? (?P<word>failed|success|killed|didn't run|poll timeout|timeout)\b"
    r"|Health check (?P<nhc>failed): *(?P<check>check_\w+)?)",
    re.ASCII,
)
_OUTCOMES = {"failed": CheckOutcome.FAILED, "success": CheckOutcome.OK}
"""A check that was killed, ran out of time or didn't run says nothing of the node."""
_HINT_WORDS = r"[Nn]odes?[ (]|pilog|rolog|ealth"
"""What every wording holds: most lines have none of it."""
_HINT = re.compile(_HINT_WORDS)
_HINT_BYTES = re.compile(_HINT_WORDS.encode())


def telling_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    r"""Yield the lines of `data` that may say anything of a node, each with where it starts.

    Most lines can't, and need not be parsed.

    >>> list(telling_lines(b"sched: Allocate NodeList=n1\nNode n1 now responding\n"))
    [(28, b'Node n1 now responding')]
    """
    end = -1
    while found := _HINT_BYTES.search(data, end + 1):
        start = data.rfind(b"\n", end + 1, found.start()) + 1 or end + 1
        end = data.find(b"\n", found.end())
        if end < 0:
            yield start, data[start:]
            return
        yield start, data[start:end]


class DaemonReader:
    """Reads node events out of the lines of one daemon's log, in their order.

    The reason of a state is often logged on a line before it; at most `MAX_REASONS` are remembered.

    Examples
    --------
    >>> reader = DaemonReader(SkipCounts())
    >>> text = "error: Nodes n[1-2] not responding, setting DOWN"
    >>> for event in reader.read(LogLine(text, 0, 0, "slurmctld.log", stream="slurmctld")):
    ...     print(event.node, event.state, event.reason, event.actor)
    n1 DOWN Not responding slurm
    n2 DOWN Not responding slurm
    """

    def __init__(self, skipped: SkipCounts) -> None:
        self._skipped = skipped
        self._reasons: dict[str, str] = {}

    def read(self, line: LogLine) -> list[NodeEvent]:
        """Return what a line says of nodes, one event each; none for most lines.

        A check's own line says nothing of which node it ran on: that is the node of the log.
        """
        message = line.message
        if _HINT.search(message) is None:
            return []
        if found := _REASON.match(message):
            self._remember(found["nodes"] or found["failed"], found["reason"])
            return []
        for wording in _WORDINGS:
            if found := wording.pattern.match(message):
                return list(self._events(line, wording, found.groupdict()))
        found = _CHECK.match(message)
        return _checked(line, line.node, found.groupdict()) if found and line.node else []

    def _events(
        self, line: LogLine, wording: _Wording, found: dict[str, str | None]
    ) -> Iterator[NodeEvent]:
        state = found.get("state") or wording.state
        for node in self._names(found["nodes"] or ""):
            reason = found.get("reason") or wording.reason or self._reasons.pop(node, None)
            cause = judge(reason, default=wording.actor)
            yield NodeEvent(
                source=line.source,
                cluster=line.cluster,
                event_time=line.event_time,
                observed_at=line.observed_at,
                node=node,
                state=state,
                reason=reason,
                actor=cause.actor,
                check=cause.check,
                outcome=cause.outcome,
            )

    def _remember(self, nodes: str, reason: str) -> None:
        for node in self._names(nodes):
            self._reasons[node] = reason
            if len(self._reasons) > MAX_REASONS:
                del self._reasons[next(iter(self._reasons))]

    def _names(self, nodes: str) -> list[str]:
        return names_of(nodes.rstrip(",."), self._skipped)


def _checked(line: LogLine, node: str, found: dict[str, str | None]) -> list[NodeEvent]:
    word = found["word"] or found["nhc"] or ""
    outcome = _OUTCOMES.get(word, CheckOutcome.UNKNOWN)
    return [
        NodeEvent(
            source=line.source,
            cluster=line.cluster,
            event_time=line.event_time,
            observed_at=line.observed_at,
            node=node,
            reason=None if outcome is CheckOutcome.OK else line.message,
            actor=Actor.CHECK,
            check=found["check"] or ("nhc" if found["nhc"] else "HealthCheckProgram"),
            outcome=outcome,
        )
    ]
