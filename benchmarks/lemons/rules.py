"""Rules about which nodes to hold: ours, and what others do. None of them sees the future."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from relume.benchmarks.corpora.infinitehbd import DAY_MICROS, Fault
from relume.models.lemons.evidence import HARDWARE_GRADE
from relume.models.lemons.quarantine import Move, Quarantine, QuarantineSettings
from relume.models.lemons.refault import RefaultModel, RefaultSettings
from relume.models.lemons.score import Blame, LemonSettings, score_nodes
from relume.verdict import Domain


class Held(NamedTuple):
    """A node is held from `start` on, until `end` (null: until the rule says so)."""

    node: str
    start: int
    end: int | None


class Rule(Protocol):
    """What the walk asks: at each fault that it sees, and at each return of a node."""

    def fault(self, fault: Fault) -> list[Held]:
        """Say who is held when a fault is seen."""
        ...

    def returned(self, fault: Fault) -> tuple[list[Held], list[tuple[str, int]]]:
        """Say who is held, and who is let go when, after a fault was repaired."""
        del fault
        return [], []


@dataclass(slots=True)
class CountRule(Rule):
    """So many faults within a window hold a node for some days: what sites do by hand."""

    faults: int
    window_days: float
    hold_days: float
    _seen: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def fault(self, fault: Fault) -> list[Held]:
        """Count it, and hold its node when it has had enough."""
        self._seen[fault.node].append(fault.start)
        since = fault.start - self.window_days * DAY_MICROS
        if sum(at > since for at in self._seen[fault.node]) < self.faults:
            return []
        return [Held(fault.node, fault.start, fault.start + round(self.hold_days * DAY_MICROS))]


@dataclass(slots=True)
class ScoreRule(Rule):
    """The score of metrics section 11 over a window; who is a lemon is held for some days."""

    window_days: float
    hold_days: float
    nodes: int
    _seen: list[Fault] = field(default_factory=list)

    def fault(self, fault: Fault) -> list[Held]:
        """Score the fleet anew, and hold the node when it is a lemon."""
        self._seen.append(fault)
        since = fault.start - self.window_days * DAY_MICROS
        self._seen = [one for one in self._seen if one.start > since]
        days = min(self.window_days, fault.start / DAY_MICROS)
        names = {one.node for one in self._seen}
        fleet = names | {f"quiet-{number}" for number in range(self.nodes - len(names))}
        blames = [Blame(one.node, str(one.start), Domain.HARDWARE) for one in self._seen]
        scores = score_nodes(blames, dict.fromkeys(fleet, days), LemonSettings())
        if not any(score.node == fault.node and score.is_lemon for score in scores):
            return []
        return [Held(fault.node, fault.start, fault.start + round(self.hold_days * DAY_MICROS))]


@dataclass(slots=True)
class QuarantineRule(Rule):
    """Ours, live: held when they come back, the riskiest first, under a cap.

    `every_fault` counts what has no known cause against the node, too.
    """

    settings: QuarantineSettings
    nodes: int
    every_fault: bool
    _fleet: Quarantine = field(init=False)

    def __post_init__(self) -> None:
        """Begin with a fleet of which nothing is known."""
        self._fleet = Quarantine(self.settings, self.nodes)

    def fault(self, fault: Fault) -> list[Held]:
        """Note it: nobody is held before the repair."""
        domain = Domain.HARDWARE if self.every_fault else fault.desk_domain
        self._fleet.fault(fault.node, fault.start, domain)
        return []

    def returned(self, fault: Fault) -> tuple[list[Held], list[tuple[str, int]]]:
        """Hold the node when it comes back, in place of calmer ones."""
        changes = self._fleet.returned(fault.node, fault.end)
        held = [Held(one.node, one.at, None) for one in changes if one.move is Move.HOLD]
        return held, [(one.node, one.at) for one in changes if one.move is Move.PAROLE]


@dataclass(slots=True)
class ModelRule(Rule):
    """Quarantine whose order is that of a model, from the time on at which it knows enough.

    Before that it is `QuarantineRule`. Who may be held at all is the same: what has no known cause
    is no evidence, neither for the quarantine nor for the model, unless `every_fault` says so.
    """

    settings: QuarantineSettings
    nodes: int
    every_fault: bool
    model: RefaultModel = field(init=False)
    _fleet: Quarantine = field(init=False)

    def __post_init__(self) -> None:
        """Begin with a fleet of which nothing is known."""
        self._fleet = Quarantine(self.settings, self.nodes)
        self.model = RefaultModel(RefaultSettings(), self.nodes)

    def fault(self, fault: Fault) -> list[Held]:
        """Note it: nobody is held before the repair."""
        if self._counts(fault):
            self._fleet.fault(fault.node, fault.start, Domain.HARDWARE)
            self.model.fault(fault.node, fault.start, fault.kind)
        return []

    def returned(self, fault: Fault) -> tuple[list[Held], list[tuple[str, int]]]:
        """Hold the node when it comes back, in place of those that are less likely to fail."""
        at = fault.end
        over = [(one.node, one.at) for one in self._fleet.advance(at)]
        self._let_go(over)
        weight = self.model.returned(fault.node, at, began=fault.start)
        changes = self._fleet.returned(fault.node, at, weight=weight)
        given_up = [(one.node, one.at) for one in changes if one.move is Move.PAROLE]
        self._let_go(given_up)
        held = [Held(one.node, one.at, None) for one in changes if one.move is Move.HOLD]
        for one in held:
            self.model.held(one.node)
        return held, over + given_up

    def _counts(self, fault: Fault) -> bool:
        return self.every_fault or fault.desk_domain in HARDWARE_GRADE

    def _let_go(self, over: list[tuple[str, int]]) -> None:
        for node, at in over:
            self.model.let_go(node, at)
