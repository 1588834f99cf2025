"""The ledger of faulty nodes as it grows: who is to be kept from jobs, and who is let go again.

A fault counts only after a while: what strikes many nodes at once is one incident of the cluster,
and no node of it is to blame. Whoever was given back to jobs by a person is as good as new.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from relume.events import NodeEvent
from relume.models.fleet.nodes import Turn
from relume.models.lemons.evidence import is_fault
from relume.models.lemons.quarantine import DAY, Change, Hold, Move, Quarantine, QuarantineSettings
from relume.verdict import Domain, Evidence

SHARED_SECONDS = 600.0
"""How long a fault waits for others that would show it to be one incident."""
SHARED_NODES = 5
"""So many nodes that fail within that time have one thing that struck them all."""
SAME_SECONDS = 3600.0
"""What Slurm or a check says of a node within an hour of a job's failure is the same fault."""
MAX_FAULTS = 10_000
"""Faults that are kept; the oldest goes first."""
_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault of one node, by evidence of hardware grade.

    `attempt` is the one that failed by it, null where Slurm or a check took the node out;
    `words` say what it was, `evidence` shows it, `at` is when it was known (UTC microseconds).
    """

    node: str
    at: int
    domain: Domain
    attempt: str | None = None
    words: str = ""
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """What was last advised about a node: by which fault, and the how-many-th time by that one."""

    fault: Fault
    generation: int


@dataclass(slots=True)
class NodeLedger:
    """Faults in the order of their times. Its state is its fields.

    Parameters
    ----------
    settings
        How long who is held.

    Examples
    --------
    >>> ledger = NodeLedger(QuarantineSettings(cap=0.1, min_faults=2))
    >>> for job, second in enumerate((0, 5000)):
    ...     lost = Fault(
    ...         node="n7", at=second * 1_000_000, domain=Domain.HARDWARE, attempt=f"lab/{job}@0.0"
    ...     )
    ...     ledger.note(lost)
    ...     changes = ledger.advance((second + 700) * 1_000_000, nodes=64)
    >>> [(one.node, one.move.value, one.why) for one in changes]
    [('n7', 'hold', '2 faults in 90 days')]
    """

    settings: QuarantineSettings
    faults: list[Fault] = field(default_factory=list)
    waiting: list[Fault] = field(default_factory=list)
    out: set[str] = field(default_factory=set)
    told: dict[str, Told] = field(default_factory=dict)
    quarantine: Quarantine = field(init=False)

    def __post_init__(self) -> None:
        self.quarantine = Quarantine(self.settings, 1)

    def restore(
        self,
        faults: Iterable[Fault],
        waiting: Iterable[Fault],
        out: Iterable[str],
        holds: Mapping[str, Hold],
        told: Mapping[str, Told],
    ) -> None:
        """Take what was known before."""
        self.faults, self.waiting, self.out = list(faults), list(waiting), set(out)
        self.told = dict(told)
        for fault in self.faults:
            self.quarantine.fault(fault.node, fault.at, fault.domain)
        self.quarantine.restore(holds)

    def note(self, fault: Fault) -> None:
        """Take a fault; the same attempt's failure by the same node is one, whenever it is told."""
        told = (fault.node, fault.attempt)
        if fault.attempt is not None and any(
            (one.node, one.attempt) == told for one in (*self.waiting, *self.faults)
        ):
            return
        self.waiting.append(fault)

    def withdraw(self, attempts: Collection[str]) -> None:
        """Take back what failed by an incident, or did not fail after all; what counts stays."""
        self.waiting = [one for one in self.waiting if one.attempt not in attempts]

    def turned(self, event: NodeEvent, turn: Turn | None, now: int) -> list[Change]:
        """Take what became of a node by what is told of it; null where nothing did."""
        if turn is None:
            return []
        if turn is not Turn.OUT:
            return self.came_back(event.node, now, by_hand=turn is Turn.RESUMED)
        self.went_out(event.node)
        if is_fault(event):
            words = event.reason or event.check or "out of service"
            self.note(Fault(node=event.node, at=now, domain=Domain.HARDWARE, words=words))
        return []

    def went_out(self, node: str) -> None:
        """Take that a node is out of service: nobody need hold it."""
        self.out.add(node)

    def came_back(self, node: str, at: int, *, by_hand: bool) -> list[Change]:
        """Take that a node is in service again; whoever gave it back by hand knows better."""
        self.out.discard(node)
        if not by_hand:
            return self._hold(node, at) if self._faults_of(node) else []
        was_held = node in self.quarantine.held
        self.quarantine.release(node)
        self.waiting = [one for one in self.waiting if one.node != node]
        self.faults = [one for one in self.faults if one.node != node]
        return [Change(node, at, Move.PAROLE, "given back by hand")] if was_held else []

    def advance(self, now: int, nodes: int) -> list[Change]:
        """Count the faults that have waited long enough at `now`, of a cluster of so many nodes."""
        self.quarantine.resize(max(1, nodes))
        changes = self.quarantine.advance(now)
        due = now - round(SHARED_SECONDS * _MICROSECONDS)
        if not self.waiting or self.waiting[0].at > due:
            return changes
        ripe = [one for one in self.waiting if one.at <= due]
        alone = [one for one in ripe if not self._is_shared(one) and not self._is_known(one)]
        self.waiting = [one for one in self.waiting if one.at > due]
        for fault in alone:
            self.faults.append(fault)
            self.quarantine.fault(fault.node, fault.at, fault.domain)
            if fault.node not in self.out:
                changes += self._hold(fault.node, now)
        oldest = now - round(self.settings.window_days * DAY)
        if self.faults and self.faults[0].at < oldest:
            self.faults = [one for one in self.faults if one.at >= oldest]
        del self.faults[:-MAX_FAULTS]
        return changes

    def tell(self, change: Change) -> Told | None:
        """Return what a change is told by; null where no attempt failed by the node.

        That a node is let go is told by what told that it is held.
        """
        last = self.told.get(change.node)
        fault = None if last is None else last.fault
        if change.move is Move.HOLD:
            mine = (one for one in reversed(self.faults) if one.node == change.node)
            fault = next((one for one in mine if one.attempt is not None), None)
        if fault is None:
            return None
        before = last.generation if last and last.fault.attempt == fault.attempt else 0
        told = self.told[change.node] = Told(fault, before + 1)
        return told

    def _hold(self, node: str, at: int) -> list[Change]:
        return self.quarantine.returned(node, at)

    def _faults_of(self, node: str) -> list[Fault]:
        return [one for one in self.faults if one.node == node]

    def _is_shared(self, fault: Fault) -> bool:
        """Whether so many other nodes failed at about the time that it is no fault of this one."""
        near = round(SHARED_SECONDS * _MICROSECONDS)
        told = (*self.waiting, *self.faults[-1000:])
        return len({one.node for one in told if abs(one.at - fault.at) <= near}) >= SHARED_NODES

    def _is_known(self, fault: Fault) -> bool:
        """Whether it is what Slurm says of a failure that a job told already, or will."""
        near = round(SAME_SECONDS * _MICROSECONDS)
        others = (one for one in (*self.waiting, *self.faults) if one is not fault)
        return fault.attempt is None and any(
            one.node == fault.node and abs(one.at - fault.at) <= near for one in others
        )
