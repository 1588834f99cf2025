"""What a judge knows of one cluster beside each attempt: incidents of many jobs, and its nodes.

Fed by what lands and by the clock of the ticks alone, so a replay knows the same. What it must not
forget over a restart of the service is its state, which the ledger keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from relume.clock import MICROSECONDS_PER_SECOND
from relume.events import NodeEvent
from relume.models.fleet.breaker import Breaker, Incident, Seen
from relume.models.fleet.failure import Failure
from relume.models.fleet.nodes import NodeBook, NodeState, Turn
from relume.models.lemons.evidence import faulty_nodes, shown
from relume.models.lemons.online import Fault, NodeLedger, Told
from relume.models.lemons.quarantine import Change, Hold
from relume.models.policy.fingerprint import likeness
from relume.models.policy.policy import Policy
from relume.models.policy.view import Surroundings
from relume.serve.live.watch import AttemptWatch, WatchSettings
from relume.verdict import Verdict

MAX_LEFT_OUT = 10_000
"""Exclusions remembered; the oldest goes first."""
MAX_FAILURES = 20_000
"""Failures remembered; the oldest goes first."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Nodes that a run was advised to do without; in force until then at least."""

    run: str
    nodes: tuple[str, ...]
    until: int


@dataclass(slots=True, kw_only=True)
class FleetState:
    """All that a fleet remembers, as of the tick at `now` (UTC microseconds); plain data."""

    now: int = 0
    failures: dict[str, Failure] = field(default_factory=dict)
    nodes: dict[str, NodeState] = field(default_factory=dict)
    incident: Incident | None = None
    cleared_at: int = 0
    faults: list[Fault] = field(default_factory=list)
    waiting: list[Fault] = field(default_factory=list)
    out: list[str] = field(default_factory=list)
    holds: dict[str, Hold] = field(default_factory=dict)
    told: dict[str, Told] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    held: list[str] = field(default_factory=list)


