"""What an exporter measures on simulated nodes: a file a node, as Prometheus answers a query.

GPUs that train draw their power; GPUs that wait in a collective show full utilisation and little
power; a slow node's clock is lower by its factor; a node that is gone shows nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import orjson

from relume.benchmarks.simulator.faults import DAY, NO_NODE
from relume.benchmarks.simulator.recording import Stay
from relume.benchmarks.simulator.simulate import Living
from relume.benchmarks.simulator.telemetry.site import START, node_name
from relume.benchmarks.simulator.telemetry.truth import Truth

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOLDER = "metrics"
STEP_SECONDS = 15.0
GPUS = 8


@dataclass(frozen=True, slots=True)
class _State:
    """What the GPUs of a node do: utilisation (%), power (W), clock (MHz), bytes sent a second."""

    utilisation: float
    watts: float
    megahertz: float
    sent: float = 0.0


_IDLE = _State(0, 75, 345)
_LOADS = _State(4, 120, 1980)
_TRAINS = _State(98, 640, 1980, 18e9)
_WAITS = _State(100, 170, 1980)
_GONE = _State(np.nan, np.nan, np.nan)
Spell = tuple[float, float, _State]
"""From, to (seconds), and what a node does."""


def write(living: Living, truth: Truth, folder: Path, words: str) -> None:
    """Write the metrics of each node below `folder`."""
    (folder / FOLDER).mkdir()
    spells = _spells(living, truth)
    times = np.arange(STEP_SECONDS, living.setting.days * DAY, STEP_SECONDS)
    for number in range(living.setting.nodes):
        name = node_name(number)
        rng = np.random.default_rng([number, *words.encode()])
        with (folder / FOLDER / f"{name}.json").open("wb") as stream:
            _write_node(stream, name, times, spells[name], rng)


def _write_node(
    stream: BinaryIO,
    name: str,
    times: NDArray[np.float64],
    spells: list[Spell],
    rng: np.random.Generator,
) -> None:
    """Write the answer for one node, series by series."""
    stream.write(b'{"status":"success","data":{"resultType":"matrix","result":[')
    for place, (metric, device, values) in enumerate(_series(times, spells, rng)):
        stream.write(b",\n" if place else b"\n")
        seen = ~np.isnan(values)
        stamps = START.timestamp() + times[seen]
        points = [
            [stamp, f"{value:.0f}"]
            for stamp, value in zip(stamps.tolist(), values[seen].tolist(), strict=True)
        ]
        labels = {"__name__": metric, "Hostname": name} | device
        stream.write(orjson.dumps({"metric": labels, "values": points}))
    stream.write(b"\n]}}\n")


def _series(
    times: NDArray[np.float64], spells: list[Spell], rng: np.random.Generator
) -> Iterator[tuple[str, dict[str, str], NDArray[np.float64]]]:
    """Yield the series of a node: metric, labels of the device, a value at each time."""
    utilisation, watts, clock, sent = (
        _values(times, spells, name) for name in ("utilisation", "watts", "megahertz", "sent")
    )
    for gpu in map(str, range(GPUS)):
        spread = rng.normal(1.0, 0.02, len(times))
        yield "DCGM_FI_DEV_GPU_UTIL", {"gpu": gpu}, utilisation
        yield "DCGM_FI_DEV_POWER_USAGE", {"gpu": gpu}, watts * spread
        yield "DCGM_FI_DEV_SM_CLOCK", {"gpu": gpu}, clock
    is_there = ~np.isnan(watts)
    total = np.where(is_there, np.cumsum(sent * STEP_SECONDS), np.nan)
    yield (
        "node_infiniband_port_data_transmitted_bytes_total",
        {"device": "mlx5_0", "port": "1"},
        total,
    )


def _values(times: NDArray[np.float64], spells: list[Spell], name: str) -> NDArray[np.float64]:
    values = np.full(len(times), getattr(_IDLE, name), np.float64)
    for since, until, state in spells:
        values[(times >= since) & (times < until)] = getattr(state, name)
    return values


def _spells(living: Living, truth: Truth) -> defaultdict[str, list[Spell]]:
    """Return what each node does when; at other times nobody runs on it."""
    found: defaultdict[str, list[Spell]] = defaultdict(list)
    ends = living.setting.days * DAY
    for stay in sorted(living.recording.stays, key=lambda stay: stay.started):
        for number in stay.nodes.tolist():
            name = node_name(number)
            found[name] = [_cut(spell, stay.started) for spell in found[name]]
            found[name] += _of_stay(stay, name, truth, ends)
    return found


def _cut(spell: Spell, at: float) -> Spell:
    """A node that was gone is back when somebody runs on it."""
    return spell[0], min(spell[1], at), spell[2]


def _of_stay(stay: Stay, node: str, truth: Truth, ends: float) -> Iterator[Spell]:
    failure = stay.failure
    until = stay.stands_at
    trains = _TRAINS if len(stay.nodes) > 1 else _State(98, 640, 1980)
    yield stay.started, min(stay.first, until), _LOADS
    yield stay.first, until, trains
    for pace, end in stay.slow_times():
        yield pace.at, end, _slowed(trains, pace.factor, truth.slow_node(stay, pace) == node)
    if failure is not None:
        yield until, stay.end, _WAITS
        is_lost = failure.node != NO_NODE and truth.cause_of(failure).loses_node
        if is_lost and node == node_name(failure.node):
            yield until, ends, _GONE


def _slowed(trains: _State, factor: float, is_culprit: bool) -> _State:  # noqa: FBT001 - of one node
    """Others wait for the slow node: they draw less, and it alone has a lower clock."""
    clock = trains.megahertz / factor if is_culprit else trains.megahertz
    return _State(trains.utilisation, trains.watts / factor, clock, trains.sent / factor)
