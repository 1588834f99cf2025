"""What the ledger of faulty nodes advises, as Advice of scope *node*."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from relume.advice import Advice, Budget, Mode, Operation, Scope, advice_id, subject
from relume.clock import MICROSECONDS_PER_SECOND
from relume.models.lemons.online import NodeLedger
from relume.models.lemons.quarantine import DAY, Change, Move
from relume.verdict import Kind

RULE = "quarantine"
CAUSE = "node_fails_again"
REFAULT_SHARE = 0.46
"""How many nodes that are held fail again in 60 days: bench `lemons`, `ours_2_percent_refaults`."""
PAROLE_SECONDS = 3600
"""For how long it is told that a node was let go."""


def node_advice(changes: Iterable[Change], ledger: NodeLedger, now: int) -> Iterator[Advice]:
    """Yield Advice for what has changed about nodes, created at `now`.

    HOLD keeps a node from jobs until it expires, OBSERVE lets it go. It is about the attempt that
    failed last by the node; nodes that only Slurm or a check spoke of are left to the report. It is
    never carried out by itself: a drain takes a person.
    """
    for change in changes:
        if change.move is Move.NO_ROOM:
            continue
        told = ledger.tell(change)
        if told is None:
            continue
        is_hold = change.move is Move.HOLD
        nodes = (change.node,)
        about = subject(told.fault.attempt or "", Scope.NODE, nodes)
        parole = round(ledger.settings.parole_days * DAY)
        yield Advice(
            advice_id=advice_id(about, told.generation),
            attempt=told.fault.attempt or "",
            generation=told.generation,
            scope=Scope.NODE,
            operation=Operation.HOLD if is_hold else Operation.OBSERVE,
            exclude_nodes=nodes,
            kind=Kind.CRASH,
            domain=told.fault.domain,
            cause=CAUSE,
            confidence=REFAULT_SHARE,
            rule=RULE,
            evidence=told.fault.evidence,
            budget=Budget(0, None),
            mode=Mode.MONITOR,
            settled=True,
            created_at=now,
            decided_at=now,
            expires_at=now + (parole if is_hold else PAROLE_SECONDS * MICROSECONDS_PER_SECOND),
            supersedes=advice_id(about, told.generation - 1) if told.generation > 1 else None,
        )