class Fleet:
    """One cluster. Bounded by its nodes and by the attempts that are watched; not thread-safe.

    Parameters
    ----------
    settings
        Whose policy and quarantine hold.
    state
        What was known before; what lands as of its time or before is in it already.
    beside
        How many attempts of the cluster ran at a time that nobody tells of here.

    Attributes
    ----------
    beside
        As above.
    held
        The attempts that are held by an incident, who waits longest first.
    is_changed
        Whether anything was learned that is to be remembered, since it was last set to false.
    """

    def __init__(
        self,
        settings: WatchSettings,
        state: FleetState | None = None,
        *,
        beside: Callable[[int], int] = lambda _: 0,
    ) -> None:
        known = state or FleetState()
        self.beside = beside
        self._policy: Policy = settings.policy
        self._since = self._now = known.now
        self._failures = dict(known.failures)
        self._nodes = NodeBook(dict(known.nodes))
        self._breaker = Breaker(known.incident, known.cleared_at)
        self._lemons = NodeLedger(settings.quarantine)
        self._lemons.restore(known.faults, known.waiting, known.out, known.holds, known.told)
        self._left_out = list(known.left_out)
        self.held: dict[str, None] = dict.fromkeys(known.held)
        self.is_changed = False

    def __getstate__(self) -> dict[str, object]:
        """Leave out whom it asks: that is told again by who restores it."""
        return {name: value for name, value in self.__dict__.items() if name != "beside"}

    @property
    def incident(self) -> Incident | None:
        """What strikes many jobs now; null for nothing."""
        return self._breaker.incident

    @property
    def lemons(self) -> NodeLedger:
        """The faults of the nodes, and who is held."""
        return self._lemons

    @property
    def state(self) -> FleetState:
        """What is to be remembered."""
        return FleetState(
            now=self._now,
            failures=self._failures,
            nodes=self._nodes.states,
            incident=self._breaker.incident,
            cleared_at=self._breaker.cleared_at,
            faults=self._lemons.faults,
            waiting=self._lemons.waiting,
            out=sorted(self._lemons.out),
            holds=self._lemons.quarantine.holds,
            told=self._lemons.told,
            left_out=self._left_out,
            held=list(self.held),
        )

    def take(self, event: NodeEvent) -> tuple[Turn | None, list[Change]]:
        """Take what is told of a node; return what became of it, and what is advised about it."""
        now = max(self._now, event.observed_at or event.event_time or 0)
        if now <= self._since:
            return None, []  # known already
        turn = self._nodes.take(event)
        self.is_changed = True
        return turn, self._lemons.turned(event, turn, now)

    def advance(self, now: int, watches: Mapping[str, AttemptWatch]) -> list[Change]:
        """Take the clock, when every attempt was looked at; return advice about nodes."""
        if now <= self._since:
            return []
        self._now = now
        silent: list[AttemptWatch] = []
        working: list[AttemptWatch] = []
        for name, watch in watches.items():
            failing = watch.failing
            self._note(name, watch, failing, now)
            if watch.is_silent:
                silent.append(watch)
            elif failing is None and watch.facts is not None and not watch.facts.ended:
                working.append(watch)
        self._forget(now, watches)
        before = self.incident
        last = 0 if before is None else before.last
        if self._failures or silent or before is not None:
            seen = Seen(
                failures=self._failures.values(),
                silent=_runs(silent),
                working=[one.name for one in working],
                beside=self.beside(now),
                stepping=_runs(one for one in working if one.last_step_at > last),
                held=_runs(watches[name] for name in self.held),
                is_out=self._nodes.is_out,
            )
            self._breaker.advance(now, self._policy, seen)
        if self.incident is not None:
            self._lemons.withdraw(self.incident.members)
        waiting = len(self._lemons.waiting)
        changes = self._lemons.advance(now, len(self._nodes) or self._seen(watches))
        self.is_changed |= bool(changes) or waiting != len(self._lemons.waiting)
        self.is_changed |= (before is None) is not (self.incident is None)
        return changes

    @property
    def is_idle(self) -> bool:
        """Whether a tick does nothing here while all attempts work: no failure, nobody held."""
        lemons = self._lemons
        is_open = self._failures or self.held or self.incident is not None
        return not (is_open or lemons.waiting or lemons.quarantine.held)

    def pass_time(self, now: int) -> None:
        """Take the clock when it `is_idle`, and no attempt was looked at."""
        if now > self._since:
            self._now = now

    def decided(self, watch: AttemptWatch, *, is_new: bool) -> None:
        """Take what was decided about an attempt: whether it is held, and whom it does without."""
        name = watch.name
        if watch.is_held is not (name in self.held):
            self.is_changed = True
            self.held.pop(name, None)
            if watch.is_held:
                self.held[name] = None
        if is_new and watch.last is not None and watch.last.exclude_nodes:
            left = LeftOut(run_of(watch), watch.last.exclude_nodes, watch.last.expires_at)
            self._left_out = [*self._left_out[-MAX_LEFT_OUT:], left]
            self.is_changed = True

    def around(self, watch: AttemptWatch, watches: Mapping[str, AttemptWatch]) -> Surroundings:
        """Return what goes on around an attempt, as far as it is known."""
        now, facts, incident = self._now, watch.facts, self.incident
        is_struck = incident is not None and incident.holds(watch.name, run_of(watch))
        partition = None if facts is None else self._nodes.partition(facts.partition or "")
        deadline = None if facts is None else facts.deadline
        left = None if deadline is None else (deadline - now) / MICROSECONDS_PER_SECOND
        return Surroundings(
            now=now,
            admin_acted=watch.hand,
            failed_together=incident.size if incident is not None and is_struck else None,
            running=incident.running if incident is not None and is_struck else None,
            partition_nodes=None if partition is None else partition[0],
            partition_excluded=self._excluded(watch, watches),
            placeable_nodes=None if partition is None else partition[1],
            seconds_left=left,
            queue_seconds=watch.course.queue_seconds,
            restart_seconds=watch.course.restart_seconds,
        )

    def _note(self, name: str, watch: AttemptWatch, verdict: Verdict | None, now: int) -> None:
        """Note by what an attempt fails, or that it doesn't after all."""
        known = self._failures.get(name)
        if verdict is None:
            if known is not None and watch.has_been_looked_at:
                del self._failures[name]
                self._lemons.withdraw({name})
            return
        faulty = faulty_nodes(verdict)
        words = verdict.rule or verdict.cause or verdict.kind.value
        if known is not None and (known.domain, known.faulty, known.words) == (
            verdict.domain,
            faulty,
            words,
        ):
            return
        self._failures[name] = Failure(
            attempt=name,
            run=run_of(watch),
            user=watch.run.user,
            at=now if known is None else known.at,
            domain=verdict.domain,
            likeness=likeness(verdict),
            nodes=tuple(sorted(watch.run_nodes)),
            faulty=faulty,
            words=words,
        )
        for node in faulty:
            self._lemons.note(
                Fault(
                    node=node,
                    at=now,
                    domain=verdict.domain,
                    attempt=name,
                    words=words,
                    evidence=shown(verdict),
                )
            )
        self.is_changed = True

    def _forget(self, now: int, watches: Mapping[str, AttemptWatch]) -> None:
        """Let go of failures that are too old to be part of anything, and of who isn't watched."""
        oldest = now - round(self._policy.breaker_seconds * MICROSECONDS_PER_SECOND)
        for name in [name for name, one in self._failures.items() if one.at < oldest]:
            if name not in watches:
                del self._failures[name]
        while len(self._failures) > MAX_FAILURES:
            del self._failures[next(iter(self._failures))]
        for name in [name for name in self.held if name not in watches]:
            del self.held[name]

    def _excluded(self, watch: AttemptWatch, watches: Mapping[str, AttemptWatch]) -> int | None:
        """Count nodes of its partition that other runs were told to do without, while they run."""
        blamed = watch.failing.exclude_nodes if watch.failing is not None else ()
        if not blamed or watch.facts is None:
            return None
        mine = set(self._in_force(run_of(watch), watches)) - set(blamed)
        return sum(self._nodes.is_in(node, watch.facts.partition) for node in mine)

    def _in_force(self, run: str, watches: Mapping[str, AttemptWatch]) -> Iterator[str]:
        others = [left for left in self._left_out if left.run != run]
        if not others:
            return  # it costs a look at every attempt
        running = {
            (run_of(one), node)
            for one in watches.values()
            if one.facts is not None and not one.facts.ended
            for node in one.facts.excluded_by_user
        }
        for left in others:
            for node in left.nodes:
                if left.until > self._now or (left.run, node) in running:
                    yield node

    @staticmethod
    def _seen(watches: Mapping[str, AttemptWatch]) -> int:
        """How many nodes are in use, where the scheduler told of none by itself."""
        return len({node for watch in watches.values() for node in watch.nodes})


def _runs(watches: Iterable[AttemptWatch]) -> dict[str, str]:
    """The run of each attempt."""
    return {watch.name: run_of(watch) for watch in watches}


def run_of(watch: AttemptWatch) -> str:
    """Return a text that is the same for all attempts of one run, and for no others."""
    return "\x1f".join((watch.run.user or "", watch.run.name))
