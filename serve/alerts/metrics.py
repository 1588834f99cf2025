"""What the alerts count about themselves, for Prometheus. All labels are from closed sets."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge


class AlertMetrics:
    """The metrics of all targets, in `registry`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.messages = Counter(
            "relume_alert_messages",
            "Messages about incidents, by kind of target, what happened, and whether it was taken.",
            ("target", "event", "result"),
            registry=registry,
        )
        self.failures = Counter(
            "relume_alert_failures",
            "Looks after which something has to be sent again later.",
            ("target",),
            registry=registry,
        )
        self.waiting = Gauge(
            "relume_alerts_waiting",
            "Messages that were due at the last look.",
            ("target",),
            registry=registry,
        )
        self.beats = Gauge(
            "relume_heartbeat_timestamp_seconds",
            "When a heartbeat was taken last, since 1970.",
            ("target",),
            registry=registry,
        )
