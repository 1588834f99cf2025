"""Remote-write bodies of a fleet: each node's GPUs and NICs, every series once in 15 seconds."""

from __future__ import annotations

import struct

import cramjam
import numpy as np

from relume.benchmarks.load.wire import (
    Places,
    copies,
    digits,
    double,
    integer,
    message,
    places,
    varint,
)

GPUS, NICS = 8, 8
SCRAPE_SECONDS = 15
_NODE, _NODE_MARK = "gpu{:05d}", "#####"
_TIME_MARK = (1 << 41) + 12345
"""Milliseconds since 1970 of the template; any of 2039 or before has as many bytes."""
_VALUE_MARK = -1.2345678901234567e300
_DCGM = {
    "DCGM_FI_DEV_GPU_UTIL": 97.0,
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 0.96,
    "DCGM_FI_PROF_SM_ACTIVE": 0.88,
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.41,
    "DCGM_FI_PROF_DRAM_ACTIVE": 0.52,
    "DCGM_FI_DEV_POWER_USAGE": 640.0,
    "DCGM_FI_DEV_POWER_MGMT_LIMIT": 700.0,
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": 5.1e10,
    "DCGM_FI_DEV_SM_CLOCK": 1755.0,
    "DCGM_FI_DEV_MEM_CLOCK": 2619.0,
    "DCGM_FI_DEV_GPU_TEMP": 58.0,
    "DCGM_FI_DEV_MEMORY_TEMP": 71.0,
    "DCGM_FI_DEV_FB_USED": 74000.0,
    "DCGM_FI_DEV_FB_FREE": 6900.0,
    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": 0.0,
    "DCGM_FI_DEV_XID_ERRORS": 0.0,
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": 0.0,
    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL": 3.0,
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": 0.0,
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": 1.0,
    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": 0.0,
}
_NIC = {
    "node_infiniband_port_data_transmitted_bytes_total": 8.1e14,
    "node_infiniband_port_data_received_bytes_total": 8.0e14,
    "node_infiniband_port_errors_received_total": 0.0,
    "node_infiniband_symbol_error_total": 2.0,
    "node_infiniband_link_downed_total": 1.0,
    "node_infiniband_link_error_recovery_total": 0.0,
    "node_infiniband_port_discards_transmitted_total": 12.0,
    "node_infiniband_state_id": 4.0,
    "node_infiniband_physical_state_id": 5.0,
}
MOVING = frozenset(
    {
        *("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_DEV_POWER_USAGE"),
        *("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_DRAM_ACTIVE", "DCGM_FI_DEV_GPU_TEMP"),
    }
)
"""Gauges that vary by some percent from scrape to scrape."""
COUNTING = frozenset(
    {
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
        "node_infiniband_port_data_transmitted_bytes_total",
        "node_infiniband_port_data_received_bytes_total",
    }
)
"""Counters that go on all the time."""
SERIES_PER_NODE = GPUS * len(_DCGM) + NICS * len(_NIC)


class FleetSamples:
    """The samples of `nodes` nodes, as the bodies of groups of them.

    Parameters
    ----------
    nodes
        How many; their names are ``gpu00000`` and on.
    nodes_per_body
        How many are scraped into one body.
    seed
        Of the values.
    """

    def __init__(self, nodes: int, *, nodes_per_body: int = 50, seed: int = 1) -> None:
        template, names, values = _node_template()
        self.bodies = -(-nodes // nodes_per_body)
        self._per_body = nodes_per_body
        self._rows = copies(template, nodes)
        self._values = places(template, struct.pack("<d", _VALUE_MARK)).columns
        self._times = places(template, varint(_TIME_MARK))
        _write_nodes(self._rows, places(template, _NODE_MARK.encode()))
        self._base = np.array(values)
        self._moves = np.array([name in MOVING for name in names]) * 0.03
        self._counts = np.array([name in COUNTING for name in names]) * 1e9
        self._random = np.random.default_rng(seed)

    def body(self, number: int, milliseconds: int) -> tuple[bytes, int]:
        """Return one body, and how many samples it holds, all of one time."""
        first = number * self._per_body
        rows = self._rows[first : first + self._per_body]
        noise = self._random.standard_normal((len(rows), 1))
        values = self._base * (1 + self._moves * noise) + self._counts * (milliseconds / 1e3 % 1e6)
        rows[:, self._values] = values.astype("<f8").view(np.uint8).reshape(len(rows), -1, 8)
        rows[:, self._times.columns] = np.frombuffer(varint(milliseconds), dtype=np.uint8)
        return bytes(cramjam.snappy.compress_raw(rows.reshape(-1).data)), len(rows) * len(values[0])


def _node_template() -> tuple[bytes, list[str], list[float]]:
    """Return the series of one node, and the name and value of each."""
    series, names, values = [], [], []
    node = f"gpu{_NODE_MARK}"
    for gpu in range(GPUS):
        for name, value in _DCGM.items():
            labels = {
                "__name__": name,
                "Hostname": node,
                "UUID": f"GPU-6f0a{gpu:04d}-51c2-{_NODE_MARK}a9d1",
                "device": f"nvidia{gpu}",
                "gpu": str(gpu),
                "instance": f"{node}:9400",
                "job": "dcgm",
                "modelName": "NVIDIA H100 80GB HBM3",
            }
            series.append(_series(labels))
            names.append(name)
            values.append(value)
    for nic in range(NICS):
        for name, value in _NIC.items():
            labels = {
                "__name__": name,
                "device": f"mlx5_{nic}",
                "instance": f"{node}:9100",
                "job": "node",
                "port": "1",
            }
            series.append(_series(labels))
            names.append(name)
            values.append(value)
    return b"".join(series), names, values


def _series(labels: dict[str, str]) -> bytes:
    pairs = (
        message(1, message(1, name.encode()) + message(2, value.encode()))
        for name, value in sorted(labels.items())
    )
    sample = message(2, double(1, _VALUE_MARK) + integer(2, _TIME_MARK))
    return message(1, b"".join(pairs) + sample)


def _write_nodes(rows: np.ndarray[tuple[int, int], np.dtype[np.uint8]], at: Places) -> None:
    numbers = digits(np.arange(len(rows)), at.width)
    rows[:, at.columns] = numbers[:, None, :]
