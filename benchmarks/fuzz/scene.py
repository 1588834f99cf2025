"""The service that is asked: in mode approve, with a token of each role, and jobs that failed."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from relume.benchmarks.serving import CLUSTER, ServiceProcess, running_job, snapshot_of
from relume.clock import MICROSECONDS_PER_SECOND, SystemClock
from relume.serve.api import Role

JOBS = 4
_FILES = {Role.READ: "read_token_file", Role.LABEL: "label_token_file"}


@dataclass(frozen=True, slots=True)
class Scene:
    """A service with something in it.

    Attributes
    ----------
    service
        The process.
    tokens
        Of each role, and null's: nobody's, which is empty.
    known
        Names that the service knows, by the parameter of a path that they are good for.
    pid
        Of the process, to see that it is the same one in the end.
    """

    service: ServiceProcess
    tokens: Mapping[Role | None, str]
    known: Mapping[str, list[str]]
    pid: int | None

    def headers(self, role: Role | None) -> dict[str, str]:
        """Return the headers by which a role shows itself."""
        token = self.tokens[role]
        return {"Authorization": f"Bearer {token}"} if token else {}

    @property
    def is_alive(self) -> bool:
        """Whether it is the same process, and answers."""
        return self.service.process.pid == self.pid and self.service.answers()

    def step_failures(self) -> float:
        """Return how many steps of the runner failed and were begun again."""
        text = self.service.client.get("/metrics").text
        name = "relume_step_failures_total "
        found = [float(line[len(name) :]) for line in text.splitlines() if line.startswith(name)]
        return sum(found)


@contextmanager
def scene(folder: Path) -> Iterator[Scene]:
    """Start a service in `folder`, and let some jobs of its cluster fail."""
    tokens: dict[Role | None, str] = {None: ""}
    serve: dict[str, object] = {"mode": "approve", "settle_seconds": 0.0}
    folder.mkdir(parents=True, exist_ok=True)
    for role, key in _FILES.items():
        tokens[role] = secrets.token_hex(16)
        file = folder / f"{role}.token"
        file.touch(mode=0o600)
        file.write_text(f"{tokens[role]}\n", encoding="ascii")
        serve[key] = str(file)
    with ServiceProcess(folder, {"serve": serve}) as service:
        tokens |= {Role.CONTROL: service.token, Role.INGEST: service.ingest_token}
        known = _let_jobs_fail(service)
        yield Scene(service, tokens, known, service.process.pid)


def _let_jobs_fail(service: ServiceProcess) -> dict[str, list[str]]:
    """Return the names that the service knows then."""
    now = SystemClock().now()
    begun = now - 600 * MICROSECONDS_PER_SECOND
    service.report(snapshot_of(CLUSTER, now, [running_job(one, begun) for one in range(1, JOBS)]))
    failed = [
        running_job(one, begun, state="FAILED", end_time=now, exit_code=1) for one in range(1, JOBS)
    ]
    attempts = service.report(snapshot_of(CLUSTER, now + 1, failed))
    waiting = {"active": "true"}

    def is_advised() -> bool:
        return bool(service.client.get("/v1/advice", params=waiting).json()["advice"])

    service.process.wait_for(is_advised, what="Advice about a failed job", seconds=120.0)
    advice = service.client.get("/v1/advice", params=waiting).json()["advice"]
    incidents = service.client.get("/v1/incidents").json()["incidents"]
    return {
        "advice_id": [one["advice_id"] for one in advice],
        "attempt": list(attempts.values()),
        "incident_id": [one["incident_id"] for one in incidents],
        "cluster": [CLUSTER],
    }
