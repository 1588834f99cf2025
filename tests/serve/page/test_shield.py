"""Headers that keep pages safe, and the way to the login."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from paging import PERSON, Site
from relume.serve.page.shield import SAFE_HEADERS, Shield

if TYPE_CHECKING:
    from starlette.requests import Request


@pytest.fixture
def client() -> TestClient:
    """What refuses everybody, but at one place that sets a header of its own."""

    async def refuse(_: Request) -> Response:
        return JSONResponse({"detail": "no token"}, 401)

    async def let_in(_: Request) -> Response:
        return PlainTextResponse("in", headers={"Referrer-Policy": "same-origin"})

    routes = [Route("/in", let_in), Route("/{rest:path}", refuse, methods=["GET", "POST"])]
    app = Starlette(routes=routes)
    app.add_middleware(Shield)
    return TestClient(app, follow_redirects=False)


@pytest.mark.parametrize("path", ["/", "/jobs", "/static/page.css", "/nowhere", "/status"])
def test_every_answer_carries_the_headers(site: Site, path: str) -> None:
    headers = site.client.get(path).headers
    assert {name: headers[name] for name in SAFE_HEADERS} == SAFE_HEADERS


def test_nothing_is_let_in_from_elsewhere_and_nothing_runs_that_stands_in_a_page(
    site: Site,
) -> None:
    rules = dict(
        part.split(" ", 1)
        for part in site.client.get("/").headers["Content-Security-Policy"].split("; ")
    )
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert not [one for one in rules.values() if "unsafe" in one or "http" in one or "*" in one]


def test_a_header_of_the_route_stands(client: TestClient) -> None:
    answer = client.get("/in")
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert answer.headers["X-Frame-Options"] == "DENY"


def test_a_person_who_is_not_known_is_sent_to_the_login(client: TestClient) -> None:
    answer = client.get("/jobs/lab/7@1.0?format=html", headers=PERSON)
    assert (answer.status_code, answer.content) == (303, b"")
    assert answer.headers["location"] == "/login?next=/jobs/lab/7%401.0"


@pytest.mark.parametrize(
    ("method", "path", "accept"),
    [
        ("GET", "/jobs", "application/json"),
        ("GET", "/v1/advice", "text/html"),
        ("GET", "/login", "text/html"),
        ("POST", "/jobs", "text/html"),
    ],
)
def test_programs_and_the_login_itself_get_the_refusal(
    client: TestClient, method: str, path: str, accept: str
) -> None:
    answer = client.request(method, path, headers={"Accept": accept})
    assert (answer.status_code, answer.json()) == (401, {"detail": "no token"})


def test_what_is_no_request_passes(site: Site) -> None:
    with site.client as started:  # the lifespan of the app
        assert started.get("/").status_code == 200
