"""What is counted about pushes, for Prometheus. All labels are from closed sets."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge

from relume.serve.intake.bodies import Outcome
from relume.serve.intake.queue import IntakeQueue


class IntakeMetrics:
    """The metrics of what is pushed, in `registry`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._entries = Counter(
            "relume_ingest_entries",
            "Lines, samples and events that were pushed, by what became of them.",
            ("outcome",),
            registry=registry,
        )
        for outcome in ("accepted", "duplicate", "late", "refused"):
            self._entries.labels(outcome)
        self._requests = Counter(
            "relume_ingest_requests",
            "Pushed requests that were made durable, and those that have to be sent again.",
            ("result",),
            registry=registry,
        )
        for result in ("durable", "busy", "failed"):
            self._requests.labels(result)
        self._commits = Counter(
            "relume_ingest_commits", "Commits that held pushed requests.", registry=registry
        )
        self._held = Gauge(
            "relume_ingest_queue_bytes", "Pushed and not durable yet.", registry=registry
        )
        self._senders = Gauge(
            "relume_ingest_senders",
            "Senders, by whether they still push.",
            ("state",),
            registry=registry,
        )
        self._lag = Gauge(
            "relume_ingest_lag_seconds",
            "Age of the newest entry of the sender that is furthest behind.",
            registry=registry,
        )

    def watch(self, queue: IntakeQueue) -> None:
        """Show how much waits."""
        self._held.set_function(lambda: queue.held_bytes)

    def note_busy(self) -> None:
        """Count a request that found no room."""
        self._requests.labels("busy").inc()

    def note_failed(self, count: int) -> None:
        """Count requests that could not be made durable."""
        self._requests.labels("failed").inc(count)

    def note_commit(self, outcomes: Iterable[Outcome]) -> None:
        """Count what is durable now."""
        self._commits.inc()
        for one in outcomes:
            self._requests.labels("durable").inc()
            self._entries.labels("accepted").inc(one.accepted)
            self._entries.labels("duplicate").inc(one.duplicates)
            self._entries.labels("late").inc(one.late)
            self._entries.labels("refused").inc(one.refused)

    def note_senders(self, alive: int, stale: int, lag_seconds: float | None) -> None:
        """Take how the senders are."""
        self._senders.labels("pushing").set(alive)
        self._senders.labels("stopped").set(stale)
        self._lag.set(lag_seconds or 0.0)
