"""Jobs that fail under load: when each printed its error."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from relume.benchmarks.load.lines import FIRST_JOB, NODES_PER_JOB, labels_of
from relume.benchmarks.loop.shelljob import CUDA_ERROR
from relume.benchmarks.serving import CLUSTER, ServiceProcess, running_job, snapshot_of
from relume.clock import MICROSECONDS_PER_SECOND, SystemClock
from relume.errors import UnreachableError
from relume.slurm.job import SlurmJob


@dataclass(slots=True)
class Cluster:
    """The scheduler of the load: a job in each slot of nodes, and the next one where one failed.

    `jobs` is the shared array of the numbers in the slots, which the generator reads.
    """

    service: ServiceProcess
    jobs: Any
    attempts: dict[int, str] = field(default_factory=dict)
    _shown: dict[int, SlurmJob] = field(default_factory=dict)
    _next: int = 0

    def begin(self) -> None:
        """Let a job run in each slot."""
        for slot in range(len(self.jobs)):
            self._start(slot)

    def report(self) -> None:
        """Tell the service what runs and what failed, as a controller does."""
        now = SystemClock().now()
        taken = self.service.report(snapshot_of(CLUSTER, now, self._shown.values()))
        self.attempts |= {int(job): attempt for job, attempt in taken.items()}

    def crash(self, slot: int) -> tuple[str, float]:
        """Let the job of a slot print its error; return its attempt and when (monotonic).

        The next job begins there; snapshots say so from now on.
        """
        job = self.jobs[slot]
        now = SystemClock().now()
        body = {"streams": [_error(job, slot, now)]}
        begun = time.monotonic()
        bearer = {"Authorization": f"Bearer {self.service.ingest_token}"}
        answer = self.service.client.post("/loki/api/v1/push", json=body, headers=bearer)
        if not answer.is_success:
            raise UnreachableError("the error line", found=answer.text, expected="204")
        attempt = self.attempts[job]
        self._shown[job] = replace(self._shown[job], state="FAILED", end_time=now, exit_code=1)
        self._start(slot)
        return attempt, begun

    def _start(self, slot: int) -> None:
        number = FIRST_JOB + self._next
        self._next += 1
        first = slot * NODES_PER_JOB
        nodes = tuple(f"gpu{node:05d}" for node in range(first, first + NODES_PER_JOB))
        now = SystemClock().now() - MICROSECONDS_PER_SECOND
        job = running_job(number, now, nodes=nodes, num_nodes=NODES_PER_JOB)
        self._shown[number] = job
        self.jobs[slot] = number


def _error(job: int, slot: int, now: int) -> dict[str, Any]:
    text = labels_of(job, slot * NODES_PER_JOB)
    labels = dict(pair.split("=", 1) for pair in text.strip("{}").split(", "))
    stream = {name: msgspec.json.decode(value) for name, value in labels.items()}
    return {"stream": stream, "values": [[str(now * 1000), CUDA_ERROR]]}


def quantile(values: Iterable[float], share: float) -> float:
    """Return the value that `share` of the values do not exceed; null values don't exist here."""
    return float(np.quantile(np.array(list(values)), share, method="higher"))
