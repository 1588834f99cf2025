"""What the routes take and give, beside Advice and attempts; types for OpenAPI as well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from relume.advice import Advice, Disposition, Reconciliation
from relume.serve.api.ports import AttemptView, PartStatus
from relume.serve.api.tokens import Role
from relume.serve.ledger import (
    AuditRecord,
    IncidentRecord,
    LabelRecord,
    Lease,
    Milestone,
    MilestoneRecord,
)
from relume.serve.ledger.happened import MAX_WORDS
from relume.serve.nodeview import NodeView

MAX_TTL_SECONDS = 3600.0
"""A controller that died keeps others out for at most so long."""

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Body(BaseModel):
    """What a request brings: nothing that isn't known."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class LeaseRequest(Body):
    """A controller asks for the lease of its cluster, or renews it."""

    holder: Name
    """Names one process, such as ``host:pid:uuid``: whoever says it again renews."""
    ttl_seconds: float = Field(gt=0, le=MAX_TTL_SECONDS, allow_inf_nan=False)
    """How long the lease lives without a renewal."""


class ReconciliationReport(Body):
    """What became of an Advice."""

    disposition: Disposition
    reason: Annotated[str, Field(max_length=10_000)] | None = None
    """Required for ABANDONED."""
    observed_generation: int = Field(ge=1, lt=2**31)
    """The newest generation that the controller has seen."""

    def to_reconciliation(self) -> Reconciliation:
        """Return it as part of an Advice.

        Raises
        ------
        InputError
            For ABANDONED without a reason.
        """
        return Reconciliation(self.disposition, self.reason, self.observed_generation)


class MilestoneReport(Body):
    """A restarted attempt got so far."""

    attempt: Name
    """Text form of the attempt."""
    advice_id: Name | None = None
    """The Advice that brought it about; null for none."""
    milestone: Milestone
    event_time: int = Field(ge=0, lt=2**63)
    """When it happened, UTC microseconds."""


class LabelReport(Body):
    """A person says whether an Advice was right."""

    right: bool
    who: Name
    """A role or a name."""
    cause: Name | None = None
    """What it really was."""
    why: Annotated[str, Field(max_length=MAX_WORDS)] | None = None

    def to_record(self, advice_id: str, at: int) -> LabelRecord:
        """Return it as it is written down."""
        return LabelRecord(
            advice_id=advice_id,
            right=self.right,
            cause=self.cause,
            who=self.who,
            why=self.why,
            at=at,
        )


@dataclass(frozen=True, slots=True)
class IncidentList:
    """Incidents, newest first; `next` is the cursor of the next page, null after the last one."""

    incidents: tuple[IncidentRecord, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class AuditList:
    """Who did what, in order; `next` is the cursor of the next page, null after the last one."""

    audit: tuple[AuditRecord, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class LabelList:
    """What people said, newest first; `next` is the cursor of the next page, null at the end."""

    labels: tuple[LabelRecord, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class MilestoneList:
    """Milestones, newest first; `next` is the cursor of the next page, null after the last one."""

    milestones: tuple[MilestoneRecord, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class AdviceList:
    """Active Advice, oldest first and all of it; else newest first, a page.

    `next` is the cursor of the next page, null after the last one.
    """

    advice: tuple[Advice, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class AttemptList:
    """Attempts, oldest first; `next` is the cursor of the next page, null after the last one."""

    attempts: tuple[AttemptView, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class NodeList:
    """Nodes by cluster and name; `next` is the cursor of the next page, null after the last one.

    `unread` are clusters of which another version wrote, so that nothing can be said.
    """

    nodes: tuple[NodeView, ...]
    unread: tuple[str, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class ControllerView:
    """The newest lease of a cluster, and whether it is alive.

    `seen_at` is when its holder took or renewed it last, null for a lease of an older version.
    """

    cluster: str
    holder: str
    fencing_token: int
    expires_at: int
    seen_at: int | None
    alive: bool

    @classmethod
    def of(cls, lease: Lease, now: int) -> ControllerView:
        """Return how a lease is at `now`."""
        return cls(
            cluster=lease.cluster,
            holder=lease.holder,
            fencing_token=lease.fencing_token,
            expires_at=lease.expires_at,
            seen_at=lease.seen_at,
            alive=lease.expires_at > now,
        )


@dataclass(frozen=True, slots=True)
class ControllerList:
    """Controllers by their clusters."""

    controllers: tuple[ControllerView, ...]


@dataclass(frozen=True, slots=True)
class SessionView:
    """Who asks.

    `csrf` goes with every change of a session, in the header `X-Relume-CSRF`; it is null for who
    has none, as is when it ends (UTC microseconds).
    """

    roles: tuple[Role, ...]
    csrf: str | None
    expires_at: int | None


@dataclass(frozen=True, slots=True)
class Assigned:
    """Which attempt each job of a snapshot is, by job id."""

    attempts: dict[str, str]


@dataclass(frozen=True, slots=True)
class Ready:
    """Whether every part of the service is healthy."""

    ready: bool
    parts: dict[str, PartStatus]


@dataclass(frozen=True, slots=True)
class Alive:
    """The process answers."""

    status: Literal["ok"] = "ok"
