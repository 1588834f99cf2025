"""One good body of every form that the service takes, from which bad ones are made."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import cramjam
import msgspec
import pyarrow.ipc
from google.protobuf.json_format import MessageToJson, ParseDict  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from relume.benchmarks.dumps.pickling import pickle_as_torch
from relume.benchmarks.load import wire
from relume.benchmarks.serving import CLUSTER, running_job, snapshot_of
from relume.clock import MICROSECONDS_PER_SECOND
from relume.events import Event, LogLine, NodeEvent, Sample, SchedulerEvent
from relume.ingest.eventlines import encode_event
from relume.schemas import to_table
from relume.serve.api import Role

NODE = "gpu00001"
NANOSECONDS = 1000
"""Of a microsecond."""
JSON, PROTOBUF = "application/json", "application/x-protobuf"
ARROW = "application/vnd.apache.arrow.stream"
PACKINGS: Mapping[str, Callable[[bytes], bytes]] = MappingProxyType(
    {
        "gzip": gzip.compress,
        "snappy": lambda data: bytes(cramjam.snappy.compress_raw(data)),
        "zstd": lambda data: bytes(cramjam.zstd.compress(data)),
    }
)
"""How bodies are compressed, by Content-Encoding."""


@dataclass(frozen=True, slots=True)
class Push:
    """A request with a body.

    Attributes
    ----------
    route
        With its query.
    data
        Before it is compressed.
    content_type
        Null for none.
    packing
        A key of `PACKINGS`, by which `data` is compressed; null for not at all.
    encoding
        What Content-Encoding says; null for no such header.
    role
        Whose token is shown.
    """

    route: str
    data: bytes
    content_type: str | None = None
    packing: str | None = None
    encoding: str | None = None
    role: Role = Role.INGEST
    headers: Mapping[str, str] = field(default_factory=dict)

    def packed(self) -> bytes:
        """Return what goes over the wire."""
        return self.data if self.packing is None else PACKINGS[self.packing](self.data)

    def all_headers(self) -> dict[str, str]:
        """Return its headers but the token's."""
        named = {"Content-Type": self.content_type, "Content-Encoding": self.encoding}
        return {**self.headers, **{name: one for name, one in named.items() if one is not None}}

    def compressed(self, packing: str) -> Push:
        """Return the same, compressed, and saying so."""
        return replace(self, packing=packing, encoding=packing)


def good_pushes(attempt: str, now: int) -> list[Push]:
    """Return one push of every form, about an attempt (text form), as of `now`."""
    events = _events(attempt, now)
    lines = b"".join(map(encode_event, events))
    otlp = _otlp(attempt, now)
    loki = Push("/loki/api/v1/push", _loki(now), PROTOBUF, "snappy")
    pushed = Push("/v1/events", lines, "application/x-ndjson")
    return [
        pushed,
        pushed.compressed("gzip"),
        pushed.compressed("zstd"),
        *(Push("/v1/events", _arrow(one), ARROW) for one in events),
        Push("/loki/api/v1/push", _loki_json(attempt, now), JSON),
        Push("/loki/api/v1/push", _loki_json(attempt, now), JSON).compressed("gzip"),
        loki,
        replace(loki, encoding="snappy"),
        Push("/v1/logs", MessageToJson(otlp).encode(), JSON),
        Push("/v1/logs", otlp.SerializeToString(), PROTOBUF),
        Push("/v1/logs", otlp.SerializeToString(), PROTOBUF).compressed("gzip"),
        Push("/api/v1/write", _remote_write(now), PROTOBUF, "snappy", "snappy"),
        Push(f"/v1/dumps?attempt={attempt}&rank=0", pickle_as_torch(_dump(now))),
        Push(f"/v1/dumps?attempt={attempt}&rank=1", json.dumps(_dump(now)).encode(), JSON),
        _scheduler(now),
    ]


