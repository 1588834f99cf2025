"""What anybody on the machine may read: attempts, Advice, health, metrics, the API's own schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from advising import ATTEMPT, EXPIRES, make_advice, make_attempt
from relume.advice import Advice, Operation
from relume.serve.api import PartStatus
from relume.serve.ledger import Landed
from relume.verdict import Health
from serving import Service

SHOWN = {
    "attempt": ATTEMPT,
    "job_id": "123",
    "restart_count": 0,
    "state": "RUNNING",
    "nodes": ["node1", "node2"],
    "run": "opus",
    "opted_in": True,
    "landed": {"bytes": 10, "complete": True, "fsynced": False},
    "first_step": 1,
    "last_step": 9,
    "verdict": None,
}


def get(service: Service, path: str) -> Any:
    response = service.open.get(path)
    assert response.status_code == 200, response.text
    return response.json()


def test_attempts_are_listed(service: Service) -> None:
    landed = Landed(10, complete=True)
    service.ledger.put_attempt(make_attempt(landed=landed, first_step=1, last_step=9))
    over = "lab/7@1767000000.3"
    service.ledger.put_attempt(make_attempt(attempt=over, ended=True))
    assert get(service, "/v1/attempts?active=true") == {"attempts": [SHOWN], "next": None}
    every = get(service, "/v1/attempts")["attempts"]
    assert [one["attempt"] for one in every] == [over, ATTEMPT]
    ended = get(service, "/v1/attempts?active=false")["attempts"]
    assert [(one["job_id"], one["restart_count"]) for one in ended] == [("7", 3)]


@pytest.mark.parametrize("name", [ATTEMPT, quote(ATTEMPT, safe=""), "123-0"])
def test_an_attempt_is_found_by_either_name(service: Service, name: str) -> None:
    landed = Landed(10, complete=True)
    service.ledger.put_attempt(make_attempt(landed=landed, first_step=1, last_step=9))
    assert get(service, f"/v1/attempts/{name}") == SHOWN


def test_a_component_of_a_heterogeneous_job_is_found(service: Service) -> None:
    service.ledger.put_attempt(make_attempt(attempt="lab/12+1@1767323045.0"))
    assert get(service, "/v1/attempts/12+1-0")["job_id"] == "12+1"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/attempts/123-0", 404),
        ("/v1/attempts/lab%2F1@1.0", 404),
        ("/v1/attempts/newest", 422),
        ("/v1/attempts?active=perhaps", 422),
        ("/v1/advice?active=true&attempt=7-0", 422),
        ("/v1/advice?active=true&limit=1", 422),
        ("/v1/advice?attempt=x", 422),
        ("/v1/advice/00000000-0000-0000-0000-000000000000", 404),
        ("/v1/nothing", 404),
        ("/docs", 404),
    ],
)
def test_what_is_not_there_is_a_problem(service: Service, path: str, status: int) -> None:
    response = service.open.get(path)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["status"] == status


def test_active_advice_is_read_back_as_it_was_written(service: Service) -> None:
    advice = make_advice(operation=Operation.RESTART_EXCLUDING, exclude_nodes=("node3",))
    away = make_advice(attempt="far/1@1.0")
    service.ledger.put_advice(advice)
    service.ledger.put_advice(away)
    document = get(service, "/v1/advice?active=true&cluster=lab")
    assert [msgspec.convert(one, Advice) for one in document["advice"]] == [advice]
    assert len(get(service, "/v1/advice?active=true")["advice"]) == 2
    assert msgspec.convert(get(service, f"/v1/advice/{away.advice_id}"), Advice) == away


def test_advice_expires_by_the_clock_of_the_service(service: Service) -> None:
    service.ledger.put_advice(make_advice())
    service.clock.advance((EXPIRES - service.clock.now()) / 1e6)
    assert get(service, "/v1/advice?active=true") == {"advice": [], "next": None}
    assert get(service, f"/v1/advice/{make_advice().advice_id}")["generation"] == 1


# --- health ---


def break_ledger(service: Service, folder: Path) -> None:
    """Put a folder where the database was."""
    service.ledger.close()
    for file in folder.glob("ledger.db*"):
        file.unlink()
    (folder / "ledger.db").mkdir()


def test_a_process_that_answers_is_alive(service: Service, tmp_path: Path) -> None:
    break_ledger(service, tmp_path)
    assert get(service, "/healthz") == {"status": "ok"}


def test_a_ledger_that_can_not_be_read_is_named(service: Service, tmp_path: Path) -> None:
    break_ledger(service, tmp_path)
    response = service.open.get("/readyz")
    assert response.status_code == 503
    assert "unable to open" in response.json()["parts"]["ledger"]["reason"]
    assert response.json()["parts"]["tail"]["status"] == "healthy"
    response = service.open.get("/v1/advice?active=true")
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")


def test_a_server_can_start_and_stop_the_app(service: Service) -> None:
    with service.open as client:
        assert client.get("/healthz").status_code == 200


def test_the_service_is_ready_when_every_part_is(service: Service) -> None:
    healthy = {"status": "healthy", "reason": None}
    assert get(service, "/readyz") == {
        "ready": True,
        "parts": {"ledger": healthy, "tail": healthy},
    }


@pytest.mark.parametrize("status", [Health.UNHEALTHY, Health.UNKNOWN])
def test_the_part_that_fails_is_named(service: Service, status: Health) -> None:
    service.parts["tail"] = PartStatus(status, "no file was read yet")
    response = service.open.get("/readyz")
    assert response.status_code == 503
    assert not response.json()["ready"]
    tail = {"status": status.value, "reason": "no file was read yet"}
    assert response.json()["parts"]["tail"] == tail


def test_metrics_go_by_route_and_not_by_path(service: Service) -> None:
    for path in ("/v1/attempts/1-0", "/v1/attempts/2-0", "/secret/path"):
        service.open.get(path)
    labels = 'method="GET",route="/v1/attempts/{attempt:path}",status="404"'
    assert service.metric(f"relume_http_requests_total{{{labels}}}") == 2
    assert service.metric('relume_http_request_seconds_count{route="none"}') == 1
    response = service.open.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    assert "secret" not in response.text


def test_each_app_has_metrics_of_its_own(service: Service) -> None:
    service.open.get("/healthz")
    other = type(service)(service.ledger)
    assert other.metric('relume_http_request_seconds_count{route="/healthz"}') is None


# --- the schema ---


def test_the_schema_describes_the_contract(service: Service) -> None:
    schema = get(service, "/openapi.json")
    fields = schema["components"]["schemas"]["Advice"]["properties"]
    assert set(fields) == set(Advice.__dataclass_fields__)


def test_errors_are_described_as_they_are(service: Service) -> None:
    text = service.open.get("/openapi.json").text
    assert "HTTPValidationError" not in text
    assert "application/problem+json" in text
