"""Lists over HTTP: pages by cursor, filters, nodes, controllers, milestones."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advising import CREATED, EXPIRES, make_advice, make_attempt
from relume.advice import Operation, Scope
from relume.errors import InputError
from relume.models.fleet.nodes import NodeState
from relume.models.lemons.online import Fault
from relume.models.lemons.quarantine import Hold
from relume.serve.api.paging import read, written
from relume.serve.ledger import LabelRecord, Milestone
from relume.serve.live.fleet import FleetState
from relume.verdict import Domain
from serving import Service

LISTS = {
    "/v1/attempts": "attempts",
    "/v1/advice": "advice",
    "/v1/incidents": "incidents",
    "/v1/labels": "labels",
    "/v1/milestones": "milestones",
    "/v1/audit": "audit",
    "/v1/nodes": "nodes",
}


def get(service: Service, path: str, **query: str | int) -> Any:
    response = service.open.get(path, params=query)
    assert response.status_code == 200, response.text
    return response.json()


def named(number: int) -> str:
    return f"lab/{number}@{1767323045 + number}.0"


def fill(service: Service, count: int) -> None:
    """Write so many of everything."""
    for number in range(1, count + 1):
        attempt = named(number)
        advice = make_advice(attempt=attempt)
        service.ledger.put_attempt(make_attempt(attempt=attempt))
        service.ledger.put_advice(advice)
        said = LabelRecord(advice_id=advice.advice_id, right=True, who="me", at=CREATED)
        service.ledger.put_label(said)
        service.ledger.put_milestone(attempt, Milestone.FINISHED, event_time=CREATED)
    fault = Fault(node="n1", at=CREATED, domain=Domain.HARDWARE, words="xid 79")
    state = FleetState(
        nodes={f"n{number}": NodeState(is_out=number == 2) for number in range(1, count + 1)},
        faults=[fault] * 25,
        holds={"n1": Hold(since=CREATED, weight=1.0)},
    )
    service.ledger.put_fleet("lab", msgspec.json.encode(state).decode())


@pytest.mark.parametrize("path", LISTS)
def test_a_list_is_read_page_by_page(service: Service, path: str) -> None:
    fill(service, 5)
    name = LISTS[path]
    whole = get(service, path)
    assert (len(whole[name]), whole["next"]) == (5, None)
    seen, page = [], get(service, path, limit=2)
    while page["next"] is not None:
        seen += page[name]
        page = get(service, path, limit=2, cursor=page["next"])
    assert [*seen, *page[name]] == whole[name]


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("cursor", ["", "x", "é", "W10", "WyJhdWRpdCJd", "x" * 2001])
def test_a_cursor_that_is_none_is_refused(service: Service, path: str, cursor: str) -> None:
    response = service.open.get(path, params={"cursor": cursor})
    assert response.status_code == 422
    assert response.json()["type"] == "urn:relume:problem:input"


def test_a_cursor_of_another_list_is_refused(service: Service) -> None:
    fill(service, 3)
    cursor = get(service, "/v1/incidents", limit=1)["next"]
    assert service.open.get("/v1/advice", params={"cursor": cursor}).status_code == 422


@given(st.text(max_size=50) | st.binary(max_size=50).map(lambda one: one.hex()))
def test_no_text_breaks_the_reading_of_a_cursor(text: str) -> None:
    try:
        key = read("audit", text, (int,))
    except InputError:
        return
    assert key is not None
    assert isinstance(key[0], int)


@settings(max_examples=30)
@given(st.integers(-(2**61), 2**61), st.text(st.characters(codec="utf-8"), max_size=50))
def test_a_cursor_says_where_its_page_ended(number: int, text: str) -> None:
    assert read("advice", written("advice", (number, text)), (int, str)) == (number, text)


@pytest.mark.parametrize(
    "hidden", ['["audit", 9223372036854775808]', '["audit", true]', '["audit", 1.5]', '["audit"]']
)
def test_numbers_that_no_column_holds_are_no_cursor(hidden: str) -> None:
    with pytest.raises(InputError):
        read("audit", urlsafe_b64encode(hidden.encode()).decode(), (int,))
    text = urlsafe_b64encode(b'["nodes", "a", "\\ud800"]').decode()
    with pytest.raises(InputError):
        read("nodes", text, (str, str))


def test_lists_are_chosen_from(service: Service) -> None:
    fill(service, 4)
    begin = (1767323045 + 2) * 1_000_000
    choices: list[tuple[str, dict[str, str | int], int]] = [
        ("/v1/attempts", {"job_id": "3", "cluster": "lab", "active": "true"}, 1),
        ("/v1/attempts", {"since": begin, "until": begin + 1}, 1),
        ("/v1/attempts", {"run": "nothing"}, 0),
        ("/v1/advice", {"attempt": named(2)}, 1),
        ("/v1/advice", {"attempt": "2-0", "until": CREATED}, 0),
        ("/v1/incidents", {"attempt": "2-0", "open": "true"}, 1),
        ("/v1/incidents", {"open": "false"}, 0),
        ("/v1/labels", {"attempt": "2-0"}, 1),
        ("/v1/labels", {"cluster": "other"}, 0),
        ("/v1/milestones", {"attempt": "2-0", "since": CREATED}, 1),
        ("/v1/audit", {"who": "me", "what": "label", "after": 1}, 3),
        ("/v1/audit", {"about": make_advice(attempt=named(1)).advice_id}, 1),
        ("/v1/nodes", {"only": "held"}, 1),
        ("/v1/nodes", {"only": "out", "cluster": "lab"}, 1),
        ("/v1/nodes", {"only": "faulty"}, 1),
        ("/v1/nodes", {"cluster": "other"}, 0),
    ]
    for path, query, count in choices:
        assert len(get(service, path, **query)[LISTS[path]]) == count, (path, query)


def test_the_history_of_an_attempt_holds_every_generation(service: Service) -> None:
    service.ledger.put_advice(make_advice())
    service.ledger.put_advice(
        make_advice(generation=2, created_at=CREATED + 5, decided_at=CREATED + 5)
    )
    found = get(service, "/v1/advice", attempt="lab/123@1767323045.0")["advice"]
    assert [one["generation"] for one in found] == [2, 1]
    assert [one["generation"] for one in get(service, "/v1/advice", active="true")["advice"]] == [2]


def test_a_node_tells_why_it_is_held_and_until_when(service: Service) -> None:
    fill(service, 2)
    hold = make_advice(scope=Scope.NODE, operation=Operation.HOLD, exclude_nodes=("n1",))
    service.ledger.put_advice(hold)
    node = get(service, "/v1/nodes/lab/n1")
    assert (node["held_since"], node["fault_count"], len(node["faults"])) == (CREATED, 25, 20)
    assert (node["advice_id"], node["parole_at"]) == (hold.advice_id, EXPIRES)
    assert node["faults"][0]["words"] == "xid 79"
    assert get(service, "/v1/nodes/lab/n2")["state"]["is_out"]
    for path in ("/v1/nodes/lab/n9", "/v1/nodes/other/n1"):
        assert service.open.get(path).status_code == 404


def test_a_cluster_of_another_version_is_named(service: Service) -> None:
    service.ledger.put_fleet("old", '{"nodes": 7}')
    assert get(service, "/v1/nodes") == {"nodes": [], "unread": ["old"], "next": None}


def test_controllers_tell_whether_they_are_alive(service: Service) -> None:
    assert get(service, "/v1/controllers") == {"controllers": []}
    body = {"holder": "host:1", "ttl_seconds": 30}
    lease = service.control.put("/v1/controllers/lab", json=body).json()
    now = service.clock.now()
    assert get(service, "/v1/controllers")["controllers"] == [lease | {"alive": True}]
    assert lease["seen_at"] == now
    service.clock.advance(30)
    [late] = get(service, "/v1/controllers")["controllers"]
    assert (late["alive"], late["seen_at"]) == (False, now)
