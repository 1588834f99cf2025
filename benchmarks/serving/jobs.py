"""Snapshots of a scheduler that isn't there: what a controller would tell the service."""

from __future__ import annotations

import getpass
from collections.abc import Iterable
from typing import Any

from relume.slurm.job import SlurmJob, SlurmNode, SlurmSnapshot


def running_job(number: int, start_time: int, **changes: Any) -> SlurmJob:  # noqa: ANN401 - any field
    """Return a job that runs since `start_time` on a node of its own and has opted in.

    `changes` are fields of `SlurmJob` that differ.

    >>> running_job(7, 1_000_000, state="FAILED").nodes
    ('gpu00007',)
    """
    fields: dict[str, Any] = {
        "job_id": str(number),
        "raw_job_id": number,
        "state": "RUNNING",
        "reason": None,
        "user": getpass.getuser(),
        "partition": "main",
        "name": f"train-{number}",
        "comment": '{"relume": {}}',
        "admin_comment": None,
        "submit_time": start_time,
        "start_time": start_time,
        "end_time": None,
        "restart_count": 0,
        "nodes": (f"gpu{number:05d}",),
        "exclude_nodes": (),
        "required_nodes": (),
        "exit_code": None,
        "signal": None,
        "std_out": None,
        "std_err": None,
        "work_dir": None,
        "time_limit_seconds": None,
        "requeue": True,
        "priority": 1000,
        "num_nodes": 1,
    }
    return SlurmJob(**(fields | changes))


def snapshot_of(cluster: str, taken_at: int, jobs: Iterable[SlurmJob]) -> SlurmSnapshot:
    """Return a snapshot in which the jobs' nodes are allocated."""
    shown = tuple(jobs)
    names = sorted({node for job in shown for node in job.nodes})
    return SlurmSnapshot(
        cluster=cluster,
        taken_at=taken_at,
        jobs=shown,
        nodes=tuple(
            SlurmNode(node=name, state="ALLOCATED", reason=None, partitions=("main",))
            for name in names
        ),
    )
