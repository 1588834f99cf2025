"""The metrics of one attempt's nodes: what they say of a silence, and of nodes of a slow job.

It depends on the samples and steps alone, not on when it was asked: so a replay whose ticks are far
apart hears the same as a live run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from relume.features.metrics.edges import LINK_COUNTERS
from relume.features.metrics.job import JobMetrics
from relume.features.metrics.peers import METRICS as OF_PEERS
from relume.features.metrics.recent import RecentMetrics
from relume.features.metrics.stall import GPU
from relume.features.metrics.stall import METRICS as OF_STALLS
from relume.models.hang.signs import FRESH_MICROS, Sign
from relume.models.straggler.conditions import conditions_of
from relume.verdict import Health

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from relume.events import Sample
    from relume.features.metrics.points import Series
    from relume.models.straggler.evidence import Condition
    from relume.serve.live.course import Course

_OF_NODES: Final = OF_PEERS | LINK_COUNTERS
STALL_METRICS: Final = OF_STALLS
METRICS: Final = OF_STALLS | _OF_NODES
"""What is listened to; others needn't be read."""
SOURCE: Final = "node_metrics"
"""Name of the source. One for all: what a GPU, its NIC and its CPU say isn't independent."""
AHEAD_MICROS: Final = 15_000_000
"""How far the clock of who measures may be ahead. Ticks of a replay are 10 s apart, at most."""
MEASURED_SHARE: Final = 0.8
"""Share of the nodes that must be measured. Of others nobody knows: one may write a checkpoint for
which the rest waits. One in five may be missing, since a node that died isn't measured either."""


class Heard(NamedTuple):
    """Samples that one attempt listens to, in columns.

    `series` are numbered by `numbers`; each sample has a time, and is of one of `METRICS`, of
    `STALL_METRICS` where `of_stalls` says so.
    """

    series: Sequence[Series]
    numbers: NDArray[np.int32]
    times: NDArray[np.int64]
    values: NDArray[np.float64]
    of_stalls: NDArray[np.bool_]

    def chosen(self, which: NDArray[np.bool_]) -> Heard:
        """Return some of them."""
        return Heard(
            self.series,
            self.numbers[which],
            self.times[which],
            self.values[which],
            self.of_stalls[which],
        )


class Measured:
    """What was measured on the nodes of one attempt. Bounded: `JobMetrics` and `RecentMetrics`.

    Samples of other nodes, and of nodes that others use too, must not come in.
    """

    def __init__(self) -> None:
        self._job = JobMetrics()
        self._recent = RecentMetrics(_OF_NODES)
        self._newest = self._said_at = 0
        self._has_news = False

    def take(self, sample: Sample, now: int) -> None:
        """Take a sample at `now`; one that is stale, or of a time that hasn't come, is ignored."""
        time = sample.event_time
        if time is None or not -FRESH_MICROS <= time - now <= AHEAD_MICROS:
            return
        self._recent.take(sample)
        if sample.metric in self._job.metrics:
            self._job.take(sample)
            self._newest, self._has_news = max(self._newest, time), True

    def hear(self, heard: Heard, now: int) -> None:
        """Take many samples at `now`, as `take` does one after the other."""
        fresh = (heard.times >= now - FRESH_MICROS) & (heard.times <= now + AHEAD_MICROS)
        if not fresh.all():
            heard = heard.chosen(fresh)
        self._recent.take_many(heard.series, heard.numbers, heard.times, heard.values)
        if heard.of_stalls.any():
            stalls = heard if heard.of_stalls.all() else heard.chosen(heard.of_stalls)
            self._job.take_many(stalls.series, stalls.numbers, stalls.times, stalls.values)
            self._newest, self._has_news = max(self._newest, int(stalls.times.max())), True

    def note_progress(self, event_time: int) -> None:
        """Take that the attempt made a step."""
        self._job.progressed(event_time)

    def sign(self, silent_since: int, nodes: int) -> Sign | None:
        """Return what was measured since then says of so many nodes; null where nothing came in.

        Costs a look at every series, so it is to be asked in a silence only.
        """
        if not self._has_news:
            return None
        self._has_news = False
        answer = self._job.stalled(self._newest, silent_since)
        # As old as its oldest part; but a source takes back what it said before.
        self._said_at = max(self._said_at, self._newest if answer.seen is None else answer.seen)
        health, reason = answer.health, answer.reason
        measured = self._measured_nodes(silent_since, of_gpus=GPU in answer.signals)
        if measured < MEASURED_SHARE * nodes:
            health, reason = Health.UNKNOWN, f"only {measured} of {nodes} nodes are measured"
        return Sign(
            source=SOURCE,
            health=health,
            since=silent_since if answer.since is None else answer.since,
            event_time=self._said_at,
            reason=reason,
        )

    def conditions(self, nodes: Collection[str], since: int, now: int) -> Mapping[str, Condition]:
        """Return what nodes are like since then, each against the others.

        Those of which nothing was measured lately are left out. Thousands take a second.
        """
        window = self._recent.window(since, now - FRESH_MICROS)
        return conditions_of(window, nodes) if window else {}

    def _measured_nodes(self, since: int, *, of_gpus: bool) -> int:
        """On how many nodes something was measured since then, and lately."""
        since = max(since, self._newest - FRESH_MICROS)
        return len(self._job.nodes_since(since, of_gpus=of_gpus))


@dataclass(frozen=True, slots=True)
class NodeConditions:
    """Tells what the nodes that an attempt runs on are like, for who judges its pace."""

    course: Course
    measured: Measured

    def __call__(self, since: int, now: int) -> Mapping[str, Condition]:
        """Return it by node, since one time and as of another."""
        return self.measured.conditions(self.course.nodes, since, now)
