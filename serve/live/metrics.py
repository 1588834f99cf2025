"""What the live runner counts about itself, for Prometheus. All labels are from closed sets."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from relume.advice import Advice
from relume.clock import MICROSECONDS_PER_SECOND
from relume.serve.intake.metrics import IntakeMetrics

_BUCKETS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


class RunnerMetrics:
    """The metrics of one runner, in `registry`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.step_seconds = Histogram(
            "relume_step_seconds",
            "Time of one step: reading, landing, judging, publishing.",
            buckets=_BUCKETS,
            registry=registry,
        )
        self.landed_rows = Counter(
            "relume_landed_rows", "Lines and events that are durable.", registry=registry
        )
        self.failures = Counter(
            "relume_step_failures", "Steps that failed and were begun again.", registry=registry
        )
        self.advice = Counter(
            "relume_advice",
            "Generations of Advice that were written.",
            ("operation", "kind", "settled"),
            registry=registry,
        )
        self.intake = IntakeMetrics(registry)
        self.compactions = Counter(
            "relume_lake_compactions",
            "Times that small segments of the lake were merged.",
            ("result",),
            registry=registry,
        )
        for result in ("done", "failed"):
            self.compactions.labels(result)
        self.merged = Counter(
            "relume_lake_merged_segments",
            "Small segments of the lake that became parts of large ones.",
            registry=registry,
        )
        self._ticked = Gauge(
            "relume_tick_timestamp_seconds", "The newest tick, since 1970.", registry=registry
        )
        self._attempts = Gauge(
            "relume_watched_attempts", "Attempts that are being watched.", registry=registry
        )
        self._logs = Gauge(
            "relume_job_logs", "Output files of jobs that are being read.", registry=registry
        )

    def note_step(self, now: int, attempts: int, logs: int) -> None:
        """Take the end of a step (UTC microseconds)."""
        self._ticked.set(now / MICROSECONDS_PER_SECOND)
        self._attempts.set(attempts)
        self._logs.set(logs)

    def note_advice(self, advice: Advice) -> None:
        """Count a new generation."""
        settled = "yes" if advice.settled else "no"
        self.advice.labels(advice.operation.value, advice.kind.value, settled).inc()
