"""Approving and rejecting over HTTP, and by the command line through it."""

from __future__ import annotations

from typing import Any

import pytest

from advising import ATTEMPT, EXPIRES, make_advice
from relume.advice import Mode, advice_id
from relume.serve.api import Role
from serving import OTHERS, Service

FIRST = advice_id(ATTEMPT, 1)
SAID = {"who": "on call", "why": "it is the node"}


@pytest.fixture
def asking(service: Service) -> Service:
    """A service with one Advice that waits for a person."""
    service.ledger.put_advice(make_advice(mode=Mode.APPROVE, decided_at=None))
    return service


def answer(service: Service, verb: str, body: object = SAID, name: str = FIRST) -> Any:
    return service.control.post(f"/v1/advice/{name}/{verb}", json=body)


def test_an_approved_advice_says_so_to_the_controller(asking: Service) -> None:
    response = answer(asking, "approve")
    assert response.status_code == 200
    at = asking.clock.now()
    approval = SAID | {"answer": "approved", "at": at}
    assert (response.json()["approval"], response.json()["decided_at"]) == (approval, at)
    [active] = asking.open.get("/v1/advice?active=true").json()["advice"]
    assert active["approval"] == approval
    assert answer(asking, "approve", {"who": "another"}).json()["approval"] == approval
    refused = answer(asking, "reject")
    assert refused.status_code == 409
    assert refused.json()["type"] == "urn:relume:problem:not_waiting"
    [row] = asking.open.get("/v1/audit").json()["audit"]
    assert (row["who"], row["what"], row["about"]) == ("on call", "approved", FIRST)


def test_a_rejected_advice_is_active_no_more(asking: Service) -> None:
    assert answer(asking, "reject").json()["approval"]["answer"] == "rejected"
    assert asking.open.get("/v1/advice?active=true").json()["advice"] == []
    shown = asking.open.get(f"/v1/advice/{FIRST}").json()
    assert shown["approval"]["who"] == "on call"


def test_too_late_is_a_conflict(asking: Service) -> None:
    asking.clock.advance((EXPIRES - asking.clock.now()) / 1e6)
    assert answer(asking, "approve").status_code == 409


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_only_role_control_answers(asking: Service, verb: str) -> None:
    path = f"/v1/advice/{FIRST}/{verb}"
    assert asking.open.post(path, json=SAID).status_code == 401
    for role in (Role.INGEST, Role.READ, Role.LABEL):
        assert asking.bearing(OTHERS[role][0]).post(path, json=SAID).status_code == 403
    assert asking.ledger.audit() == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"who": ""}, 422),
        ({"who": "a\u200b"}, 422),
        ({"who": "a", "why": "x" * 10_001}, 422),
        ({"who": "a", "yes": True}, 422),
    ],
)
def test_answers_that_make_no_sense_are_refused(asking: Service, body: object, status: int) -> None:
    assert answer(asking, "approve", body).status_code == status
    assert answer(asking, "approve", name="x").status_code == 404
    assert asking.ledger.audit() == []
