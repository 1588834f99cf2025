"""How the service itself is: what a page says before it says anything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from relume.serve.api.ports import PartStatus, Readiness
from relume.serve.api.probe import LEDGER, LedgerProbe
from relume.verdict import Health

_WORST = (Health.UNHEALTHY, Health.UNKNOWN, Health.HEALTHY)
_WORDS = {
    Health.HEALTHY: "Watching",
    Health.UNKNOWN: "Not sure that it watches",
    Health.UNHEALTHY: "Not watching well",
}


@dataclass(frozen=True, slots=True)
class Status:
    """The service as of `at` (UTC microseconds).

    `health` is that of the worst part; `words` say it. What isn't known is never healthy.
    """

    at: int
    health: Health
    words: str
    parts: Mapping[str, PartStatus]

    @property
    def reasons(self) -> list[str]:
        """Why it isn't healthy, the worst first; empty when it is."""
        bad = sorted(
            (_WORST.index(part.status), name, part.reason or part.status.value)
            for name, part in self.parts.items()
            if part.status is not Health.HEALTHY
        )
        return [f"{name}: {reason}" for _, name, reason in bad]


def status_of(probe: LedgerProbe, readiness: Readiness, now: int) -> Status:
    """Ask every part how it is at `now`."""
    parts = {LEDGER: probe.status(), **readiness()}
    worst = min((part.status for part in parts.values()), key=_WORST.index)
    return Status(now, worst, _WORDS[worst], parts)
