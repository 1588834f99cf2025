"""Which role may ask for what, over HTTP and in the table behind it."""

from __future__ import annotations

import pytest

from relume.serve.api import Access, Role, Tokens
from relume.serve.api.access import MAX_BODY_BYTES, MAX_PUSH_BYTES, MAX_WORDS_BYTES, rule_of
from relume.serve.api.gate import MAX_TARGET_BYTES
from relume.serve.ledger import Ledger
from serving import OTHERS, TOKEN, Service

NOBODY: frozenset[Role] = frozenset()
EVERY: dict[Role, tuple[str, ...]] = {Role.CONTROL: (TOKEN,), **OTHERS}
ASKED = (
    ("GET", "/healthz", None),
    ("GET", "/static/page.css", None),
    ("GET", "/login", None),
    ("POST", "/v1/session", None),
    ("DELETE", "/v1/session", None),
    ("GET", "/readyz", Role.READ),
    ("GET", "/metrics", Role.READ),
    ("GET", "/v1/advice", Role.READ),
    ("HEAD", "/v1/attempts/x", Role.READ),
    ("OPTIONS", "/v1/advice", Role.READ),
    ("GET", "/loginx", Role.READ),
    ("POST", "/loki/api/v1/push", Role.INGEST),
    ("POST", "/v1/logs", Role.INGEST),
    ("POST", "/api/v1/write", Role.INGEST),
    ("POST", "/v1/events", Role.INGEST),
    ("POST", "/v1/dumps/x", Role.INGEST),
    ("PUT", "/v1/events", Role.CONTROL),
    ("POST", "/v1/eventsx", Role.CONTROL),
    ("POST", "/v1/advice/x/labels", Role.LABEL),
    ("POST", "/v1/advice/x/approve", Role.CONTROL),
    ("PUT", "/v1/advice/x/labels", Role.CONTROL),
    ("POST", "/v1/scheduler", Role.CONTROL),
    ("BREW", "/v1/advice", Role.CONTROL),
)


@pytest.mark.parametrize(("method", "path", "role"), ASKED)
def test_each_route_has_its_role(method: str, path: str, role: Role | None) -> None:
    assert rule_of(method, path).role is role


def test_each_class_of_routes_has_its_limit() -> None:
    limits = [
        ("POST", "/v1/scheduler", MAX_BODY_BYTES),
        ("POST", "/v1/dumps", MAX_BODY_BYTES),
        ("POST", "/loki/api/v1/push", MAX_PUSH_BYTES),
        ("POST", "/v1/advice/x/labels", MAX_WORDS_BYTES),
        ("PUT", "/v1/controllers/x", MAX_WORDS_BYTES),
    ]
    assert [rule_of(method, path).max_body_bytes for method, path, _ in limits] == [
        limit for _, _, limit in limits
    ]


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        (Role.INGEST, {Role.INGEST}),
        (Role.READ, {Role.READ}),
        (Role.LABEL, {Role.LABEL, Role.READ}),
        (Role.CONTROL, {Role.CONTROL, Role.LABEL, Role.READ}),
    ],
)
def test_a_token_opens_what_its_role_allows_and_nothing_else(
    ledger: Ledger, role: Role, allowed: set[Role]
) -> None:
    service = Service(ledger, access=Access(tokens=Tokens(EVERY), open_reads=False))
    client = service.bearing(EVERY[role][0])
    for method, path, asked in ASKED:
        response = client.request(method, path, json={})
        assert (response.status_code == 403) is (asked is not None and asked not in allowed)
        if response.status_code == 403:
            assert method == "HEAD" or f"role {asked}" in response.json()["detail"]


def test_reading_is_open_only_where_nobody_asks_for_a_token(ledger: Ledger) -> None:
    for open_reads, status in ((True, 200), (False, 401)):
        access = Access(tokens=Tokens(EVERY), open_reads=open_reads)
        service = Service(ledger, access=access)
        assert service.open.get("/v1/attempts").status_code == status
        assert service.open.get("/healthz").status_code == 200
        wrong = service.bearing("a token of nobody at all")
        assert wrong.get("/v1/attempts").status_code == 401
        assert wrong.get("/healthz").status_code == 200
        assert service.bearing(OTHERS[Role.READ][0]).get("/v1/attempts").status_code == 200


@pytest.mark.parametrize(
    ("host", "is_known"),
    [
        ("localhost", True),
        ("LOCALHOST:8470", True),
        ("127.0.0.1:8470", True),
        ("127.0.0.53", True),
        ("[::1]:8470", True),
        ("relume.example", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("10.0.0.1", False),
        ("", False),
    ],
)
def test_a_service_on_loopback_answers_to_its_own_names_only(
    ledger: Ledger, host: str, *, is_known: bool
) -> None:
    names = frozenset({"relume.example"})
    service = Service(ledger, access=Access(tokens=Tokens(EVERY), host_names=names))
    response = service.open.get("/v1/attempts", headers={"Host": host})
    assert response.status_code == (200 if is_known else 421)


def test_endless_addresses_and_headers_are_refused(service: Service) -> None:
    fits = "x" * (MAX_TARGET_BYTES - len("/v1/attempts") - 2)
    assert service.open.get(f"/v1/attempts?{fits}").status_code == 200
    for long in (f"/v1/attempts?{fits}xxx", f"/v1/{fits}{fits}"):
        response = service.open.get(long)
        assert response.status_code == 414
        assert response.headers["content-type"] == "application/problem+json"
    assert service.open.get("/healthz", headers={"X-A": "x" * 40_000}).status_code == 431
    many = [(f"X-{number}", "1") for number in range(101)]
    assert service.open.get("/healthz", headers=many).status_code == 431


def test_the_document_says_who_may(service: Service) -> None:
    document = service.open.get("/openapi.json").json()
    assert document == service.open.get("/openapi.json").json()
    assert set(document["components"]["securitySchemes"]) == set(Role)
    label = document["paths"]["/v1/advice/{advice_id}/labels"]
    assert label["post"]["security"] == [{"label": []}]
    assert label["get"]["security"] == [{}, {"read": []}]
    assert {"401", "403", "413", "414", "421", "431"} <= label["post"]["responses"].keys()
    assert "security" not in document["paths"]["/healthz"]["get"]
