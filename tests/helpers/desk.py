"""A ledger, a clock by hand, and a receiver of what lanes of alerts send to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry

from advising import CREATED, EXPIRES, make_advice
from receiving import Receiver
from relume.advice import Advice, Mode
from relume.clock import ManualClock
from relume.serve.alerts import forms
from relume.serve.alerts.lane import Lane
from relume.serve.alerts.metrics import AlertMetrics
from relume.serve.alerts.targets import Post, Target, Webhook
from relume.serve.ledger import Closing, Ledger


@dataclass
class Desk:
    """The clock begins a second before the first Advice of these tests."""

    ledger: Ledger
    receiver: Receiver
    clock: ManualClock = field(default_factory=lambda: ManualClock(CREATED - 1_000_000))
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    targets: list[Target] = field(default_factory=list)

    def lane(self, target: Target | None = None, **options: Any) -> Lane:
        """A lane of a webhook, or of another target, like one after a restart."""
        if target is None:
            post = Post(self.receiver.url, "webhook 1")
            target = Webhook("webhook", "webhook 1", post, forms.webhook)
        self.targets.append(target)
        metrics = options.pop("metrics", None) or AlertMetrics(CollectorRegistry())
        return Lane(self.ledger, target, self.clock, metrics, **options)

    def begun(self, target: Target | None = None, **options: Any) -> Lane:
        """A lane that has looked once, a second ago."""
        made = self.lane(target, **options)
        made.step()
        self.clock.advance(1)
        return made

    def advise(self, number: int = 1, **changes: Any) -> Advice:
        """Write Advice about a job, now."""
        now = self.clock.now()
        fields: dict[str, Any] = {
            "attempt": f"lab/{number}@1767323045.0",
            "mode": Mode.MONITOR,
            "created_at": now,
            "decided_at": now,
            "expires_at": EXPIRES + now - CREATED,
        }
        advice = make_advice(**(fields | changes))
        self.ledger.put_advice(advice)
        return advice

    def close(self, advice: Advice) -> None:
        """Write that the attempt is over, now."""
        over = Closing(advice_id=advice.advice_id, at=self.clock.now(), ending="it is over")
        self.ledger.note(over)
