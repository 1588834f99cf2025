"""Write what the recorders of a run hold, as PyTorch does: formats 2.4 and 2.10, pickle or JSON.

A recorder is a ring of the last works, its clock is its host's, and it is written at a time of its
own; what it says of an end is when its watchdog next looked.
"""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass, replace
from math import ceil, inf
from pathlib import Path
from random import Random
from typing import Any

from relume.benchmarks.dumps.faults import Hang
from relume.benchmarks.dumps.pickling import pickle_as_torch
from relume.benchmarks.dumps.programs import Job
from relume.benchmarks.dumps.running import TIMEOUT_SECONDS, Record, Run

EPOCH = 1_790_000_000.0
"""Seconds: when the made-up jobs began."""
EARLY = 0.6
"""When an early dump was written: after this share of what its rank did."""
LOOK_SECONDS = 0.1
"""How often a watchdog looks what has ended."""
FORMATS = ("2.4", "2.10")
_NAMES = (
    "nccl_trace_rank_{rank}",
    "_dump_{rank}",
    "comm_trace/rank{rank}.{end}",
    "fr_{rank:04d}.{end}",
)
_HOSTS = ("gpu-a{host:02d}_rank_{rank}.{end}", "dumps/{rank}.{end}")


@dataclass(frozen=True, slots=True)
class Form:
    """How the recorders of one job are set up and written."""

    version: str
    as_json: bool
    names: str
    backend: str
    ring: int
    timing: bool
    frames: bool
    torch_pickle: bool
    early: bool = False


def choose_form(hang: Hang, version: str, random: Random) -> Form:
    """Choose how a job's recorders are set up; what the hang needs is given."""
    as_json = random.choice([True, False])
    return Form(
        version=version,
        as_json=as_json,
        names=random.choice([*_NAMES, *_HOSTS]),
        backend=random.choice(["nccl", "nccl2"]) if version == "2.10" else "nccl",
        ring=hang.ring or random.choice([60, 200, 2000]),
        timing=random.choice([True, False]) if hang.timing is None else hang.timing,
        frames=random.choice([True, False, False]),
        torch_pickle=random.choice([True, True, False]),
        early=random.choice([True] + 7 * [False]),
    )


def write_dumps(  # noqa: PLR0913 - what is written, and how
    folder: Path, hang: Hang, run: Run, form: Form, random: Random, *, lost: float
) -> set[int]:
    """Write the dumps of all ranks but the share `lost`, the dead first; return whose they are."""
    job = hang.job
    alive = [rank for rank in range(job.world) if rank not in hang.faults.died]
    lost_too = max(0, round(lost * job.world) - len(hang.faults.died))
    gone = set(random.sample(alive, lost_too))
    hosts = {job.host_of(rank) for rank in range(job.world)}
    ahead = {host: random.gauss(0.0, 1.5) for host in hosts}
    end = run.end + TIMEOUT_SECONDS
    early = _early(hang, form, random)
    for rank in alive:
        at, look = end + random.uniform(0.0, 20.0), random.uniform(0.0, LOOK_SECONDS)
        if rank == early:
            at = EARLY * max(record.created for record in run.records[rank])
        if rank in gone:
            continue
        recorder = _Recorder(job, form, EPOCH + ahead[job.host_of(rank)], at, look)
        name = form.names.format(
            rank=rank, host=job.host_of(rank), end="json" if form.as_json else "pkl"
        )
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_encode(recorder.document(rank, run.records[rank]), form))
    return set(alive) - gone


def _early(hang: Hang, form: Form, random: Random) -> int | None:
    """Now and then a rank was asked for its dump before the job hung, and wrote no other."""
    others = [rank for rank in range(hang.job.world) if rank not in hang.culprits]
    is_early = form.early and len(others) > len(hang.culprits)
    return random.choice(others) if is_early else None


def _encode(document: dict[str, Any], form: Form) -> bytes:
    if form.as_json:
        return json.dumps(document).encode()
    return pickle_as_torch(document) if form.torch_pickle else pickle.dumps(document)


