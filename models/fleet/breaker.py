"""Correlated incidents: many jobs fail by one thing, a switch or a filesystem (DESIGN 4.6).

While one goes on nobody is blamed, and restarts are held: they would fail by it again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from relume.models.fleet.failure import Failure, parties
from relume.models.policy.guards import trips
from relume.models.policy.policy import Policy
from relume.verdict import Domain

_MICROSECONDS = 1_000_000


@dataclass(slots=True)
class Incident:
    """One that goes on.

    Attributes
    ----------
    first
        One of the attempts that it struck, the same in every replay: by it the incident is known.
    domain
        Of what failed, if all agree; unknown else, and while jobs are only silent.
    since, last
        When it was noticed, and when something of it was last seen (UTC microseconds).
    size, running
        The most parties that were seen to fail together; jobs that worked when it was noticed.
    members
        The attempts that it struck.
    nodes
        Where these ran.
    silent, silent_at
        Those of the members that were silent at any time; when any of them was last, 0 for never.
    probe, probed_at
        The run of the job that may start again to see whether it is over, null while none may;
        since when.
    failed_probe_at
        When the last probe failed again; 0 for never.
    """

    first: str
    since: int
    last: int
    size: int
    running: int
    domain: Domain = Domain.UNKNOWN
    members: set[str] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    silent_at: int = 0
    probe: str | None = None
    probed_at: int = 0
    failed_probe_at: int = 0

    @property
    def has_crashed(self) -> bool:
        """Whether anything of it failed: else all of it is silence."""
        return bool(self.nodes)

    def holds(self, attempt: str, run: str) -> bool:
        """Whether an attempt has to wait for its end: all whom it struck, but for the probe."""
        return attempt in self.members and run != self.probe

    def goes_on(self, seen: Seen) -> bool:
        """Whether something that it struck works again: the probe, or who was silent."""
        if self.probe is not None and self.probe in seen.stepping.values():
            return True
        return not seen.silent and any(attempt in self.silent for attempt in seen.stepping)

    def join(self, failures: Collection[Failure], silent: Mapping[str, str], now: int) -> None:
        """Take what belongs to it as of `now`."""
        self.last = now if silent else max((one.at for one in failures), default=self.last)
        self.silent_at = now if silent else self.silent_at
        self.members.update(silent, (one.attempt for one in failures))
        self.nodes.update(node for one in failures for node in one.nodes)
        self.silent.update(silent)
        again = [one.at for one in failures if one.run == self.probe and one.at > self.probed_at]
        if again:
            self.probe, self.failed_probe_at = None, max(again)


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
    beside
        How many others work that nobody tells of.
    stepping
        The run of each of those that made a step since anything of the incident was last seen.
    held
        The run of each attempt that waits for the end of an incident, who waits longest first.
    is_out
        Whether a node is out of service.
    """

    failures: Collection[Failure]
    silent: Mapping[str, str]
    working: Collection[str]
    beside: int = 0
    stepping: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, str] = field(default_factory=dict)
    is_out: Callable[[str], bool] = lambda _: False

    @property
    def running(self) -> int:
        """How many attempts work."""
        return len(self.working) + self.beside


@dataclass(slots=True)
class Breaker:
    """Notices an incident, and that it is over. Its state is its fields.

    Calm it is when within `Policy.breaker_seconds` nobody was silent, and so few failed that twice
    as many would be no incident, and no node of it is out of service by Slurm's word any more (at
    most `Policy.hold_seconds` are waited for that). Then one of those that are held may start
    again, as a probe. Over it is when the probe makes a step, or a silent member goes on and no
    other is silent; also when a probe was let go, and nobody saw it start or fail for as long.
    """

    incident: Incident | None = None
    cleared_at: int = 0

    def advance(self, now: int, policy: Policy, seen: Seen) -> None:
        """Look at the cluster as of `now` (UTC microseconds)."""
        window = round(policy.breaker_seconds * _MICROSECONDS)
        since = max(now - window, self.cleared_at)
        recent = [one for one in seen.failures if since < one.at <= now]
        told = parties(recent, seen.silent)
        count, running = len(set(told.values())), seen.running
        one = self.incident
        if one is None:
            if not trips(count, running, policy):
                return
            domains = {failure.domain for failure in recent if failure.attempt in told}
            one = self.incident = Incident(
                first=min(told),
                since=now,
                last=now,
                size=count,
                running=running,
                domain=domains.pop() if len(domains) == 1 else Domain.UNKNOWN,
            )
        one.size = max(one.size, count)
        one.join([failure for failure in recent if failure.attempt in told], seen.silent, now)
        if one.goes_on(seen) or self._is_unanswered(one, now, window):
            self.incident, self.cleared_at = None, now
        elif one.probe is None and self._is_calm(one, now, policy, seen, count):
            one.probe = seen.held.get(next((name for name in seen.held if name in one.members), ""))
            one.probed_at = now
            if one.probe is None:  # nobody waits for its end
                self.incident, self.cleared_at = None, now

    @staticmethod
    def _is_unanswered(one: Incident, now: int, window: int) -> bool:
        return one.probe is not None and now - one.probed_at >= window

    @staticmethod
    def _is_calm(one: Incident, now: int, policy: Policy, seen: Seen, count: int) -> bool:
        if trips(2 * count, seen.running, policy):
            return False
        window = policy.breaker_seconds * _MICROSECONDS
        if now < max(one.silent_at, one.failed_probe_at) + window:
            return False
        waited = now - one.last >= policy.hold_seconds * _MICROSECONDS
        return waited or not any(map(seen.is_out, one.nodes))
