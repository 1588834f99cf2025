"""Every route with the token of every role, and with none: as the table in `docs/api.md` says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from advising import ATTEMPT, make_advice, make_attempt
from relume.serve.api import Access, Role, Tokens
from relume.serve.ledger import Ledger
from serving import OTHERS, TOKEN, Service

ENDLESS = "/v1/advice/events"
ARROW = "application/vnd.apache.arrow.stream"
BEARERS: dict[Role, str] = {
    Role.CONTROL: TOKEN,
    **{role: those[0] for role, those in OTHERS.items()},
}
NAMES = {
    "{advice_id}": make_advice().advice_id,
    "{attempt}": ATTEMPT,
    "{incident_id}": "none",
    "{cluster}": "lab",
    "{node}": "n1",
}


def table(repository: Path) -> dict[tuple[str, str], Role | None]:
    """The role of each route, by the page."""
    page = (repository / "docs/api.md").read_text().split("## All routes")[1]
    rows = re.findall(r"^\| `(\w+) (\S+)` \| (\w+) \|$", page, re.MULTILINE)
    return {
        (method, path): None if role == "anybody" else Role(role) for method, path, role in rows
    }


def ask(service: Service, method: str, path: str, token: str | None) -> Any:
    """Ask with a body that no route can do anything with."""
    for name, one in NAMES.items():
        path = path.replace(name, one)
    headers = {"Content-Type": ARROW if path == "/v1/events" else "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    if method == "GET":
        # A stream has no end; HEAD needs what GET needs.
        return service.open.request("HEAD" if path == ENDLESS else method, path, headers=headers)
    return service.open.request(method, path, content=b"\xff", headers=headers)


@pytest.fixture
def closed(ledger: Ledger) -> Service:
    """A service whose reading needs a token."""
    tokens = Tokens({role: [token] for role, token in BEARERS.items()})
    ledger.put_advice(make_advice())
    ledger.put_attempt(make_attempt())
    return Service(ledger, access=Access(tokens=tokens, open_reads=False))


def test_the_page_has_a_row_for_every_route(repository: Path, service: Service) -> None:
    paths = service.open.get("/openapi.json").json()["paths"]
    every = {(method.upper(), path) for path in paths for method in paths[path]}
    assert table(repository).keys() == every


@pytest.mark.parametrize("bearer", [None, *Role])
def test_each_role_may_what_the_page_says(
    repository: Path, closed: Service, bearer: Role | None
) -> None:
    held = frozenset[Role]() if bearer is None else bearer.allows
    for (method, path), role in table(repository).items():
        answer = ask(closed, method, path, None if bearer is None else BEARERS[bearer])
        if role is None or role in held:
            assert answer.status_code not in {403, 500}, (method, path)
            # Login says so itself, of the token in its body.
            assert answer.status_code != 401 or path == "/v1/session", (method, path)
        else:
            assert answer.status_code == (401 if bearer is None else 403), (method, path)
    assert closed.snapshots == []
    assert closed.ledger.audit() == []


def test_an_unknown_token_may_nothing(repository: Path, closed: Service) -> None:
    for (method, path), role in table(repository).items():
        answer = ask(closed, method, path, "a token that nobody gave out")
        assert answer.status_code == 401 or role is None, (method, path)


def test_without_a_read_token_reading_is_open_and_nothing_else(
    repository: Path, ledger: Ledger
) -> None:
    service = Service(ledger, access=Access(tokens=Tokens({}), open_reads=True))
    for (method, path), role in table(repository).items():
        answer = ask(service, method, path, None)
        is_open = role in {None, Role.READ} and path != "/v1/session"
        assert (answer.status_code != 401) is is_open or path == "/v1/session", (method, path)
