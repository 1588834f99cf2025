"""The client of the service: the contract on the wire, and every way in which it breaks."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import msgspec
import pytest

from controlling import KEY, NOW, advise, make_job, make_nodes
from relume.advice import Disposition, Operation, Reconciliation, advice_id
from relume.clock import ManualClock
from relume.controller import service as module
from relume.controller.service import LostLeaseError, Refusal, ServiceClient
from relume.errors import ConfigError, InputError, UnreachableError
from relume.slurm.job import SlurmSnapshot
from tiny_service import TOKEN, TinyService

SNAPSHOT = SlurmSnapshot(cluster="lab", taken_at=NOW, jobs=(make_job(),), nodes=make_nodes(1))


@pytest.fixture
def service() -> TinyService:
    return TinyService(ManualClock(NOW))


@pytest.fixture
def client(service: TinyService) -> Iterator[ServiceClient]:
    client = ServiceClient("http://s", TOKEN, transport=httpx2.WSGITransport(app=service))
    yield client
    client.close()


Answers = Callable[[httpx2.Request], httpx2.Response]


def answering(answer: Answers) -> ServiceClient:
    """A client whose service is one function of the request."""
    return ServiceClient("http://s", transport=httpx2.MockTransport(answer))


def test_the_lease(client: ServiceClient, service: TinyService) -> None:
    assert client.take_lease("lab", "one", 30) == 1
    assert client.take_lease("lab", "one", 30) == 1
    assert client.take_lease("lab", "two", 30) is None
    service.clock.advance(31)  # type: ignore[attr-defined] # a manual one
    assert client.take_lease("lab", "two", 30) == 2


def test_the_snapshot(client: ServiceClient, service: TinyService) -> None:
    assert client.report_scheduler(SNAPSHOT) == {"7": f"{KEY}.0"}
    (sent,) = service.snapshots
    assert sent == json.loads(msgspec.json.encode(SNAPSHOT))
    assert sent["jobs"][0]["nodes"] == ["node1", "node2"]


def test_the_advice(client: ServiceClient, service: TinyService) -> None:
    excluding = advise(Operation.RESTART_EXCLUDING)
    service.advise(advise(settled=False), excluding)
    listing = client.active_advice("lab")
    assert listing.advice == (excluding,)
    assert listing.skipped == ()


def test_one_bad_advice_does_not_hide_the_others() -> None:
    good = msgspec.to_builtins(advise())
    bad = [good | {"operation": "DANCE"}, good | {"confidence": 7}, {"x": 1}, 3]
    client = answering(lambda _: httpx2.Response(200, json={"advice": [*bad, good], "more": 1}))
    listing = client.active_advice("lab")
    assert listing.advice == (advise(),)
    assert len(listing.skipped) == 4
    assert "confidence 7" in listing.skipped[1]


def test_what_landed(client: ServiceClient, service: TinyService) -> None:
    assert client.landed(f"{KEY}.0") is None
    for complete in (False, True):
        service.landed[f"{KEY}.0"] = complete
        assert client.landed(f"{KEY}.0") is complete
    assert service.calls[-1] == f"GET /v1/attempts/{KEY}.0"
    none = answering(lambda _: httpx2.Response(200, json={"landed": None}))
    assert none.landed("x") is None


def test_what_is_not_said_has_not_landed() -> None:
    assert answering(lambda _: httpx2.Response(200, json={"landed": {}})).landed("x") is False


def test_proxies_of_the_environment_are_not_asked(
    service: TinyService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    client = ServiceClient("http://s", TOKEN, transport=httpx2.WSGITransport(app=service))
    assert client.take_lease("lab", "one", 30) == 1
    client.close()


def test_names_are_quoted() -> None:
    paths = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        paths.append(request.url.raw_path)
        return httpx2.Response(404)

    answering(answer).landed("lab/7_1@5.0?x#y")
    assert paths == [b"/v1/attempts/lab%2F7_1%405.0%3Fx%23y"]


def test_reconciliation_is_fenced(client: ServiceClient, service: TinyService) -> None:
    token = client.take_lease("lab", "one", 30) or 0
    service.advise(advise())
    body = msgspec.json.encode(Reconciliation(Disposition.ABANDONED, "why", 2))
    with pytest.raises(LostLeaseError, match="an old fencing token; it is reported when"):
        client.reconcile(advise().advice_id, body, token + 1)
    assert service.reconciled == {}
    assert client.reconcile(advise().advice_id, body, token) is None
    assert service.reconciled[advise().advice_id]["reason"] == "why"
    again = client.reconcile(advise().advice_id, body, token)
    assert again == Refusal("409: that is final", final=True)
    assert client.reconcile("other", body, token) == Refusal("404: Not Found", final=False)


@pytest.mark.parametrize("status", [400, 404, 413, 422, 500])
def test_what_is_refused_for_no_reason_of_ours_is_not_final(status: int) -> None:
    client = answering(lambda _: httpx2.Response(status, json={"detail": "no"}))
    refusal = Refusal(f"{status}: no", final=False)
    assert client.milestone(b"{}") == refusal
    assert client.reconcile("x", b"{}", 1) == refusal


def test_milestones(client: ServiceClient, service: TinyService) -> None:
    assert client.milestone(b'{"attempt":"x"}') is None
    assert service.milestones == [{"attempt": "x"}]


def test_a_wrong_token_names_the_setting(service: TinyService) -> None:
    client = ServiceClient("http://s", "no", transport=httpx2.WSGITransport(app=service))
    with pytest.raises(ConfigError, match=r"no control token; controller\.token_file"):
        client.take_lease("lab", "one", 30)


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_later_is_unreachable(status: int) -> None:
    answer = httpx2.Response(status, headers={"Retry-After": "7"}, json={"title": "busy"})
    with pytest.raises(UnreachableError, match=f"{status}: busy") as caught:
        answering(lambda _: answer).active_advice("lab")
    assert caught.value.after_seconds == 7


def test_a_retry_after_that_is_a_date_is_not_read() -> None:
    answer = httpx2.Response(503, headers={"Retry-After": "Fri, 31 Dec"}, content=b"<html>")
    with pytest.raises(UnreachableError, match="503: <html>") as caught:
        answering(lambda _: answer).active_advice("lab")
    assert caught.value.after_seconds == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.take_lease("lab", "one", 30),
        lambda client: client.report_scheduler(SNAPSHOT),
        lambda client: client.active_advice("lab"),
        lambda client: client.landed("x"),
    ],
)
@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(400, json={"title": "Bad Request"}),
        httpx2.Response(302, headers={"Location": "http://elsewhere/"}),
        httpx2.Response(200, content=b"{"),
        httpx2.Response(200, json=[]),
        httpx2.Response(200, json={"advice": 1, "attempts": 1, "landed": 1, "fencing_token": "x"}),
    ],
)
def test_other_answers_are_refused(
    call: Callable[[ServiceClient], Any], answer: httpx2.Response
) -> None:
    with pytest.raises(InputError):
        call(answering(lambda _: answer))


@pytest.mark.parametrize(
    "error", [httpx2.ConnectError("refused"), httpx2.ReadTimeout(""), httpx2.ReadError("reset")]
)
def test_the_network_is_unreachable(error: httpx2.TransportError) -> None:
    def answer(_: httpx2.Request) -> httpx2.Response:
        raise error

    with pytest.raises(UnreachableError, match=r"GET http://s/v1/advice.*relume serve"):
        answering(answer).active_advice("lab")


@pytest.mark.parametrize(
    "changes", [{"generation": 2**63}, {"expires_at": 10**30}, {"created_at": -(2**63) - 1}]
)
def test_advice_with_numbers_that_nothing_can_hold_is_skipped(changes: dict[str, int]) -> None:
    good = msgspec.to_builtins(advise())
    generation = changes.get("generation", 2)
    bad = good | changes | {"advice_id": advice_id(good["attempt"], generation)}
    listing = answering(
        lambda _: httpx2.Response(200, content=msgspec.json.encode({"advice": [bad, good]}))
    ).active_advice("lab")
    assert listing.advice == (advise(),)
    assert len(listing.skipped) == 1


def test_an_answer_that_drips_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece comes in time, and the whole never."""
    monkeypatch.setattr(module, "MAX_ANSWER_SECONDS", 0.0)

    class Dripping(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield from itertools.repeat(b" ")

    client = answering(lambda _: httpx2.Response(200, stream=Dripping()))
    with pytest.raises(UnreachableError, match="expected all of it within"):
        client.active_advice("lab")


def test_answers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ANSWER_BYTES", 10)
    client = answering(lambda _: httpx2.Response(200, content=b"x" * 11))
    with pytest.raises(InputError, match="longer answer"):
        client.active_advice("lab")
