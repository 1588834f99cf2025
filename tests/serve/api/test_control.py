"""What a controller tells the service: lease, snapshots, reports, milestones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from advising import ATTEMPT, CREATED, make_advice
from relume.advice import Disposition, Reconciliation, advice_id
from relume.errors import InputError, RuleError, UnreachableError
from relume.serve.ledger import Milestone, MilestoneRecord
from serving import Service

FIRST = advice_id(ATTEMPT, 1)
CONVERGED = {"disposition": "CONVERGED", "reason": None, "observed_generation": 1}
JOB: dict[str, Any] = {
    "job_id": "123_4",
    "raw_job_id": 127,
    "state": "RUNNING",
    "reason": None,
    "user": "ada",
    "partition": "gpu",
    "name": "train",
    "comment": '{"relume": {"run": "opus"}}',
    "admin_comment": None,
    "submit_time": 1_767_323_045_000_000,
    "start_time": 1_767_323_046_000_000,
    "end_time": None,
    "restart_count": 0,
    "nodes": ["node1", "node2"],
    "exclude_nodes": [],
    "required_nodes": [],
    "exit_code": None,
    "signal": None,
    "std_out": "/home/ada/out",
    "std_err": None,
    "work_dir": "/home/ada",
    "time_limit_seconds": 3600,
    "requeue": True,
    "priority": 10,
    "num_nodes": 2,
}
NODE = {"node": "node1", "state": "ALLOCATED", "reason": None, "partitions": ["gpu"]}


def lease(service: Service, holder: str = "a", ttl_seconds: float = 30) -> Any:
    body = {"holder": holder, "ttl_seconds": ttl_seconds}
    return service.control.put("/v1/controllers/lab", json=body)


def report(service: Service, token: object, name: str = FIRST, **changes: Any) -> Any:
    return service.control.put(
        f"/v1/advice/{name}/reconciliation",
        json=CONVERGED | changes,
        headers={"X-Relume-Fencing-Token": str(token)},
    )


def problem(response: Any) -> tuple[int, str]:
    """Status and end of the type of an answer that must be a problem."""
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body["status"] == response.status_code
    assert body.keys() == {"type", "title", "status", "detail"}
    return response.status_code, body["type"].removeprefix("urn:relume:problem:")


# --- leases ---


def test_a_controller_takes_and_renews_its_lease(service: Service) -> None:
    response = lease(service)
    expires_at = service.clock.now() + 30_000_000
    given = {"cluster": "lab", "holder": "a", "fencing_token": 1, "expires_at": expires_at}
    given["seen_at"] = service.clock.now()
    assert (response.status_code, response.json()) == (200, given)
    service.clock.advance(20)
    later = {"expires_at": expires_at + 20_000_000, "seen_at": service.clock.now()}
    assert lease(service).json() == given | later


def test_a_second_controller_waits_until_the_lease_has_run_out(service: Service) -> None:
    lease(service)
    assert problem(lease(service, "b")) == (409, "lease_held")
    service.clock.advance(30)
    assert lease(service, "b").json()["fencing_token"] == 2


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"holder": "a"},
        {"holder": "", "ttl_seconds": 1},
        {"holder": "a\nb", "ttl_seconds": 1},
        {"holder": "a" * 201, "ttl_seconds": 1},
        {"holder": "a", "ttl_seconds": 0},
        {"holder": "a", "ttl_seconds": 3601},
        {"holder": "a", "ttl_seconds": "soon"},
        {"holder": "a", "ttl_seconds": 1, "force": True},
        [],
        "a",
    ],
)
def test_a_lease_that_makes_no_sense_is_refused(service: Service, body: object) -> None:
    response = service.control.put("/v1/controllers/lab", json=body)
    assert problem(response) == (422, "input")
    assert service.ledger.get_lease("lab") is None


@pytest.mark.parametrize("cluster", ["a@b", "a%20b", "a" * 201])
def test_a_cluster_has_a_name_that_attempts_can_have(service: Service, cluster: str) -> None:
    body = {"holder": "a", "ttl_seconds": 1}
    assert problem(service.control.put(f"/v1/controllers/{cluster}", json=body)) == (422, "input")


# --- reports ---


def test_a_report_is_written_down_and_counted(service: Service) -> None:
    service.ledger.put_advice(make_advice())
    lease(service)
    response = report(service, 1)
    assert response.status_code == 200
    assert response.json()["reconciliation"] == CONVERGED
    found = service.ledger.get(FIRST)
    assert found is not None
    assert found.reconciliation == Reconciliation(Disposition.CONVERGED, None, 1)
    assert service.metric('relume_reconciliations_total{disposition="CONVERGED"}') == 1
    assert service.open.get("/v1/advice?active=true").json()["advice"] == []


def test_a_report_with_an_old_token_is_refused(service: Service) -> None:
    service.ledger.put_advice(make_advice())
    lease(service)
    service.clock.advance(31)
    lease(service, "b")
    assert problem(report(service, 1)) == (409, "stale_fencing_token")
    assert service.ledger.get(FIRST) == make_advice()
    assert service.metric('relume_reconciliations_total{disposition="CONVERGED"}') == 0


def test_a_report_about_an_older_generation_is_ignored(service: Service) -> None:
    service.ledger.put_advice(make_advice())
    service.ledger.put_advice(make_advice(generation=2))
    lease(service)
    assert problem(report(service, 1)) == (409, "superseded")
    assert problem(report(service, 1, advice_id(ATTEMPT, 2))) == (409, "superseded")
    assert service.ledger.active(service.clock.now()) == [make_advice(generation=2)]


def test_another_end_is_a_conflict(service: Service) -> None:
    service.ledger.put_advice(make_advice())
    lease(service)
    report(service, 1)
    response = report(service, 1, disposition="ABANDONED", reason="too late")
    assert problem(response) == (409, "final_disposition")


def test_a_report_about_unknown_advice_is_not_found(service: Service) -> None:
    lease(service)
    assert problem(report(service, 1)) == (404, "not_found")


@pytest.mark.parametrize(
    ("token", "changes"),
    [
        ("", {}),
        ("one", {}),
        (0, {}),
        (-1, {}),
        (1, {"disposition": "DONE"}),
        (1, {"disposition": "ABANDONED"}),
        (1, {"observed_generation": None}),
        (1, {"observed_generation": 0}),
        (1, {"observed_generation": 2}),
        (1, {"reason": "x" * 10_001}),
        (1, {"operation": "STOP"}),
    ],
)
def test_a_report_that_makes_no_sense_is_refused(
    service: Service, token: object, changes: dict[str, Any]
) -> None:
    service.ledger.put_advice(make_advice())
    lease(service)
    assert problem(report(service, token, **changes)) == (422, "input")
    assert service.ledger.get(FIRST) == make_advice()


def test_a_report_without_a_token_says_which_header_is_missing(service: Service) -> None:
    response = service.control.put(f"/v1/advice/{FIRST}/reconciliation", json=CONVERGED)
    assert "X-Relume-Fencing-Token" in response.json()["detail"]


# --- snapshots ---


def test_a_snapshot_reaches_the_runner_whole_and_names_the_attempts(service: Service) -> None:
    body = {"cluster": "lab", "taken_at": CREATED, "jobs": [JOB], "nodes": [NODE]}
    response = service.control.post("/v1/scheduler", json=body)
    assert response.status_code == 200
    assert response.json() == {"attempts": {"123_4": "lab/123_4@1.0"}}
    (snapshot,) = service.snapshots
    assert (snapshot.cluster, snapshot.taken_at) == ("lab", CREATED)
    (job,), (node,) = snapshot.jobs, snapshot.nodes
    lists = {"nodes", "exclude_nodes", "required_nodes"}
    expected = {key: tuple(value) if key in lists else value for key, value in JOB.items()}
    assert {name: getattr(job, name) for name in JOB} == expected
    assert (node.node, node.partitions) == ("node1", ("gpu",))
    name = 'relume_scheduler_snapshot_timestamp_seconds{cluster="lab"}'
    assert service.metric(name) == CREATED / 1e6


def test_a_field_of_a_newer_controller_is_ignored(service: Service) -> None:
    job = JOB | {"colour": "red"}
    body = {"cluster": "lab", "taken_at": 1, "jobs": [job], "nodes": [], "more": 1}
    assert service.control.post("/v1/scheduler", json=body).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {"cluster": "lab", "taken_at": 1, "jobs": []},
        {"cluster": "lab", "taken_at": None, "jobs": [], "nodes": []},
        {"cluster": "lab", "taken_at": 1, "jobs": [{"job_id": "1"}], "nodes": []},
        {"cluster": "lab", "taken_at": 1, "jobs": [JOB | {"nodes": None}], "nodes": []},
    ],
)
def test_a_snapshot_that_lacks_something_does_not_reach_the_runner(
    service: Service, body: object
) -> None:
    assert problem(service.control.post("/v1/scheduler", json=body)) == (422, "input")
    assert service.snapshots == []


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (InputError("cluster lab", expected="another"), (422, "input")),
        (UnreachableError("lake", after_seconds=1.2), (503, "unreachable")),
        (RuleError("rule x"), (500, "about:blank")),
        (ZeroDivisionError("a secret"), (500, "about:blank")),
    ],
)
def test_an_error_of_the_runner_is_the_answer(
    service: Service, failure: Exception, expected: tuple[int, str]
) -> None:
    service.failure = failure
    body = {"cluster": "lab", "taken_at": 1, "jobs": [], "nodes": []}
    response = service.control.post("/v1/scheduler", json=body)
    assert problem(response) == expected
    assert response.headers.get("retry-after") == ("2" if response.status_code == 503 else None)
    assert "secret" not in response.text


# --- milestones ---


def test_a_milestone_is_written_down_once(service: Service) -> None:
    service.ledger.put_advice(make_advice())
    body = {"attempt": ATTEMPT, "advice_id": FIRST, "milestone": "finished", "event_time": 7}
    for event_time in (7, 8):
        response = service.control.post("/v1/milestones", json=body | {"event_time": event_time})
        assert (response.status_code, response.content) == (204, b"")
    assert service.ledger.milestones(ATTEMPT) == [
        MilestoneRecord(ATTEMPT, Milestone.FINISHED, FIRST, 7)
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"milestone": "won"}, (422, "input")),
        ({"attempt": "123-0"}, (422, "input")),
        ({"event_time": -1}, (422, "input")),
        ({"event_time": 2**63}, (422, "input")),
        ({"advice_id": FIRST}, (404, "not_found")),
    ],
)
def test_a_milestone_that_makes_no_sense_is_refused(
    service: Service, changes: dict[str, object], expected: tuple[int, str]
) -> None:
    body = {"attempt": ATTEMPT, "milestone": "finished", "event_time": 7}
    assert problem(service.control.post("/v1/milestones", json=body | changes)) == expected
    assert service.ledger.milestones(ATTEMPT) == []


@pytest.mark.parametrize("taken_at", [-1, 2**62, 2**70])
def test_a_snapshot_of_no_time_is_refused(service: Service, taken_at: int) -> None:
    body = {"cluster": "lab", "taken_at": taken_at, "jobs": [], "nodes": []}
    assert problem(service.control.post("/v1/scheduler", json=body)) == (422, "input")
    assert service.snapshots == []


@pytest.mark.parametrize("where", ["user", "comment", "std_out"])
def test_a_snapshot_with_half_a_letter_is_refused(service: Service, where: str) -> None:
    text = json.dumps({"cluster": "lab", "taken_at": 1, "jobs": [JOB | {where: "?"}], "nodes": []})
    body = text.replace('"?"', '"\\ud800"')
    headers = {"Content-Type": "application/json"}
    answer = service.control.post("/v1/scheduler", content=body, headers=headers)
    assert problem(answer) == (422, "input")
    assert service.snapshots == []
