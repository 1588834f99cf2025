"""What the API counts about itself, for Prometheus."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from relume.advice import Disposition
from relume.clock import MICROSECONDS_PER_SECOND

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class ApiMetrics:
    """The metrics of one app, in `registry`. All labels are from closed sets.

    Snapshots are labelled by cluster: those are few, and named by who holds a control token.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.requests = Counter(
            "relume_http_requests",
            "Requests answered.",
            ("method", "route", "status"),
            registry=registry,
        )
        self.seconds = Histogram(
            "relume_http_request_seconds",
            "Time from a request to the end of its answer.",
            ("route",),
            buckets=_BUCKETS,
            registry=registry,
        )
        self.reports = Counter(
            "relume_reconciliations",
            "Reports of controllers that were written down.",
            ("disposition",),
            registry=registry,
        )
        for disposition in Disposition:
            self.reports.labels(disposition.value)
        self.snapshots = Gauge(
            "relume_scheduler_snapshot_timestamp_seconds",
            "When the newest snapshot of the scheduler was taken, since 1970.",
            ("cluster",),
            registry=registry,
        )

    def note_snapshot(self, cluster: str, taken_at: int) -> None:
        """Take the time of a snapshot (UTC microseconds) that was taken in."""
        self.snapshots.labels(cluster).set(taken_at / MICROSECONDS_PER_SECOND)


class CountRequests:
    """ASGI middleware that counts requests by route, never by path."""

    def __init__(self, app: ASGIApp, metrics: ApiMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500  # what the server answers with when nothing was sent
        begin = perf_counter()

        async def note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, note_status)
        finally:
            method = scope["method"] if scope["method"] in _METHODS else "other"
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.requests.labels(method, route, str(status)).inc()
            self._metrics.seconds.labels(route).observe(perf_counter() - begin)