@dataclass(frozen=True, slots=True)
class _Recorder:
    """One rank's recorder: its clock (`zero` in seconds), when it is written, when it looks."""

    job: Job
    form: Form
    zero: float
    at: float
    look: float

    def document(self, rank: int, records: list[Record]) -> dict[str, Any]:
        own = [number for number, group in enumerate(self.job.groups) if rank in group.ranks]
        local = {number: place for place, number in enumerate(own)}
        records = [record for record in records if record.created <= self.at]
        entries = [
            self._entry(place, record, local[record.group])
            for place, record in enumerate(_with_markers(records))
        ]
        config = {
            self.job.groups[number].name: {
                "name": self.job.groups[number].name,
                "desc": self.job.groups[number].description,
                "ranks": str(list(self.job.groups[number].ranks)),
            }
            for number in own
        }
        status = {str(local[number]): self._status(number, records) for number in own}
        library = "nccl_version" if self.form.version == "2.4" else "comm_lib_version"
        document: dict[str, Any] = {
            "version": self.form.version,
            "pg_config": config,
            library: "2.27.3",
            "pg_status": status,
            "entries": entries[-self.form.ring :],
        }
        return document

    def _status(self, group: int, records: list[Record]) -> dict[str, Any]:
        of_group = [record for record in records if record.group == group]
        done = [r.sequence for r in of_group if self._seen(r.completed) is not None]
        began = [r.sequence for r in of_group if self._seen(r.started) is not None]
        counters = {
            "last_enqueued_collective": of_group[-1].sequence if of_group else -1,
            "last_started_collective": began[-1] if began and self.form.timing else -1,
            "last_completed_collective": done[-1] if done else -1,
        }
        return {k: str(v) for k, v in counters.items()} if self.form.as_json else dict(counters)

    def _seen(self, time: float | None) -> float | None:
        """When the watchdog looked next after `time`; null when the recorder was written before."""
        if time is None or time == inf:
            return None
        looked = ceil((time - self.look) / LOOK_SECONDS) * LOOK_SECONDS + self.look
        return looked if looked <= self.at else None

    def _entry(self, place: int, record: Record, number: int) -> dict[str, Any]:
        group = self.job.groups[record.group]
        named = (group.name, group.description)
        has_state = record.batch is None or record.operation == "coalesced"
        done = self._seen(record.completed) if has_state else None
        began = self._seen(record.started) if has_state and self.form.timing else None
        state = "completed" if done is not None else "started" if began is not None else "scheduled"
        shapes = [] if record.operation == "coalesced" else [list(record.input)]
        outputs = [] if record.operation == "coalesced" else [list(record.output)]
        entry: dict[str, Any] = {
            "record_id": place,
            "pg_id": number,
            "process_group": list(named) if self.form.as_json else named,
            "collective_seq_id": record.collectives,
            "p2p_seq_id": record.sequence if record.is_p2p else 0,
            "op_id": place,
            "profiling_name": f"{self.form.backend}:{record.operation}",
            "time_created_ns": self._nanoseconds(record.created),
            "input_sizes": shapes,
            "input_dtypes": [record.dtype] * len(shapes),
            "output_sizes": outputs,
            "output_dtypes": [record.dtype] * len(outputs),
            "state": state,
            "time_discovered_started_ns": self._time(began),
            "time_discovered_completed_ns": self._time(done),
            "retired": done is not None,
            "timeout_ms": round(TIMEOUT_SECONDS * 1000),
            "is_p2p": record.is_p2p,
        }
        if self.form.version == "2.10":
            entry |= {"thread_name": "pt_main_thread", "thread_id": "140016049056640"}
        if self.form.frames:
            frame = {"name": "train_step", "filename": "/job/train.py", "line": 120}
            entry = {"frames": [frame]} | entry
        return entry

    def _time(self, time: float | None) -> int | None:
        if time is None:
            return 0 if self.form.as_json else None
        return self._nanoseconds(time)

    def _nanoseconds(self, time: float) -> int:
        return round((self.zero + time) * 1e9)


def _with_markers(records: list[Record]) -> list[Record]:
    """Add the entry that PyTorch puts behind each batch, which alone has its state."""
    marked: list[Record] = []
    for place, record in enumerate(records):
        marked.append(record)
        following = records[place + 1] if place + 1 < len(records) else None
        key = (record.group, record.batch)
        if record.batch is not None and (
            following is None or (following.group, following.batch) != key
        ):
            parts = [r for r in records if (r.group, r.batch) == key and r.is_p2p]
            ends = [part.completed for part in parts]
            end = None if None in ends else max(e for e in ends if e is not None)
            marked.append(
                replace(record, operation="coalesced", input=(), output=(), completed=end)
            )
    return marked
