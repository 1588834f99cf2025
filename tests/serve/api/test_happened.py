"""Incidents, labels and the audit over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from advising import ATTEMPT, CREATED, make_advice
from relume.advice import advice_id
from serving import Service

FIRST = advice_id(ATTEMPT, 1)
LABELS = f"/v1/advice/{FIRST}/labels"
SAID = {"right": False, "who": "on call", "cause": "slow_storage", "why": "it was away"}


def get(service: Service, path: str) -> Any:
    response = service.open.get(path)
    assert response.status_code == 200, response.text
    return response.json()


def advised(service: Service, count: int) -> None:
    for number in range(count):
        attempt = f"lab/{number}@1767323045.0"
        service.ledger.put_advice(make_advice(attempt=attempt, created_at=CREATED - number))


def test_incidents_are_listed_page_by_page(service: Service) -> None:
    advised(service, 5)
    seen, path = [], "/v1/incidents?open=true&cluster=lab&limit=2"
    page = get(service, path)
    while page["next"] is not None:
        seen += page["incidents"]
        page = get(service, f"{path}&cursor={page['next']}")
    seen += page["incidents"]
    assert [one["attempt"] for one in seen] == [f"lab/{n}@1767323045.0" for n in range(5)]
    assert get(service, f"/v1/incidents/{seen[0]['incident_id']}") == seen[0]
    assert len(seen[0]["advice"]) == 1
    assert get(service, "/v1/incidents?open=false") == {"incidents": [], "next": None}


def test_a_label_stands_and_is_audited(service: Service) -> None:
    service.ledger.put_advice(make_advice())
    nothing: dict[str, object] = {"label": None, "by": None, "outcome": None, "labels": []}
    assert get(service, LABELS) == nothing
    response = service.control.post(LABELS, json=SAID)
    assert response.status_code == 200, response.text
    now = service.clock.now()
    label = {"advice_id": FIRST, "at": now, **SAID}
    assert response.json() == nothing | {"label": "false", "by": "on call", "labels": [label]}
    assert get(service, LABELS) == response.json()
    page = get(service, "/v1/audit?limit=1")
    [row] = page["audit"]
    assert (row["who"], row["what"], row["about"]) == ("on call", "label", FIRST)
    assert page["next"] is None
    assert get(service, f"/v1/audit?after={row['number']}") == {"audit": [], "next": None}


def test_labelling_needs_a_token(service: Service) -> None:
    service.ledger.put_advice(make_advice())
    assert service.open.post(LABELS, json=SAID).status_code == 401
    assert service.ledger.audit() == []


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (LABELS, 404),
        ("/v1/incidents/x", 404),
        ("/v1/incidents?cursor=x", 422),
        ("/v1/incidents?limit=0", 422),
        ("/v1/incidents?limit=1001", 422),
        ("/v1/audit?after=-1", 422),
    ],
)
def test_what_is_not_there_is_a_problem(service: Service, path: str, status: int) -> None:
    response = service.open.get(path)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "changes", [{"who": ""}, {"who": "a\x1b[2J"}, {"right": None}, {"why": "x" * 10_001}, {"x": 1}]
)
def test_labels_that_make_no_sense_are_refused(service: Service, changes: dict[str, Any]) -> None:
    service.ledger.put_advice(make_advice())
    assert service.control.post(LABELS, json=SAID | changes).status_code == 422
    assert service.control.post("/v1/advice/x/labels", json=SAID).status_code == 404
    assert get(service, LABELS)["labels"] == []
