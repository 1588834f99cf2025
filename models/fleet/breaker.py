"""Correlated incidents: many jobs fail by one thing, a switch or a filesystem (DESIGN 4.6).

While one goes on nobody is blamed, and restarts are held: they would fail by it again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from relume.models.fleet.failure import Failure, parties
from relume.models.policy.guards import trips
from relume.models.policy.policy import Policy

_MICROSECONDS = 1_000_000


@dataclass(slots=True)
class Incident:
    """One that goes on.

    Attributes
    ----------
    since, last
        When it was noticed, and when something of it was last seen (UTC microseconds).
    size, running
        The most parties that were seen to fail together; jobs that worked when it was noticed.
    members
        The attempts that it struck.
    nodes
        Where these ran.
    silent
        Those of the members that were silent when last looked at.
    """

    since: int
    last: int
    size: int
    running: int
    members: set[str] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)

    def join(self, failures: Collection[Failure], silent: Mapping[str, str], now: int) -> None:
        """Take what belongs to it as of `now`."""
        self.last = now if silent else max((one.at for one in failures), default=self.last)
        self.members.update(silent, (one.attempt for one in failures))
        self.nodes.update(node for one in failures for node in one.nodes)
        self.silent.update(silent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What of a cluster is looked at.

    Attributes
    ----------
    failures
        Of the last time; older ones are passed over.
    silent
        The run of each attempt that is suspiciously silent now.
    working
        The attempts that run and show nothing of the kind.
    is_out
        Whether a node is out of service.
    """

    failures: Collection[Failure]
    silent: Mapping[str, str]
    working: Collection[str]
    is_out: Callable[[str], bool] = lambda _: False


@dataclass(slots=True)
class Breaker:
    """Notices an incident, and that it is over. Its state is its fields.

    Over it is when one of those that were silent works again and no other is silent; or when so few
    failed within `Policy.breaker_seconds` that twice as many would be no incident, and no node of
    it is out of service by Slurm's word any more (at most `Policy.hold_seconds` are waited for
    that, then jobs are let go whatever happens).
    """

    incident: Incident | None = None
    cleared_at: int = 0

    def advance(self, now: int, policy: Policy, seen: Seen) -> None:
        """Look at the cluster as of `now` (UTC microseconds)."""
        since = max(now - round(policy.breaker_seconds * _MICROSECONDS), self.cleared_at)
        recent = [one for one in seen.failures if since < one.at <= now]
        told = parties(recent, seen.silent)
        count, running = len(set(told.values())), len(seen.working)
        one = self.incident
        if one is None:
            if not trips(count, running, policy):
                return
            one = self.incident = Incident(since=now, last=now, size=count, running=running)
        one.size = max(one.size, count)
        one.join([failure for failure in recent if failure.attempt in told], seen.silent, now)
        if seen.silent:
            return
        resumed = any(attempt in one.silent for attempt in seen.working)
        is_calm = not trips(2 * count, running, policy)
        waited = now - one.last >= policy.hold_seconds * _MICROSECONDS
        if resumed or (is_calm and (waited or not any(map(seen.is_out, one.nodes)))):
            self.incident, self.cleared_at = None, now
