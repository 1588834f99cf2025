"""The same request again, with a key of its own, is done once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from advising import make_advice
from relume.advice import Mode
from relume.serve.ledger import Ledger
from serving import Service

SAID = {"right": False, "who": "on call", "why": "it was away"}
DAY_SECONDS = 24 * 3600


@pytest.fixture
def advice_id(ledger: Ledger) -> str:
    advice = make_advice(mode=Mode.APPROVE, settled=True)
    ledger.put_advice(advice)
    return advice.advice_id


def post(service: Service, path: str, body: Any, key: str | None = "k1") -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    return service.control.post(path, json=body, headers=headers)


def test_a_label_is_written_once_for_a_key(service: Service, advice_id: str) -> None:
    path = f"/v1/advice/{advice_id}/labels"
    first = post(service, path, SAID)
    service.clock.advance(60)
    again = post(service, path, dict(reversed(SAID.items())))
    assert (first.status_code, again.status_code, again.text) == (200, 200, first.text)
    assert len(service.ledger.standing(advice_id).labels) == 1
    assert len(service.ledger.audit()) == 1
    assert len(post(service, path, SAID, "k2").json()["labels"]) == 2
    assert len(post(service, path, SAID, None).json()["labels"]) == 3


def test_a_key_with_another_body_is_refused(service: Service, advice_id: str) -> None:
    path = f"/v1/advice/{advice_id}/labels"
    post(service, path, SAID)
    answer = post(service, path, SAID | {"right": True})
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:relume:problem:key_used")
    assert len(service.ledger.standing(advice_id).labels) == 1


def test_a_key_is_forgotten_after_a_day(service: Service, advice_id: str) -> None:
    path = f"/v1/advice/{advice_id}/labels"
    post(service, path, SAID)
    service.clock.advance(DAY_SECONDS - 1)
    assert len(post(service, path, SAID).json()["labels"]) == 1
    service.clock.advance(1)
    assert len(post(service, path, SAID | {"right": True}).json()["labels"]) == 2


def test_a_key_outlives_a_restart(service: Service, advice_id: str) -> None:
    path = f"/v1/advice/{advice_id}/labels"
    first = post(service, path, SAID)
    other = Service(service.ledger, clock=service.clock)
    assert post(other, path, SAID).text == first.text


def test_an_answer_is_given_once_for_a_key(service: Service, advice_id: str) -> None:
    path, body = f"/v1/advice/{advice_id}/approve", {"who": "on call"}
    first = post(service, path, body)
    assert first.json()["approval"]["answer"] == "approved"
    assert post(service, path, body).text == first.text
    assert post(service, path, {"who": "another"}).status_code == 422
    # The key of one thing says nothing of another.
    assert post(service, f"/v1/advice/{advice_id}/reject", body).status_code == 409


def test_what_failed_may_be_tried_again(service: Service, advice_id: str) -> None:
    path = "/v1/advice/unknown/labels"
    assert [post(service, path, SAID).status_code for _ in range(2)] == [404, 404]
    assert post(service, f"/v1/advice/{advice_id}/labels", SAID).status_code == 200


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "\t"])
def test_a_key_that_is_none_is_refused(service: Service, advice_id: str, key: str) -> None:
    assert post(service, f"/v1/advice/{advice_id}/labels", SAID, key).status_code == 422


def test_the_same_key_at_once_is_one_label(service: Service, advice_id: str) -> None:
    path = f"/v1/advice/{advice_id}/labels"
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: post(service, path, SAID), range(8)))
    assert {one.status_code for one in answers} == {200}
    assert len({one.text for one in answers}) == 1
    assert len(service.ledger.standing(advice_id).labels) == 1


def test_approving_and_rejecting_at_once_has_one_winner(service: Service) -> None:
    for number in range(5):
        advice = make_advice(
            attempt=f"lab/{number + 1}@1767323045.0", mode=Mode.APPROVE, settled=True
        )
        service.ledger.put_advice(advice)

        def say(word: str, name: str = advice.advice_id) -> int:
            path = f"/v1/advice/{name}/{word}"
            return int(post(service, path, {"who": word}, None).status_code)

        with ThreadPoolExecutor(4) as pool:
            codes = list(pool.map(say, ["approve", "reject"] * 2))
        winner = {codes[0], codes[2]}, {codes[1], codes[3]}
        assert sorted(winner, key=sorted) == [{200}, {409}]
        rows = [one for one in service.ledger.audit() if one.about == advice.advice_id]
        assert len(rows) == 1
