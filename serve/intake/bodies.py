"""What one request brought, decoded; and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from relume.events import Event
from relume.ingest.lake import SampleBatch
from relume.ingest.push.lines import PushedLines

MAX_REASONS = 5
"""Reasons that an answer names; a broken client has thousands of the same kind."""


@dataclass(slots=True, kw_only=True)
class Body:
    """One request.

    Attributes
    ----------
    sender
        Whose silence is told when it stops: the address, or what it calls itself.
    streams, samples, events
        What it brought; all empty for a sign of life.
    refused, reasons
        How much of it made no sense already when it was decoded, and why.
    """

    sender: str
    streams: Sequence[PushedLines] = ()
    samples: Sequence[SampleBatch] = ()
    events: Sequence[Event] = ()
    refused: int = 0
    reasons: Sequence[str] = ()


@dataclass(slots=True)
class Outcome:
    """What became of a request that is durable now.

    Attributes
    ----------
    accepted
        Entries, samples and events that landed.
    duplicates
        Those that had landed before: they were sent again.
    late
        Those of the accepted that came out of order by more than the watermark.
    refused
        Those that make no sense; `reasons` names the first ones.
    """

    accepted: int = 0
    duplicates: int = 0
    late: int = 0
    refused: int = 0
    reasons: list[str] = field(default_factory=list)

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count what can't be taken."""
        self.refused += count
        if len(self.reasons) < MAX_REASONS and reason not in self.reasons:
            self.reasons.append(reason)
