"""By how much the clock of each node is off, from what happens on many nodes at the same time.

Ranks meet when they begin, and a failed collective ends on all of them within seconds: a node whose
lines of such a wave are all minutes early or late has another clock, in its kernel log too. Where
nothing tells, the offset is zero.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from relume.models.ranks.mapping import RankMap
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Role, Tier
from relume.reasons import Reason, ReasonCode
from relume.slurm.nodes import START_SLACK_SECONDS, short_name
from relume.verdict import JOB_STREAMS, Kind

MICROSECONDS = 1_000_000
NOISE_SECONDS = 5.0
"""Ranks reach a wave within seconds of each other; what is below tells nothing of a clock."""
MAX_SECONDS = 900.0
"""More is no drift: it is another zone, another day, or no wave."""
MIN_NODES = 2


@dataclass(frozen=True, slots=True)
class Clocks:
    """Microseconds by which the clock of a node (short name) is ahead; absent: nobody knows."""

    ahead: Mapping[str, int]

    def of(self, node: str | None) -> int:
        """Return how far a node's clock is ahead; 0 where nothing tells.

        >>> Clocks({"n1": 7}).of("N1.example"), Clocks({}).of("n1")
        (7, 0)
        """
        return self.ahead.get(short_name(node), 0) if node is not None and self.ahead else 0


NO_OFFSETS = Clocks({})


def clock_reasons(clocks: Clocks, nodes: Iterable[str | None]) -> tuple[Reason, ...]:
    """Say of which of `nodes` the clock is taken to be off, and by how much."""
    off = {node: clocks.of(node) // MICROSECONDS for node in nodes if clocks.of(node)}
    words = (
        f"{node} is {abs(seconds)} s {'ahead' if seconds > 0 else 'behind'}"
        for node, seconds in off.items()
        if abs(seconds) >= NOISE_SECONDS
    )
    return tuple(Reason(ReasonCode.CLOCK_OFFSET, detail=detail) for detail in words)


def estimate(
    hits: Iterable[Hit],
    begun: Iterable[tuple[int, int]],
    ranks: RankMap,
    *,
    start: int | None = None,
    end: int | None = None,
) -> Clocks:
    """Estimate the clocks of all nodes.

    Parameters
    ----------
    begun
        Ranks, and when they began by their own clock (UTC microseconds).
    start, end
        The attempt's, by the scheduler's clock; null while unknown. The job's lines must lie
        between: that tells which of two clocks is right, and that a clock alone is wrong.
    """
    told = list(hits)
    off: defaultdict[str, list[float]] = defaultdict(list)
    for wave in (*_beginnings(begun, ranks), *_waves(told, ranks)):
        times = {node: median(of_node) for node, of_node in wave.items()}
        if len(times) >= MIN_NODES:
            middle = median(times.values())
            for node, time in times.items():
                off[node].append(time - middle)
    ahead = {node: median(found) for node, found in off.items()}
    if max(map(abs, ahead.values()), default=0.0) > MAX_SECONDS * MICROSECONDS:
        ahead = {}
    spans = _spans(told, ranks)
    shift = _shift(spans, ahead, start, end)
    ahead = {node: offset + shift for node, offset in ahead.items()}
    for node, span in spans.items():
        ahead[node] = ahead.get(node, 0.0) + _outside(span, ahead.get(node, 0.0), start, end)
    noise, most = NOISE_SECONDS * MICROSECONDS, MAX_SECONDS * MICROSECONDS
    found = {node: round(offset) for node, offset in ahead.items() if abs(offset) <= most}
    return Clocks(found) if any(abs(offset) >= noise for offset in found.values()) else NO_OFFSETS


def node_of(hit: Hit, ranks: RankMap) -> str | None:
    """Return the node whose clock a line has; null where nobody knows."""
    line = hit.line
    if line.node is not None or line.stream not in JOB_STREAMS:
        return line.node
    place = ranks.place(line.rank).node
    return ranks.tasks.get(line.task) if place is None and line.task is not None else place


def _beginnings(
    begun: Iterable[tuple[int, int]], ranks: RankMap
) -> Iterator[dict[str, list[float]]]:
    wave: defaultdict[str, list[float]] = defaultdict(list)
    for rank, time in begun:
        node = ranks.place(rank).node
        if node is not None:
            wave[short_name(node)].append(time)
    yield wave


def _waves(hits: Iterable[Hit], ranks: RankMap) -> Iterator[dict[str, list[float]]]:
    """Lines that victims print when a collective fails, by rule and collective."""
    waves: defaultdict[tuple[str | None, ...], defaultdict[str, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for hit in hits:
        line, node = hit.line, node_of(hit, ranks)
        if line.event_time is None or node is None or not _is_of_wave(hit):
            continue
        captures = hit.captures
        key = (hit.signature.id, captures.get("pg"), captures.get("seq"), captures.get("op"))
        waves[key][short_name(node)].append(line.event_time)
    yield from waves.values()


def _is_of_wave(hit: Hit) -> bool:
    signature = hit.signature
    if hit.line.stream not in JOB_STREAMS:
        return False
    is_timeout = signature.tier is Tier.TIMEOUT and signature.kind is Kind.HANG
    return is_timeout or (signature.role is Role.CASCADE and signature.tier is not Tier.TEARDOWN)


def _spans(hits: Iterable[Hit], ranks: RankMap) -> dict[str, tuple[int, int]]:
    """First and last clock of the job's own lines on each node."""
    spans: dict[str, tuple[int, int]] = {}
    for hit in hits:
        time, node = hit.line.event_time, node_of(hit, ranks)
        if time is None or node is None or hit.line.stream not in JOB_STREAMS:
            continue
        first, last = spans.get(short_name(node), (time, time))
        spans[short_name(node)] = min(first, time), max(last, time)
    return spans


def _shift(
    spans: Mapping[str, tuple[int, int]],
    ahead: Mapping[str, float],
    start: int | None,
    end: int | None,
) -> float:
    """Return by how much all clocks are ahead together: the job's lines lie within the attempt."""
    known = {node: span for node, span in spans.items() if node in ahead}
    if not known:
        return 0.0
    first = min(span[0] - ahead[node] for node, span in known.items())
    last = max(span[1] - ahead[node] for node, span in known.items())
    return _outside((first, last), 0.0, start, end)


def _outside(span: tuple[float, float], ahead: float, start: int | None, end: int | None) -> float:
    """Return how far a span of times lies after the end or (negative) before the start, else 0."""
    if start is None or end is None:
        return 0.0
    early = start - START_SLACK_SECONDS * MICROSECONDS - (span[0] - ahead)
    late = span[1] - ahead - end
    if early > 0 and late > 0:
        return 0.0
    return max(late, 0.0) - max(early, 0.0)
