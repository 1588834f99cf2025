"""What Relume decided about an attempt, and what became of it: the durable Advice record.

What happened (kind, domain, cause), why we think so (rule, evidence), what should happen
(operation) and whether it happened (reconciliation) are four separate facts.
`docs/formats/advice.md` describes every field.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

from relume.errors import InputError
from relume.verdict import Domain, Evidence, Kind, Measurement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from relume.identity import AttemptId

ADVICE_NAMESPACE = UUID("977d99d5-837a-4f7b-8780-671d4c600798")
"""Namespace of `advice_id`; made once at random, and never to be changed."""
MAX_NAME, MAX_WORDS = 200, 10_000
"""Characters of who answered, and why."""


class Operation(StrEnum):
    """What should happen to the attempt."""

    RESTART = "RESTART"
    RESTART_EXCLUDING = "RESTART_EXCLUDING"
    """Restart on other nodes than `exclude_nodes`."""
    STOP = "STOP"
    """Don't start it again: it would fail the same way."""
    OBSERVE = "OBSERVE"
    """Leave it alone and go on watching."""
    HOLD = "HOLD"
    """Keep it from starting until the Advice expires, then let it go."""


ENDING = frozenset({Operation.RESTART, Operation.RESTART_EXCLUDING, Operation.STOP})
"""Operations that end an attempt which runs on."""


class RequestKind(StrEnum):
    """Evidence that is asked for before it is lost."""

    SIGNAL = "signal"
    """Send the signal that the job's comment names, for a checkpoint or a stack trace."""
    FR_PIPE = "fr_pipe"
    """Ask PyTorch for a flight-recorder dump through its pipe."""
    PY_SPY = "py_spy"
    """Take stacks with py-spy, as the job's user."""
    RAS = "ras"
    """Ask NCCL's RAS service which ranks are missing."""


class Mode(StrEnum):
    """How far the Advice may go by itself."""

    MONITOR = "monitor"
    """It is only recorded and scored."""
    APPROVE = "approve"
    """A person must approve it first."""
    ACT = "act"
    """The controller may carry it out."""


class Scope(StrEnum):
    """What the Advice is about."""

    ATTEMPT = "attempt"
    NODE = "node"
    """The nodes in `exclude_nodes` should be kept out of use (quarantine)."""
    CLUSTER = "cluster"
    """One incident holds many jobs: HOLD, and OBSERVE when it is over."""


_OF_CLUSTERS = frozenset({Operation.HOLD, Operation.OBSERVE})


class Disposition(StrEnum):
    """How far the controller got."""

    PENDING = "PENDING"
    CONVERGED = "CONVERGED"
    """What should happen has happened, and was read back."""
    ABANDONED = "ABANDONED"
    """It won't happen; there is a reason."""


class Answer(StrEnum):
    """What a person says to Advice in mode *approve*."""

    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    """Nobody answered in time, or a newer generation took its place."""


@dataclass(frozen=True, slots=True)
class Approval:
    """The answer to an Advice in mode *approve*: which, by whom, why (null: not said) and when.

    Raises
    ------
    InputError
        For a name that is empty, too long or not printable, and for too many words.
    """

    answer: Answer
    who: str
    why: str | None
    at: int

    def __post_init__(self) -> None:
        if not (0 < len(self.who) <= MAX_NAME and self.who.isprintable()):
            found, expected = repr(self.who[:MAX_NAME]), f"1 to {MAX_NAME} printable characters"
            raise _contradiction("who of an answer", found, expected)
        why = self.why or ""
        if len(why) > MAX_WORDS or why != why.encode(errors="replace").decode():
            expected = f"text, at most {MAX_WORDS} characters"
            raise _contradiction("why of an answer", f"{len(why)} characters", expected)


