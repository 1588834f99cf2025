"""What was concluded from an episode, before it is dressed as a verdict."""

from __future__ import annotations

from dataclasses import dataclass

from relume.reasons import Reason
from relume.verdict import Domain, Kind, Retry


@dataclass(frozen=True, slots=True)
class Finding:
    """Kind, cause and outlook with the line that shows it; file and line null when none does.

    `confidence` is what the rule states that found it; of a failure line it is weighed later.
    """

    kind: Kind
    cause: str | None
    domain: Domain
    retry: Retry
    confidence: float = 0.0
    rule: str | None = None
    file: str | None = None
    line: int | None = None
    reasons: tuple[Reason, ...] = ()
