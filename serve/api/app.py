"""The app that an ASGI server runs."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from relume import __version__
from relume.clock import Clock
from relume.features.metrics.names import load_names
from relume.ingest.metrics.raw import Naming
from relume.serve.api.access import Access
from relume.serve.api.answering import answer_routes
from relume.serve.api.conditional import Conditional
from relume.serve.api.control import control_routes
from relume.serve.api.document import describe
from relume.serve.api.feed import NewsFeed
from relume.serve.api.fleet import fleet_routes
from relume.serve.api.gate import Gate
from relume.serve.api.happened import happened_routes
from relume.serve.api.login import login_routes
from relume.serve.api.metrics import ApiMetrics, CountRequests
from relume.serve.api.ports import AttemptsView, OnScheduler, Readiness
from relume.serve.api.probe import LedgerProbe
from relume.serve.api.problems import answer_with_problems
from relume.serve.api.push import Door, push_routes
from relume.serve.api.reading import advice_routes, attempt_routes, health_routes
from relume.serve.api.reports import report_routes
from relume.serve.api.state import ServiceState
from relume.serve.api.stream import stream_routes
from relume.serve.api.waiting import ActiveAdvice
from relume.serve.ledger import Ledger
from relume.serve.reports.kept import KeptRecord


def create_app(  # noqa: PLR0913 - the doors of the runner, each by its name
    ledger: Ledger,
    *,
    clock: Clock,
    access: Access,
    readiness: Readiness,
    on_scheduler: OnScheduler,
    attempts_view: AttemptsView,
    registry: CollectorRegistry | None = None,
    door: Door | None = None,
    naming: Naming | None = None,
    pages: Callable[[FastAPI], None] = lambda _: None,
) -> FastAPI:
    """Return the app of the service.

    Parameters
    ----------
    ledger
        Which stays open as long as the app runs; the caller closes it.
    clock
        What says which leases and Advice have run out.
    access
        Who is let in; without tokens nobody may change anything.
    readiness
        How the parts behind the app are; the ledger's own part is there without it.
    on_scheduler
        What takes in snapshots and assigns attempts.
    attempts_view
        What adds to an attempt what only the runner knows.
    registry
        Where the metrics go, and what ``/metrics`` shows; a new one when null.
    door
        What takes in what is pushed; without one nothing can be.
    naming
        What series of Prometheus are to Relume; the names that come with it when null.
    pages
        What adds the pages for browsers (`relume.serve.page.Dashboard.join`); none by default.
    """
    metrics = ApiMetrics(registry or CollectorRegistry())
    probe = LedgerProbe(ledger)
    metrics.registry.register(ServiceState(ledger, readiness, probe))
    app = FastAPI(
        title="Relume",
        version=__version__,
        # The pages for browsers would load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
    )
    answer_with_problems(app)
    app.include_router(health_routes(probe, readiness, metrics))
    app.include_router(attempt_routes(ledger, attempts_view))
    feed = NewsFeed(ledger)
    app.state.feed = feed  # whoever ends the server ends its streams
    app.include_router(stream_routes(feed))
    app.include_router(advice_routes(ledger, ActiveAdvice(ledger, clock, feed)))
    app.include_router(happened_routes(ledger, clock))
    app.include_router(fleet_routes(ledger, clock))
    app.state.kept, app.state.probe = KeptRecord(ledger), probe
    app.include_router(report_routes(ledger, clock, app.state.kept))
    app.include_router(answer_routes(ledger, clock))
    app.include_router(control_routes(ledger, clock, on_scheduler, metrics))
    if door is not None:
        app.include_router(push_routes(door, naming or load_names()))
    app.include_router(login_routes(access, clock))
    describe(app)
    app.add_middleware(Conditional)
    app.add_middleware(Gate, access=access, clock=clock)
    pages(app)  # outside of the gate: they show the way to the login
    app.add_middleware(CountRequests, metrics=metrics)  # added last: sees refusals too
    return app
