"""Flight recorders made by hand, as plain data and decoded: each test shows what it is about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from relume.dumps import RankDump
from relume.events import Collective, ProcessGroup

SECOND = 1_000_000
START = 1_790_000_000 * SECOND
"""Microseconds: when the made-up works were called."""


def entry(number: int, **changes: Any) -> dict[str, Any]:
    """Return one entry as PyTorch writes it: an all-reduce of the default group, complete."""
    called = (START + number * SECOND) * 1000
    fields: dict[str, Any] = {
        "record_id": number,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "collective_seq_id": number + 1,
        "p2p_seq_id": 0,
        "op_id": number + 1,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": called,
        "input_sizes": [[4, 2]],
        "input_dtypes": ["Float"],
        "output_sizes": [[4, 2]],
        "output_dtypes": ["Float"],
        "state": "completed",
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": called + 1000,
        "retired": True,
        "timeout_ms": 600_000,
        "is_p2p": False,
    }
    if changes.get("state", "completed") != "completed":
        fields |= {"time_discovered_completed_ns": None, "retired": False}
    return fields | changes


def document(entries: Iterable[dict[str, Any]] = (), **changes: Any) -> dict[str, Any]:
    """Return a recorder of one of four ranks, in format 2.4."""
    fields: dict[str, Any] = {
        "version": "2.4",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}},
        "nccl_version": "2.27.3",
        "pg_status": {
            "0": {
                "last_enqueued_collective": 7,
                "last_started_collective": -1,
                "last_completed_collective": 6,
            }
        },
        "entries": list(entries),
    }
    return fields | changes


def work(number: int, state: str = "scheduled", **changes: Any) -> Collective:
    """Return a decoded all-reduce of group 0; its times follow from its number and state."""
    called = START + number * SECOND
    fields: dict[str, Any] = {
        "group": "0",
        "sequence_number": number,
        "operation": "nccl:all_reduce",
        "state": state,
        "enqueued_time": called,
        "started_time": called + 1 if state == "started" else None,
        "completed_time": called + 2 if state == "completed" else None,
        "input_sizes": ((8,),),
        "output_sizes": ((8,),),
        "input_dtypes": ("Float",),
        "output_dtypes": ("Float",),
    }
    return Collective(**(fields | changes))


def pair(number: int, name: str, state: str = "scheduled", **changes: Any) -> Collective:
    """Return a decoded send or receive of group 0: ``send 0->1``, ``recv 1<-0``."""
    return work(number, state, operation=f"nccl:{name}", is_p2p=True, **changes)


def group(ranks: Iterable[int], name: str = "0", **changes: Any) -> ProcessGroup:
    """Return a process group."""
    return ProcessGroup(name=name, ranks=tuple(ranks), **changes)


def dump(
    rank: int, *works: Collective, groups: Iterable[ProcessGroup] = (), **changes: Any
) -> RankDump:
    """Return the dump of one rank; without `groups` it is in group 0 of four ranks."""
    fields: dict[str, Any] = {
        "rank": rank,
        "file": f"dump_{rank}",
        "groups": tuple(groups) or (group(range(4)),),
        "collectives": works,
    }
    return RankDump(**(fields | changes))
