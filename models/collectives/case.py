"""What every look at a hang needs: where the ranks stand, who waits for whom, and since when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from relume.models.collectives.clocks import Clocks
from relume.models.collectives.finding import Waited
from relume.models.collectives.graph import OpenWork, Sink, WaitGraph
from relume.models.collectives.matching import ends_together
from relume.models.collectives.state import State


@dataclass(frozen=True, slots=True)
class Case:
    """Everything that a judgement looks at."""

    state: State
    graph: WaitGraph
    clocks: Clocks
    sinks: Sequence[Sink]

    def stuck(self) -> list[OpenWork]:
        """Works that wait for nobody, and are open all the same.

        Not those of a rank whose ring no longer holds what it waits for first.
        """
        works = [self.graph.works[-1 - node] for node in self._alone() if node < 0]
        return [work for work in works if not self.is_behind_unknown(work)]

    def is_behind_unknown(self, work: OpenWork) -> bool:
        """Whether one of its ranks may be held by something that its ring has lost."""
        return any(
            rank in self.state.overrun and not one.is_started for rank, one in work.waiting.items()
        )

    def ranks(self) -> list[int]:
        """Ranks that others wait for and that wait for nobody."""
        return [node for node in self._alone() if node >= 0]

    def _alone(self) -> list[int]:
        return [node for sink in self.sinks if len(sink.nodes) == 1 for node in sink.nodes]

    def works_in(self, nodes: Iterable[int]) -> list[OpenWork]:
        """The works of a part of the graph."""
        return [self.graph.works[-1 - node] for node in nodes if node < 0]

    def first_wait(self, rank: int) -> float:
        """When the first of those that wait for `rank` began to, on the common clock."""
        return min((self.began(work) for work in self.kept_by(rank)), default=float("inf"))

    def kept_by(self, rank: int) -> list[OpenWork]:
        """The works that `rank` keeps, those of a whole group first, the first called first."""
        kept = [work for work in self.graph.works if rank in work.absent or rank in work.missing]
        kept = kept or [work for work in self.graph.works if rank in work.unclear]
        return sorted(kept, key=lambda work: (work.is_pair, self.began(work)))

    def began(self, work: OpenWork) -> float:
        """When the first of those that wait in `work` called it, on the common clock."""
        times = [
            self.clocks.common(rank, one.enqueued_time)
            for rank, one in work.waiting.items()
            if one.enqueued_time is not None
        ]
        return min(times, default=float("inf"))

    def entered(self, rank: int) -> float:
        """When `rank` called the first of what it has open, on the common clock."""
        times = (work.enqueued_time for work in self.state.open.get(rank, ()))
        time = next((time for time in times if time is not None), None)
        return self.last_call(rank) if time is None else self.clocks.common(rank, time)

    def tells_first(self, ranks: Sequence[int]) -> bool:
        """Whether it can be told which of `ranks` was the first to wait.

        Their clocks must be comparable, and their rings must hold what they wait for first.
        """
        return self.clocks.compare(ranks) and not self.state.overrun.intersection(ranks)

    def last_call(self, rank: int) -> float:
        """When `rank` called its last collective, on the common clock; before all when unknown."""
        time = self.state.last_call.get(rank)
        return float("-inf") if time is None else self.clocks.common(rank, time)


def needs_everybody(work: OpenWork) -> bool:
    """Whether nobody is through with it before everybody has come."""
    return not work.is_pair and all(
        ends_together(part) for one in work.waiting.values() for part in one.parts
    )


def waited(case: Case, work: OpenWork) -> Waited:
    """Return a work as a finding tells it."""
    group = case.state.groups[work.key]
    return Waited(
        group=group.label,
        sequence=work.sequence,
        operation=work.operation,
        waiting=tuple(sorted(work.waiting)),
        absent=tuple(sorted({*work.absent, *work.missing})),
    )
