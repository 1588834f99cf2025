"""The pages as routes of the service; what each one shows is a module of its own beside this."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, FastAPI, Query, Request, Response

from relume.clock import Clock
from relume.errors import RelumeError, UnreachableError
from relume.serve.api.ports import Readiness
from relume.serve.api.probe import LEDGER, LedgerProbe
from relume.serve.api.problems import status_of as status_of_error
from relume.serve.ledger import Ledger
from relume.serve.page import advised, assets, goodput, incidents, jobs, nodes, rules
from relume.serve.page.render import Page, answer, environment, wants_json
from relume.serve.page.shield import Shield
from relume.serve.page.status import Status, status_of
from relume.serve.page.timeline import Timelines
from relume.serve.reports.kept import KeptRecord
from relume.verdict import Health

Before = Annotated[str, Query(max_length=36)]
Words = Annotated[str, Query(max_length=255)]


@dataclass(slots=True)
class Dashboard:
    """What the pages are drawn from. They read; what they change goes through the API.

    Attributes
    ----------
    ledger, clock, readiness
        Those of the service.
    lake
        The folder from which courses of attempts are read.
    zone
        IANA name of the zone of clocks that name none.
    """

    ledger: Ledger
    clock: Clock
    readiness: Readiness
    lake: Path
    zone: str = "UTC"
    _timelines: Timelines = field(init=False)
    _kept: KeptRecord = field(init=False)
    _probe: LedgerProbe = field(init=False)

    def __post_init__(self) -> None:
        self._timelines = Timelines(self.lake, self.zone, self.clock)
        self._kept, self._probe = KeptRecord(self.ledger), LedgerProbe(self.ledger)

    def join(self, app: FastAPI) -> None:
        """Add the pages to an app, in front of its gate."""
        self._kept = getattr(app.state, "kept", self._kept)  # one for pages and API
        self._probe = getattr(app.state, "probe", self._probe)
        environment()  # a template that can't be read is told at the start
        assets.assets()
        app.include_router(self.routes())
        app.add_middleware(Shield)

    def routes(self) -> APIRouter:
        """Return the routes; they are no part of the API, so OpenAPI doesn't name them."""
        router = APIRouter(include_in_schema=False)
        add = router.add_api_route
        add("/", self._incidents, methods=["GET"])
        add("/incidents/{incident_id}", self._incident, methods=["GET"])
        add("/jobs", self._jobs, methods=["GET"])
        add("/jobs/{attempt:path}", self._job, methods=["GET"])
        add("/nodes", self._nodes, methods=["GET"])
        add("/advice", self._advice, methods=["GET"])
        add("/advice/{advice_id}", self._one_advice, methods=["GET"])
        add("/scoreboard", self._scoreboard, methods=["GET"])
        add("/goodput", self._goodput, methods=["GET"])
        add("/status", self._status, methods=["GET"])
        add("/login", self._login, methods=["GET"])
        add("/static/{name:path}", self._static, methods=["GET"])
        return router

    def _incidents(self, request: Request, show: Words = "open", before: Before = "") -> Response:
        def draw(now: int) -> Page:
            waiting = advised.count_waiting(self.ledger, now)
            is_open = show != "over"
            found = incidents.incidents_page(
                self.ledger, is_open=is_open, before=before, waiting=waiting
            )
            return Page("incidents", "Incidents", found, {"before": before})

        return self._answer(request, draw)

    def _incident(self, request: Request, incident_id: str) -> Response:
        def draw(_: int) -> Page:
            return Page("incident", "Incident", incidents.incident_page(self.ledger, incident_id))

        return self._answer(request, draw)

    def _jobs(self, request: Request, q: Words = "") -> Response:
        return self._answer(request, lambda _: Page("jobs", "Jobs", jobs.jobs_page(self.ledger, q)))

    def _job(self, request: Request, attempt: str, part: Words = "") -> Response:
        def draw(_: int) -> Page:
            if part != "timeline":
                return Page("job", f"Job {attempt}", jobs.job_page(self.ledger, attempt))
            record = jobs.require_attempt(self.ledger, attempt)
            return Page("timeline", f"Course of {attempt}", self._timelines.of(record))

        return self._answer(request, draw)

    def _nodes(self, request: Request) -> Response:
        def draw(now: int) -> Page:
            return Page("nodes", "Nodes", nodes.nodes_page(self.ledger, now))

        return self._answer(request, draw)

    def _advice(self, request: Request) -> Response:
        def draw(now: int) -> Page:
            return Page("advice", "Advice", advised.advice_page(self.ledger, now))

        return self._answer(request, draw)

    def _one_advice(self, request: Request, advice_id: str) -> Response:
        def draw(now: int) -> Page:
            return Page("one_advice", "Advice", advised.one_advice(self.ledger, advice_id, now))

        return self._answer(request, draw)

    def _scoreboard(self, request: Request, days: int = 30) -> Response:
        def draw(now: int) -> Page:
            return Page("scoreboard", "Scoreboard", rules.rules_page(self._kept, now, days))

        return self._answer(request, draw)

    def _goodput(self, request: Request, days: int = 7) -> Response:
        def draw(now: int) -> Page:
            return Page("goodput", "Goodput", goodput.goodput_page(self.ledger, now, days))

        return self._answer(request, draw)

    def _status(self, request: Request) -> Response:
        status = self._ask()
        if wants_json(request):
            return answer(request, Page("status", "Status", status), status)
        text = environment().get_template("status.html").render(status=status)
        return Response(text, media_type="text/html", headers={"Cache-Control": "no-store"})

    def _login(self, request: Request) -> Response:
        return answer(request, Page("login", "Log in", {}), self._ask())

    def _static(self, name: str, v: Words = "") -> Response:
        return assets.answer(name, v)

    def _ask(self) -> Status:
        return status_of(self._probe, self.readiness, self.clock.now())

    @staticmethod
    def _require_ledger(status: Status) -> None:
        """Don't draw from a ledger that gives no sign of life: browsers would wait, all of them."""
        ledger = status.parts[LEDGER]
        if ledger.status is not Health.HEALTHY:
            raise UnreachableError("ledger", found=ledger.reason or ledger.status.value)

    def _answer(self, request: Request, draw: Callable[[int], Page]) -> Response:
        """Draw a page; what can't be drawn is said on a page, too."""
        status = self._ask()
        try:
            self._require_ledger(status)
            news = self.ledger.last_news()  # before it is drawn: nothing falls between
            return answer(request, draw(status.at), status, news=news)
        except RelumeError as error:
            code = status_of_error(error)
            page = Page("error", code.phrase, {"status": code.value, "detail": str(error)})
            return answer(request, page, status, code=code)
