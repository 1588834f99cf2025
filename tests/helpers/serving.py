"""A service with a real ledger behind it, its clock in our hand, and a runner that only notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.testclient import TestClient

from advising import CREATED
from relume.clock import ManualClock
from relume.serve.api import Access, PartStatus, Role, Tokens, create_app, view_of
from relume.serve.intake.queue import IntakeQueue
from relume.serve.ledger import Ledger
from relume.slurm.job import SlurmSnapshot
from relume.verdict import Health

TOKEN = "an operator's control token"  # noqa: S105 - of this test
OTHERS: dict[Role, tuple[str, ...]] = {
    role: (f"a token of role {role}",) for role in Role if role is not Role.CONTROL
}
"""What `bearing` takes."""


@dataclass
class Service:
    """What a test sees of the service: requests go through `open` and, with a token, `control`.

    `bearing` gives a client of another role.
    """

    ledger: Ledger
    clock: ManualClock = field(default_factory=lambda: ManualClock(CREATED + 1))
    parts: dict[str, PartStatus] = field(
        default_factory=lambda: {"tail": PartStatus(Health.HEALTHY)}
    )
    snapshots: list[SlurmSnapshot] = field(default_factory=list)
    failure: Exception | None = None
    tokens: tuple[str, ...] = (TOKEN,)
    access: Access | None = None

    def __post_init__(self) -> None:
        app = create_app(
            self.ledger,
            clock=self.clock,
            access=self.access or Access(tokens=Tokens({Role.CONTROL: self.tokens, **OTHERS})),
            readiness=lambda: self.parts,
            on_scheduler=self._take,
            attempts_view=view_of,
            door=IntakeQueue(),
        )
        self.app = app
        self.open = TestClient(app, raise_server_exceptions=False)
        self.control = self.bearing(TOKEN)

    def bearing(self, token: str) -> TestClient:
        """A client that shows a token with every request."""
        headers = {"Authorization": f"Bearer {token}"}
        return TestClient(self.app, headers=headers, raise_server_exceptions=False)

    def _take(self, snapshot: SlurmSnapshot) -> Mapping[str, str]:
        if self.failure is not None:
            raise self.failure
        self.snapshots.append(snapshot)
        return {job.job_id: f"{snapshot.cluster}/{job.job_id}@1.0" for job in snapshot.jobs}

    def metric(self, name: str) -> float | None:
        """The value of a metric with its labels, as `/metrics` prints it; null if not there."""
        for line in self.open.get("/metrics").text.splitlines():
            if line.startswith(f"{name} "):
                return float(line.rpartition(" ")[2])
        return None
