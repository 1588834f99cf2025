"""Metrics of made-up nodes: as a DCGM exporter and a node exporter would have them scraped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from relume.clock import MICROSECONDS_PER_SECOND
from relume.events import Sample
from relume.ingest.lake.samplebatches import NO_TIME, SampleBatch, SampleSeries, series_table

SCRAPE = 15
WORKING = {"util": 0.97, "watts": 620.0, "nic": 4e9, "cpu": 30.0}
WAITING = {"util": 1.0, "watts": 130.0, "nic": 0.0, "cpu": 0.0}
"""A hang: kernels spin in a collective at a power near idle, nothing is sent, no process works."""
GPUS = ("0", "1")


def measured(
    nodes: Sequence[str],
    start: int,
    seconds: int,
    at: Callable[[int], dict[str, float]],
    **changes: Any,
) -> Iterator[Sample]:
    """Yield what is scraped of `nodes` from `start` on, in order of time.

    `at` says what they do in a second: utilisation, watts, bytes and CPU seconds a second.
    """
    sent = cpu = 0.0
    for second in range(0, seconds, SCRAPE):
        now = at(second)
        sent, cpu = sent + now["nic"] * SCRAPE, cpu + now["cpu"] * SCRAPE
        for node in nodes:
            values: list[tuple[str, float, str | None, str | None]] = [
                ("nic_sent_bytes_total", sent, None, "mlx5_0/1"),
                ("node_cpu_seconds_total", cpu, None, None),
            ]
            for gpu in GPUS:
                values.append(("gpu_utilisation_ratio", now["util"], gpu, None))
                values.append(("gpu_power_watts", now["watts"], gpu, None))
            for metric, value, of_gpu, device in values:
                fields: dict[str, Any] = {
                    "source": "prometheus",
                    "cluster": "lab",
                    "event_time": start + second * MICROSECONDS_PER_SECOND,
                    "metric": metric,
                    "value": value,
                    "node": node,
                    "gpu": of_gpu,
                    "device": device,
                }
                yield Sample(**(fields | changes))


def batch_of(samples: Sequence[Sample]) -> SampleBatch:
    """Return samples of one origin as columns."""
    series = [SampleSeries(s.metric, s.node, s.gpu, s.rank, s.attempt, s.device) for s in samples]
    times = [NO_TIME if one.event_time is None else one.event_time for one in samples]
    return SampleBatch(
        series=series_table(series),
        row_series=np.arange(len(samples), dtype=np.int32),
        event_time=np.array(times, np.int64),
        value=np.array([one.value for one in samples], np.float64),
        source=samples[0].source,
        cluster=samples[0].cluster,
        observed_at=samples[0].observed_at,
    )


_EXPORTED = {
    "gpu_utilisation_ratio": ("DCGM_FI_DEV_GPU_UTIL", 100.0),
    "gpu_power_watts": ("DCGM_FI_DEV_POWER_USAGE", 1.0),
    "nic_sent_bytes_total": ("node_infiniband_port_data_transmitted_bytes_total", 1.0),
    "node_cpu_seconds_total": ("node_cpu_seconds_total", 1.0),
}


def answer_of(samples: Iterable[Sample]) -> str:
    """Return what Prometheus would answer to a range query for them, with the exporters' names."""
    found: dict[tuple[tuple[str, str], ...], list[tuple[float, str]]] = {}
    for one in samples:
        name, scale = _EXPORTED[one.metric]
        labels = {"__name__": name, "instance": f"{one.node}:9400", "gpu": one.gpu}
        if one.device is not None:
            labels["device"], labels["port"] = one.device.split("/")
        key = tuple((label, value) for label, value in labels.items() if value is not None)
        time = (one.event_time or 0) / MICROSECONDS_PER_SECOND
        found.setdefault(key, []).append((time, repr(scale * one.value)))
    result = [{"metric": dict(key), "values": values} for key, values in found.items()]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})
