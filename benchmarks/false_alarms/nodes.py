"""Metrics of a made-up job's nodes: as exporters would have them scraped, with their noise.

What a save or an evaluation does to metrics is our choice, made before any detector ran on it: GPUs
wait at full utilisation while one node, or each, writes to a disk or over the network at a speed of
its own, after a stretch in which nothing is written yet. Samples are drawn for the silences that
are looked at, and for five minutes of training before them: that is what is usual.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from relume.clock import MICROSECONDS_PER_SECOND
from relume.events import Sample

SCRAPE_SECONDS = 15
NODES, GPUS = ("n0", "n1"), ("0", "1")
"""What is measured of a job, however large it is."""
USUAL_SCRAPES = 20
"""Scrapes before a silence."""
_DIPS = 0.05
"""Share of the scrapes that meet a GPU between two kernels: then it draws little."""
_PARTS = 5
"""Instants within a scrape's interval of which a counter's rise is the mean."""
_CLUSTER, _SOURCE = "recorded", "made-up metrics"


class Doing(StrEnum):
    """What a job does at one moment."""

    TRAIN = "train"
    EVALUATE = "evaluate"
    GATHER = "gather"
    """A save before its first byte is written: GPUs wait, nothing moves."""
    SAVE = "save"
    HANG = "hang"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What differs between jobs.

    Attributes
    ----------
    watts, waiting
        Power of a GPU that trains, and the share of it that it draws while it waits.
    sent
        Bytes a second over the NIC of a node.
    written
        Bytes a second of a node that saves.
    writers
        How many nodes save.
    over_network
        Whether saves go over the interfaces, instead of to a disk.
    gathers
        Share of a save in which nothing is written yet.
    spins
        Whether processes that wait use up their CPU time.
    """

    watts: float
    waiting: float
    sent: float
    written: float
    writers: int
    over_network: bool
    gathers: float
    spins: bool

    @classmethod
    def drawn(cls, draws: np.random.Generator) -> Traits:
        """Draw those of a job."""
        return cls(
            watts=draws.uniform(300.0, 680.0),
            waiting=draws.uniform(0.18, 0.35),
            sent=10 ** draws.uniform(8.0, 10.0),
            written=3e8 * float(np.exp(0.8 * draws.standard_normal())),
            writers=int(draws.choice((1, len(NODES)))),
            over_network=bool(draws.integers(2)),
            gathers=draws.uniform(0.0, 0.2),
            spins=bool(draws.integers(2)),
        )


@dataclass(slots=True)
class Exporters:
    """What is scraped of one job, one scrape after the other; counters go on from scrape to scrape.

    Parameters
    ----------
    doing
        Says what the job does at a second.
    draws
        Of the noise.
    begin
        When second 0 is; UTC microseconds.
    """

    traits: Traits
    doing: Callable[[float], Doing]
    draws: np.random.Generator
    begin: int = 0
    _counters: dict[tuple[str, str], float] = field(default_factory=dict)

    def scrapes(self, first: float, last: float) -> Iterator[tuple[float, list[Sample]]]:
        """Yield the scrapes from a second to another one, every `SCRAPE_SECONDS`."""
        second = first
        while second <= last:
            yield second, list(self._scrape(second))
            second += SCRAPE_SECONDS

    def _scrape(self, second: float) -> Iterator[Sample]:
        now, noise = self.doing(second), self.draws.standard_normal
        time = self.begin + math.floor(second * MICROSECONDS_PER_SECOND)
        busy, share = _GPU[now]
        watts = self.traits.watts * (self.traits.waiting if share is None else share)
        within = [self.doing(second - SCRAPE_SECONDS * part / _PARTS) for part in range(_PARTS)]
        for number, node in enumerate(NODES):
            for gpu in GPUS:
                dips = self.draws.random() < _DIPS
                dip = self.draws.uniform(0.3, 0.9) if dips else 1.0
                power = max(30.0, watts * dip * (1.0 + 0.05 * noise()))
                used = min(1.0, max(0.0, busy + 0.02 * noise()))
                yield _sample(time, "gpu_power_watts", power, node, gpu)
                yield _sample(time, "gpu_utilisation_ratio", used, node, gpu)
            for metric in _COUNTERS:
                rate = sum(self._rate(metric, one, number) for one in within) / _PARTS
                rise = SCRAPE_SECONDS * rate * float(np.exp(0.1 * noise()))
                place = node, metric
                self._counters[place] = self._counters.get(place, 0.0) + rise
                yield _sample(time, metric, self._counters[place], node)

    def _rate(self, metric: str, doing: Doing, node: int) -> float:
        traits = self.traits
        saves = doing is Doing.SAVE and node < traits.writers
        if metric == "nic_sent_bytes_total":
            return traits.sent * _SENT[doing] + 2_000.0
        if metric == "node_cpu_seconds_total":
            works = doing in {Doing.TRAIN, Doing.EVALUATE} or saves or traits.spins
            return 30.0 if works else 0.5
        if metric == "net_sent_bytes_total":
            return 50_000.0 + traits.written * (saves and traits.over_network)
        return 200_000.0 + traits.written * (saves and not traits.over_network)


_COUNTERS = (
    "nic_sent_bytes_total",
    "node_cpu_seconds_total",
    "net_sent_bytes_total",
    "node_disk_written_bytes_total",
)
_GPU: dict[Doing, tuple[float, float | None]] = {
    Doing.TRAIN: (0.96, 1.0),
    Doing.EVALUATE: (0.8, 0.75),
    Doing.GATHER: (1.0, None),
    Doing.SAVE: (1.0, None),
    Doing.HANG: (1.0, None),
}
"""Utilisation, and power as a share of that while it trains; null: as while it waits."""
_SENT = {
    Doing.TRAIN: 1.0,
    Doing.EVALUATE: 0.3,
    Doing.GATHER: 0.0,
    Doing.SAVE: 0.0,
    Doing.HANG: 0.0,
}


def _sample(time: int, metric: str, value: float, node: str, gpu: str | None = None) -> Sample:
    return Sample(
        source=_SOURCE,
        cluster=_CLUSTER,
        event_time=time,
        metric=metric,
        value=value,
        node=node,
        gpu=gpu,
    )
