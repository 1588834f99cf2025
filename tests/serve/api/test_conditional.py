"""HEAD, ETag and 304 on everything that is read."""

from __future__ import annotations

from typing import Any

import pytest

from advising import ATTEMPT, make_advice, make_attempt
from relume.serve.api.access import Access
from relume.serve.api.tokens import Role, Tokens
from serving import OTHERS, TOKEN, Service

POLLED = (
    "/v1/attempts",
    f"/v1/attempts/{ATTEMPT}",
    "/v1/advice",
    "/v1/advice?active=true",
    "/v1/incidents",
    "/v1/labels",
    "/v1/nodes",
    "/v1/controllers",
    "/v1/milestones",
    "/v1/audit",
    "/v1/reports/scoreboard",
    "/v1/reports/false-positives",
)
UNTAGGED = ("/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/session")


@pytest.fixture
def filled(service: Service) -> Service:
    service.ledger.put_attempt(make_attempt())
    service.ledger.put_advice(make_advice())
    return service


def ask(service: Service, path: str, tag: str | None = None, method: str = "GET") -> Any:
    headers = {} if tag is None else {"If-None-Match": tag}
    return service.open.request(method, path, headers=headers)


@pytest.mark.parametrize("path", POLLED)
def test_what_is_there_already_is_not_sent_again(filled: Service, path: str) -> None:
    first = ask(filled, path)
    tag = first.headers["etag"]
    assert (first.status_code, first.headers["cache-control"]) == (200, "private, no-cache")
    for known in (tag, f'"x", W/{tag}', "*"):
        again = ask(filled, path, known)
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert "content-length" not in again.headers
    other = ask(filled, path, '"x"')
    assert (other.status_code, other.content) == (200, first.content)
    filled.clock.advance(0.5)
    assert ask(filled, path, tag).status_code == 304


def test_a_change_gives_another_tag(filled: Service) -> None:
    tag = ask(filled, "/v1/advice?active=true").headers["etag"]
    filled.ledger.put_advice(make_advice(attempt="lab/9@1767323045.0"))
    answer = ask(filled, "/v1/advice?active=true", tag)
    assert (answer.status_code, len(answer.json()["advice"])) == (200, 2)


@pytest.mark.parametrize("path", [*POLLED, *UNTAGGED])
def test_head_is_get_without_a_body(filled: Service, path: str) -> None:
    got, head = ask(filled, path), ask(filled, path, method="HEAD")
    assert (head.status_code, head.content) == (got.status_code, b"")
    for name in ("content-type", "etag"):
        assert head.headers.get(name) == got.headers.get(name)
    if path != "/metrics":  # it counts itself
        assert head.headers["content-length"] == str(len(got.content))


def test_head_of_a_stream_ends(filled: Service) -> None:
    head = ask(filled, "/v1/advice/events?after=0", method="HEAD")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"].startswith("text/event-stream")


@pytest.mark.parametrize("path", UNTAGGED)
def test_what_is_no_record_has_no_tag(filled: Service, path: str) -> None:
    assert "etag" not in ask(filled, path).headers
    assert ask(filled, path, "*").status_code == 200


def test_what_is_refused_has_no_tag(filled: Service) -> None:
    missing = ask(filled, "/v1/advice/x", "*")
    assert (missing.status_code, "etag" in missing.headers) == (404, False)
    assert ask(filled, "/v1/advice/x", method="HEAD").content == b""
    assert ask(filled, "/v1/nothing", method="HEAD").status_code == 404
    assert ask(filled, "/v1/scheduler", method="HEAD").status_code == 405


def test_head_needs_the_token_that_get_needs(service: Service) -> None:
    tokens = Tokens({Role.CONTROL: [TOKEN], **OTHERS})
    closed = Service(service.ledger, access=Access(tokens=tokens, open_reads=False))
    assert closed.open.head("/v1/advice").status_code == 401
    assert closed.control.head("/v1/advice").status_code == 200
    assert closed.open.get("/v1/advice", headers={"If-None-Match": "*"}).status_code == 401


def test_requests_by_head_are_counted_by_their_route(filled: Service) -> None:
    ask(filled, f"/v1/attempts/{ATTEMPT}", method="HEAD")
    labels = 'method="HEAD",route="/v1/attempts/{attempt:path}",status="200"'
    assert filled.metric(f"relume_http_requests_total{{{labels}}}") == 1


def test_tags_are_described(service: Service) -> None:
    paths = service.open.get("/openapi.json").json()["paths"]
    for path in POLLED:
        operation = paths[path.partition("?")[0].replace(ATTEMPT, "{attempt}")]["get"]
        assert "304" in operation["responses"], path
        assert "ETag" in operation["responses"]["200"]["headers"]
    for path in ("/v1/session", "/v1/advice/events", "/healthz"):
        assert "304" not in paths[path]["get"]["responses"]