@dataclass(frozen=True, slots=True)
class Budget:
    """Tries of the run that are used up, and those that are left. A null `left` is no limit."""

    used: int
    left: int | None

    def __post_init__(self) -> None:
        if self.used < 0 or (self.left is not None and self.left < 0):
            raise _contradiction("budget", f"{self.used} used, {self.left} left", "counts")


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """Whether the Advice was carried out, by the word of the controller.

    `reason` is required for ABANDONED. `observed_generation` is the newest generation that the
    controller has seen, null if none; what it reports about an older one is ignored.
    """

    disposition: Disposition = Disposition.PENDING
    reason: str | None = None
    observed_generation: int | None = None

    def __post_init__(self) -> None:
        if self.disposition is Disposition.ABANDONED and not self.reason:
            raise _contradiction("reconciliation", "ABANDONED without a reason", "a reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One decision about one attempt, the one that failed. Times are UTC microseconds.

    A changed mind is a new generation, never a changed record; only `reconciliation` moves on.

    Attributes
    ----------
    advice_id
        `advice_id(subject, generation)`: the same decision has the same id, live and offline.
    attempt
        Text form of an attempt, `cluster/job_id@first_submit_epoch.restart_count`; for scope *node*
        the one that failed last by the node, for *cluster* one of those that an incident struck.
    generation
        1 for the first, at once; higher ones know more.
    exclude_nodes
        For RESTART_EXCLUDING the nodes to leave out, for scope *node* those to keep out of use
        (HOLD), or that are let go again (OBSERVE).
    confidence
        From 0 to 1.
    rule
        Id of the signature, detector or policy rule that decided; null if none did.
    settled
        False while evidence still comes in. An unsettled Advice may hold a job, not release it.
    created_at
        When it was made durable.
    decided_at
        When it became final: with a settled generation, or a person's answer in mode *approve*;
        null before.
    expires_at
        When it is no longer to be carried out.
    supersedes
        Id of the Advice that this one replaces, null if none.
    measured
        What a detector measured; null where lines decided, or the scheduler alone.
    approval
        The answer in mode *approve*; null while it waits for one, and where it needs none.

    Raises
    ------
    InputError
        When fields contradict each other; see `docs/formats/advice.md` for the rules.
    """

    advice_id: str
    attempt: str
    generation: int
    scope: Scope = Scope.ATTEMPT
    operation: Operation
    exclude_nodes: tuple[str, ...] = ()
    requests: tuple[RequestKind, ...] = ()
    kind: Kind
    domain: Domain
    cause: str | None
    confidence: float
    rule: str | None
    evidence: tuple[Evidence, ...] = ()
    missing_evidence: tuple[str, ...] = ()
    budget: Budget
    mode: Mode
    settled: bool
    created_at: int
    decided_at: int | None
    expires_at: int
    supersedes: str | None = None
    reconciliation: Reconciliation = Reconciliation()
    measured: Measurement | None = None
    approval: Approval | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether a person has to answer, and none has. Leaving alone needs no answer."""
        asks = self.mode is Mode.APPROVE and self.operation is not Operation.OBSERVE
        return asks and self.settled and self.approval is None

    @property
    def is_actionable(self) -> bool:
        """Whether a controller may carry it out, as far as mode and answer go."""
        approved = self.approval is not None and self.approval.answer is Answer.APPROVED
        return self.mode is Mode.ACT or (self.mode is Mode.APPROVE and approved)

    @property
    def subject(self) -> str:
        """What its generations are counted of; see `subject`."""
        return subject(self.attempt, self.scope, self.exclude_nodes)

    def __post_init__(self) -> None:
        for found, expected in chain(self._wrong_identity(), self._wrong_decision()):
            raise _contradiction(f"advice {self.advice_id}", found, expected)

    def _wrong_identity(self) -> Iterator[tuple[str, str]]:
        observed = self.reconciliation.observed_generation
        if self.generation < 1:
            yield f"generation {self.generation}", "1 or more"
        if self.advice_id != advice_id(self.subject, self.generation):
            yield "an id of another subject or generation", "advice_id(subject, generation)"
        if self.supersedes == self.advice_id:
            yield "that it supersedes itself", "the id of another, or null"
        if self.expires_at <= self.created_at:
            yield "that it expires at once", "expires_at after created_at"
        if self.decided_at is not None and self.decided_at < self.created_at:
            yield "that it was decided before it was created", "decided_at from created_at on"
        if observed is not None and not 1 <= observed <= self.generation:
            yield f"observed_generation {observed}", f"1 to {self.generation}, or null"
        if self.approval is not None and self.mode is not Mode.APPROVE:
            yield f"an answer in mode {self.mode}", "one in mode approve only"

    def _wrong_decision(self) -> Iterator[tuple[str, str]]:
        names = self.exclude_nodes
        excludes = self.operation is Operation.RESTART_EXCLUDING or self.scope is Scope.NODE
        if not 0.0 <= self.confidence <= 1.0:  # NaN fails too
            yield f"confidence {self.confidence}", "0 to 1"
        if bool(names) is not excludes:
            yield (
                f"{len(names)} nodes to exclude with {self.operation}, scope {self.scope}",
                "nodes with RESTART_EXCLUDING or scope node, and only with these",
            )
        if names and not self.settled:
            yield "nodes to exclude in an unsettled generation", "them in a settled one only"
        if len(set(names)) != len(names):
            yield "a node that is named twice", "each node once"
        if self.scope is Scope.CLUSTER and self.operation not in _OF_CLUSTERS:
            yield f"{self.operation} for a cluster", "HOLD, or OBSERVE when it is over"


def subject(attempt: AttemptId | str, scope: Scope, nodes: Iterable[str]) -> str:
    """Return what generations are counted of: the attempt, with scope *node* its nodes, too.

    So what is advised about a node, or a cluster, never takes the place of what is advised about
    the attempt that failed.

    Examples
    --------
    >>> subject("lab/123@1767323045.0", Scope.NODE, ["gpu-a07"])
    'lab/123@1767323045.0 gpu-a07'
    """
    about = {Scope.ATTEMPT: (), Scope.NODE: tuple(nodes), Scope.CLUSTER: (Scope.CLUSTER.value,)}
    return " ".join((str(attempt), *about[scope]))


def advice_id(attempt: AttemptId | str, generation: int) -> str:
    """Return the id of the Advice about a subject, a UUIDv5: the same in every run and replay.

    Examples
    --------
    >>> advice_id("lab/123@1767323045.0", 1) == advice_id("lab/123@1767323045.0", 1)
    True
    """
    return str(uuid5(ADVICE_NAMESPACE, f"{attempt}#{generation}"))


def comparable(advice: Advice) -> dict[str, Any]:
    """Return what must be equal to the bit between a live run and a replay of its events.

    Event times are those of the evidence. Left out is what depends on the wall clock
    (`created_at`, `decided_at`, `expires_at`), on the site's mode and settings (what the limit was
    that `measured` was held against), on the people who answer, and on the controller.
    """
    return {
        "attempt": advice.attempt,
        "generation": advice.generation,
        "scope": advice.scope,
        "operation": advice.operation,
        "exclude_nodes": advice.exclude_nodes,
        "kind": advice.kind,
        "domain": advice.domain,
        "cause": advice.cause,
        "confidence": advice.confidence,
        "rule": advice.rule,
        "evidence": advice.evidence,
    }


def _contradiction(what: str, found: str, expected: str) -> InputError:
    return InputError(what, found=found, expected=expected, hint="see docs/formats/advice.md")
