"""Browsers: a token once, a cookie after that, and nothing that another site could send."""

from __future__ import annotations

from http.cookies import SimpleCookie
from typing import Any

import pytest
from starlette.testclient import TestClient

from advising import ATTEMPT, make_advice
from relume.advice import advice_id
from relume.serve.api import Access, Role, Tokens
from relume.serve.api.sessions import MAX_SESSIONS, SESSION_SECONDS, Sessions
from relume.serve.ledger import Ledger
from serving import OTHERS, TOKEN, Service

LABELS = f"/v1/advice/{advice_id(ATTEMPT, 1)}/labels"
SAID = {"right": True, "who": "on call"}


@pytest.fixture
def closed(ledger: Ledger) -> Service:
    """A service that nobody reads without a token."""
    ledger.put_advice(make_advice())
    tokens = Tokens({Role.CONTROL: (TOKEN,), **OTHERS})
    return Service(ledger, access=Access(tokens=tokens, open_reads=False, secure=True))


def log_in(service: Service, token: str = OTHERS[Role.LABEL][0]) -> tuple[TestClient, Any]:
    client = TestClient(service.app, "https://testserver", raise_server_exceptions=False)
    response = client.post("/v1/session", json={"token": token})
    assert response.status_code == 200
    return client, response


def test_a_login_reads_by_its_cookie_alone(closed: Service) -> None:
    client, response = log_in(closed)
    cookie = SimpleCookie(response.headers["set-cookie"])["relume_session"]
    assert (cookie["httponly"], cookie["secure"], cookie["samesite"]) == (True, True, "strict")
    assert response.json()["roles"] == ["label", "read"]
    assert client.get("/v1/attempts").status_code == 200
    assert client.get("/v1/session").json() == response.json()
    assert OTHERS[Role.LABEL][0] not in response.text + cookie.value


def test_a_change_needs_more_than_the_cookie(closed: Service) -> None:
    client, response = log_in(closed)
    csrf = {"X-Relume-CSRF": response.json()["csrf"]}
    for headers in ({}, {"X-Relume-CSRF": "guessed"}, csrf | {"Origin": "https://evil.example"}):
        assert client.post(LABELS, json=SAID, headers=headers).status_code == 403
    assert closed.ledger.audit() == []
    ours = csrf | {"Origin": "https://testserver"}
    for headers in (csrf, ours):
        assert client.post(LABELS, json=SAID, headers=headers).status_code == 200
    refused = client.put("/v1/controllers/lab", json={}, headers=csrf)
    assert refused.status_code == 403
    assert "label, read" in refused.json()["detail"]


@pytest.mark.parametrize("origin", ["http://[x", "http://[::1", "//[", "null", "http://\uff0f[a]b"])
def test_an_origin_that_is_no_address_is_another_site(closed: Service, origin: str) -> None:
    client, response = log_in(closed)
    headers = {"X-Relume-CSRF": response.json()["csrf"], "Origin": origin.encode()}
    assert client.post(LABELS, json=SAID, headers=list(headers.items())).status_code == 403
    assert closed.ledger.audit() == []


def test_a_logout_and_the_end_of_the_shift_end_it(closed: Service) -> None:
    client, _ = log_in(closed)
    other, _ = log_in(closed)
    cookies = dict(client.cookies)
    assert client.delete("/v1/session").status_code == 204
    again = TestClient(closed.app, "https://testserver", cookies=cookies)
    assert again.get("/v1/attempts").status_code == 401
    assert again.get("/v1/session").json() == {"roles": [], "csrf": None, "expires_at": None}
    assert again.delete("/v1/session").status_code == 204
    assert other.get("/v1/attempts").status_code == 200
    closed.clock.advance(SESSION_SECONDS)
    assert other.get("/v1/attempts").status_code == 401


@pytest.mark.parametrize(
    ("body", "status"),
    [({"token": "not one of ours"}, 401), ({"token": ""}, 422), ({}, 422), ({"token": 1}, 422)],
)
def test_a_wrong_token_begins_nothing(closed: Service, body: object, status: int) -> None:
    response = closed.open.post("/v1/session", json=body)
    assert response.status_code == status
    assert "set-cookie" not in response.headers


def test_who_asks_by_token_is_told_too(closed: Service) -> None:
    assert closed.control.get("/v1/session").json()["roles"] == ["control", "label", "read"]
    headers = {"Cookie": 'relume_session="'}
    assert closed.open.get("/v1/attempts", headers=headers).status_code == 401
    assert closed.open.get("/v1/attempts", headers={"Cookie": "a[=\x01"}).status_code == 401


def test_sessions_are_bounded() -> None:
    sessions = Sessions()
    cookies = [sessions.begin(frozenset({Role.READ}), 0)[0] for _ in range(MAX_SESSIONS + 1)]
    assert sessions.find(cookies[0], 1) is None
    assert sessions.find(cookies[1], 1) is not None
    sessions.end(cookies[1])
    assert sessions.find(cookies[1], 1) is None
