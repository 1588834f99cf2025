"""Quarantine: repaired nodes wait before they meet jobs again, the riskiest ones first.

In public traces nearly every fourth fault comes within a day after the last repair of the same
node, and the risk falls from there as one over the time. So no node is held because it once was
bad: each is held when it comes back, is let go in the order in which its risk falls, and never are
more than `cap` of the fleet held. A node without evidence against it isn't held at all.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from relume.errors import InputError, counted
from relume.models.lemons.evidence import HARDWARE_GRADE
from relume.verdict import Domain

DAY = 86_400_000_000
"""In microseconds."""


@dataclass(frozen=True, slots=True)
class QuarantineSettings:
    """How long who is held.

    Attributes
    ----------
    cap
        Share of the nodes in service that may be held at once.
    window_days
        Faults that count against a node.
    parole_days
        After how many days a node is let go at the latest, whatever it did.
    min_faults
        Faults in the window from which on a node is held at all.
    """

    cap: float = 0.02
    window_days: float = 90.0
    parole_days: float = 30.0
    min_faults: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.cap <= 1:
            raise InputError(f"quarantine.cap = {self.cap}", expected="a share, 0 to 1")
        for name in ("window_days", "parole_days", "min_faults"):
            if not getattr(self, name) > 0:
                raise InputError(f"quarantine.{name} = {getattr(self, name)}", expected="above 0")


class Move(StrEnum):
    """What is advised for a node."""

    HOLD = "hold"
    PAROLE = "parole"
    NO_ROOM = "no_room"
    """It should be held, and the cap is full of riskier ones: the fleet needs capacity."""


@dataclass(frozen=True, slots=True)
class Change:
    """One advice about one node, with its reason in `why`."""

    node: str
    at: int
    move: Move
    why: str


@dataclass(frozen=True, slots=True)
class Hold:
    """Since when a node is held, and what counts against it."""

    since: int
    weight: float

    def risk(self, at: int) -> float:
        """Return how likely it fails again, up to a factor: it falls with the time."""
        return self.weight / ((at - self.since) / DAY + 1)


class Quarantine:
    """The nodes that are held of one fleet; events come in the order of their time.

    Parameters
    ----------
    settings
        How long who is held.
    nodes
        Nodes in service.

    Examples
    --------
    >>> fleet = Quarantine(QuarantineSettings(cap=0.01), nodes=100)
    >>> fleet.fault("n1", 0, Domain.HARDWARE)
    >>> [change.move.value for change in fleet.returned("n1", DAY)]
    ['hold']
    >>> fleet.fault("n2", 5 * DAY, Domain.HARDWARE)
    >>> [(change.node, change.move.value) for change in fleet.returned("n2", 6 * DAY)]
    [('n1', 'parole'), ('n2', 'hold')]
    >>> [change.node for change in fleet.advance(36 * DAY)]
    ['n2']
    """

    def __init__(self, settings: QuarantineSettings, nodes: int) -> None:
        self.settings = settings
        self.resize(nodes)
        self._faults: dict[str, list[int]] = {}
        self._held: dict[str, Hold] = {}

    @property
    def held(self) -> dict[str, int]:
        """Since when each node is held, in microseconds."""
        return {node: hold.since for node, hold in self._held.items()}

    @property
    def holds(self) -> dict[str, Hold]:
        """All that is held, to be kept and given to `restore`."""
        return dict(self._held)

    def restore(self, holds: Mapping[str, Hold]) -> None:
        """Take who was held before; faults are told again."""
        self._held = dict(holds)

    def resize(self, nodes: int) -> None:
        """Take how many nodes are in service now: who is held stays so, also beyond the cap."""
        if nodes < 1:
            raise InputError(f"a fleet of {nodes} nodes", expected="one or more")
        self.places = math.floor(self.settings.cap * nodes + 1e-9)

    def fault(self, node: str, at: int, domain: Domain) -> None:
        """Note a fault of a node; what a job did itself says nothing of its nodes."""
        if domain in HARDWARE_GRADE:
            insort(self._faults.setdefault(node, []), at)

    def returned(self, node: str, at: int, *, weight: float | None = None) -> list[Change]:
        """Decide on a node that is fit for jobs again, and on those that give way to it.

        `weight` says how risky it is against others; null weighs it by its faults.
        """
        changes = self.advance(at)
        faults = self._faults_of(node, at)
        if node in self._held or faults < self.settings.min_faults:
            return changes
        hold = Hold(at, faults if weight is None else weight)
        if len(self._held) >= self.places:
            if not self._held or self._least(at)[0] >= hold.risk(at):
                why = f"{counted(faults, 'fault')}; all {self.places} places are taken"
                return [*changes, Change(node, at, Move.NO_ROOM, why)]
            calmest = self._least(at)[1]
            changes.append(self._let_go(calmest, at, f"makes room for {node}"))
        self._held[node] = hold
        why = f"{counted(faults, 'fault')} in {self.settings.window_days:g} days"
        return [*changes, Change(node, at, Move.HOLD, why)]

    def advance(self, at: int) -> list[Change]:
        """Let go whose time is up at `at`."""
        return list(self._paroled(at))

    def release(self, node: str) -> None:
        """Forget that a node is held, and why: an operator took it back."""
        self._held.pop(node, None)
        self._faults.pop(node, None)

    def _paroled(self, at: int) -> Iterator[Change]:
        longest = round(self.settings.parole_days * DAY)
        over = [(hold.since + longest, node) for node, hold in self._held.items()]
        for end, node in sorted(over):
            if end <= at:
                yield self._let_go(node, end, f"quiet for {self.settings.parole_days:g} days")

    def _let_go(self, node: str, at: int, why: str) -> Change:
        del self._held[node]
        return Change(node, at, Move.PAROLE, why)

    def _least(self, at: int) -> tuple[float, str]:
        return min((hold.risk(at), node) for node, hold in self._held.items())

    def _faults_of(self, node: str, at: int) -> int:
        """Count faults in the window, and forget those before it."""
        faults = self._faults.get(node, [])
        del faults[: bisect_left(faults, at - round(self.settings.window_days * DAY))]
        return len(faults)