def _events(attempt: str, now: int) -> tuple[Event, ...]:
    about: dict[str, Any] = {"source": "fuzz", "cluster": CLUSTER, "event_time": now}
    return (
        LogLine(
            **about,
            text="step 7: loss 2.5",
            line=7,
            offset=700,
            file="train.out",
            attempt=attempt,
            node=NODE,
            rank=0,
        ),
        Sample(**about, metric="power_watts", value=412.5, node=NODE, gpu="0"),
        NodeEvent(**about, node=NODE, state="DOWN", reason="not responding", partitions=("main",)),
        SchedulerEvent(**about, attempt=attempt, state="RUNNING", nodes=(NODE,)),
    )


def _arrow(event: Event) -> bytes:
    table, out = to_table([event] * 3), io.BytesIO()
    with pyarrow.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def _loki_json(attempt: str, now: int) -> bytes:
    values = [[str(now * NANOSECONDS + one), f"line {one}"] for one in range(5)]
    values[0].append({"rank": "0"})  # type: ignore[arg-type] # structured metadata
    labels = {"attempt": attempt, "filename": "train.out", "stream": "stderr"}
    return json.dumps({"streams": [{"stream": labels, "values": values}]}).encode()


def _loki(now: int) -> bytes:
    seconds, rest = divmod(now, MICROSECONDS_PER_SECOND)
    time = wire.integer(1, seconds) + wire.integer(2, rest * NANOSECONDS)
    pair = wire.message(1, b"rank") + wire.message(2, b"3")
    entry = wire.message(1, time) + wire.message(2, b"a line") + wire.message(3, pair)
    labels = f'{{host="{NODE}", transport="kernel"}}'.encode()
    return wire.message(1, wire.message(1, labels) + wire.message(2, entry) * 3)


def _otlp(attempt: str, now: int) -> ExportLogsServiceRequest:
    record = {
        "timeUnixNano": now * NANOSECONDS,
        "body": {"stringValue": "a line"},
        "attributes": [{"key": "rank", "value": {"intValue": 3}}],
    }
    labels = {"attempt": attempt, "host.name": NODE, "log.file.path": "/logs/train.out"}
    attributes = [{"key": key, "value": {"stringValue": one}} for key, one in labels.items()]
    told = {"resource": {"attributes": attributes}, "scopeLogs": [{"logRecords": [record] * 3}]}
    request: ExportLogsServiceRequest = ParseDict(
        {"resourceLogs": [told]}, ExportLogsServiceRequest()
    )
    return request


def _remote_write(now: int) -> bytes:
    labels = {"__name__": "DCGM_FI_DEV_POWER_USAGE", "Hostname": NODE, "gpu": "0"}
    told = b"".join(
        wire.message(1, wire.message(1, key.encode()) + wire.message(2, one.encode()))
        for key, one in labels.items()
    )
    times = range(now // 1000, now // 1000 + 3)
    samples = b"".join(wire.message(2, _sample(412.5, one)) for one in times)
    return wire.message(1, told + samples)


def _sample(value: float, milliseconds: int) -> bytes:
    return wire.double(1, value) + wire.integer(2, milliseconds)


def _dump(now: int) -> dict[str, object]:
    """A flight-recorder dump as PyTorch writes it."""
    entry = {
        "record_id": 3,
        "pg_id": 0,
        "process_group": ["0", "default_pg"],
        "collective_seq_id": 3,
        "p2p_seq_id": 0,
        "op_id": 3,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": now * NANOSECONDS,
        "input_sizes": [[4096]],
        "input_dtypes": ["Float"],
        "output_sizes": [[4096]],
        "output_dtypes": ["Float"],
        "state": "started",
        "time_discovered_started_ns": now * NANOSECONDS,
        "time_discovered_completed_ns": None,
        "retired": False,
        "timeout_ms": 600_000,
        "is_p2p": False,
        "frames": [],
    }
    return {
        "version": "2.4",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
        "pg_status": {
            "0": {
                "last_enqueued_collective": 3,
                "last_started_collective": 3,
                "last_completed_collective": 2,
            }
        },
        "entries": [entry],
    }


def _scheduler(now: int) -> Push:
    jobs = [running_job(number, now) for number in range(5, 8)]
    data = msgspec.json.encode(snapshot_of(CLUSTER, now, jobs))
    return Push("/v1/scheduler", data, JSON, role=Role.CONTROL)
