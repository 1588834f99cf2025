"""The stream of events: what comes, in which order, after which id, and over a real connection."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from advising import ATTEMPT, CREATED, make_advice
from relume.advice import Answer, Approval, Mode, advice_id
from relume.errors import UnreachableError
from relume.serve.api import feed
from relume.serve.api import stream as stream_module
from relume.serve.api.feed import NewsFeed
from relume.serve.api.stream import _events
from relume.serve.ledger import Ledger, sqlite_url
from relume.serve.live import server as server_module
from relume.serve.live.server import Server
from serving import Service

PATIENCE = 120.0
FIRST = advice_id(ATTEMPT, 1)
Next = Callable[[], Coroutine[Any, Any, dict[str, str]]]


def waits(generation: int = 1) -> Any:
    before = {} if generation == 1 else {"supersedes": advice_id(ATTEMPT, generation - 1)}
    return make_advice(generation=generation, mode=Mode.APPROVE, decided_at=None, **before)


def fields(event: bytes) -> dict[str, str]:
    """The fields of an event; a comment has the empty name."""
    pairs = (line.split(": ", 1) for line in event.decode().strip().split("\n"))
    return dict(pairs)


def listened(ledger: Ledger, after: int | None, do: Callable[[Next], Any], **more: Any) -> Any:
    """Run `do` with what gives the next event of a stream that begins after a number."""

    async def run() -> Any:
        stream = _events(NewsFeed(ledger), after, more.get("heartbeat", PATIENCE))

        async def following() -> dict[str, str]:
            return fields(await asyncio.wait_for(anext(stream), PATIENCE))

        assert await following() == {"": "listening"}
        try:
            return await do(following)
        finally:
            await stream.aclose()

    return asyncio.run(run())


def test_what_becomes_known_comes_in_order(ledger: Ledger) -> None:
    ledger.put_advice(waits())

    async def story(following: Next) -> None:
        approval = Approval(Answer.APPROVED, "on call", None, CREATED + 5)
        await asyncio.to_thread(ledger.answer, FIRST, approval)
        event = await following()
        shown = json.loads(event["data"])
        assert (event["id"], event["event"]) == ("2", "answer")
        assert (shown["attempt"], shown["approval"]["answer"]) == (ATTEMPT, "approved")
        await asyncio.to_thread(ledger.put_advice, waits(2))
        event = await following()
        assert (event["id"], event["event"]) == ("3", "advice")
        assert json.loads(event["data"])["generation"] == 2

    listened(ledger, None, story)


@pytest.mark.parametrize(("after", "ids"), [(0, ["1", "2", "3"]), (2, ["3"])])
def test_a_client_goes_on_after_what_it_saw(ledger: Ledger, after: int, ids: list[str]) -> None:
    for generation in (
        1,
        2,
    ):  # the second takes the place of the first, which then counts as answered
        ledger.put_advice(waits(generation))

    async def story(following: Next) -> None:
        assert [(await following())["id"] for _ in ids] == ids
        await asyncio.to_thread(ledger.put_advice, make_advice(attempt="lab/9@1767323045.0"))
        assert (await following())["id"] == "4"

    listened(ledger, after, story)


def test_what_another_process_writes_comes_too(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "POLL_SECONDS", 0.01)
    with Ledger.open(sqlite_url(tmp_path / "ledger.db")) as other:

        async def story(following: Next) -> None:
            await asyncio.to_thread(other.put_advice, make_advice())
            assert (await following())["event"] == "advice"

        listened(ledger, None, story)


def test_silence_is_told(ledger: Ledger) -> None:
    async def story(following: Next) -> None:
        assert await following() == {"": "still here"}

    listened(ledger, None, story, heartbeat=0.01)


def test_who_is_too_slow_is_cut_off_and_misses_nothing(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "MAX_WAITING", 1)
    numbers = range(5)

    async def story(following: Next) -> int:
        for number in numbers:
            await asyncio.to_thread(
                ledger.put_advice, make_advice(attempt=f"lab/{number}@1767323045.0")
            )
        seen = 0
        while not isinstance(event := await ended(following), StopAsyncIteration):
            seen = int(event["id"])
        return seen

    seen = listened(ledger, None, story)
    assert seen < len(numbers)
    assert [one.number for one, _ in ledger.news_after(seen)] == list(range(seen + 1, 6))


async def ended(following: Next) -> dict[str, str] | StopAsyncIteration:
    try:
        return await following()
    except StopAsyncIteration as end:
        return end


def test_one_who_hangs_up_leaves_nothing_behind(ledger: Ledger) -> None:
    async def run() -> set[str]:
        before = asyncio.all_tasks()
        feed = NewsFeed(ledger)
        for _ in range(3):
            stream = _events(feed, None, PATIENCE)
            await anext(stream)
            await stream.aclose()
        return {task.get_name() for task in asyncio.all_tasks() - before if not task.cancelling()}

    assert asyncio.run(run()) == set()


@contextmanager
def served(service: Service) -> Iterator[str]:
    """A real server of the app on loopback; gives its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)  # those of clients, too
        config = uvicorn.Config(service.app, log_config=None, timeout_graceful_shutdown=1)
        server = Server(config, service.app.state.feed)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def test_a_client_on_the_wire_hears_of_advice(service: Service) -> None:
    with (
        served(service) as url,
        httpx2.Client(base_url=url, timeout=PATIENCE, trust_env=False) as client,
        client.stream("GET", "/v1/advice/events", headers={"Last-Event-ID": "0"}) as answer,
    ):
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        assert next(lines) == ": listening"
        service.ledger.put_advice(make_advice())
        data = next(line for line in lines if line.startswith("data: "))
        assert json.loads(data.removeprefix("data: "))["advice_id"] == FIRST


@pytest.mark.parametrize("begin", [{"Last-Event-ID": "500"}, {}], ids=["header", "query"])
def test_a_number_above_the_newest_begins_from_now(service: Service, begin: dict[str, str]) -> None:
    service.ledger.put_advice(make_advice())
    with (
        served(service) as url,
        httpx2.Client(base_url=url, timeout=PATIENCE, trust_env=False) as client,
        client.stream("GET", "/v1/advice/events?after=77", headers=begin) as answer,
    ):
        lines = answer.iter_lines()
        assert next(lines) == ": listening"
        service.ledger.put_advice(make_advice(attempt="lab/9@1767323045.0"))
        assert next(line for line in lines if line.startswith("id: ")) == "id: 2"


def test_a_stream_ends_after_a_time_so_that_its_client_asks_again(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "STREAM_SECONDS", 0.0)

    async def story(following: Next) -> None:
        assert isinstance(await ended(following), StopAsyncIteration)

    listened(ledger, None, story)


def test_a_ledger_that_fails_ends_the_stream(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*_: object) -> None:
        raise UnreachableError("the ledger")

    async def story(following: Next) -> None:
        monkeypatch.setattr(ledger, "news_after", away)
        assert isinstance(await ended(following), StopAsyncIteration)

    listened(ledger, 0, story)
    assert "a stream of events ends" in caplog.text


def test_only_so_many_may_listen(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "MAX_LISTENERS", 0)
    refused = service.open.get("/v1/advice/events")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
    assert "at most 0" in refused.json()["detail"]


@contextmanager
def deaf(url: str) -> Iterator[socket.socket]:
    """A client that asks for the stream and reads nothing of it."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(PATIENCE)
        host, _, port = url.removeprefix("http://").rpartition(":")
        client.connect((host, int(port)))
        client.sendall(b"GET /v1/advice/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        yield client


def wait_until(what: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_who_reads_nothing_is_dropped_and_the_others_hear_all(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "MAX_WAITING", 20)
    monkeypatch.setattr(server_module, "STALLED_SECONDS", 0.0)
    listening: NewsFeed = service.app.state.feed
    count, heard = 150, list[int]()
    with ExitStack() as stack:
        url = stack.enter_context(served(service))
        slow = [stack.enter_context(deaf(url)) for _ in range(5)]
        client = stack.enter_context(httpx2.Client(base_url=url, timeout=PATIENCE, trust_env=False))
        answer = stack.enter_context(client.stream("GET", "/v1/advice/events?after=0"))
        lines = answer.iter_lines()
        assert next(lines) == ": listening"
        wait_until(lambda: len(listening) == 1 + len(slow))
        for number in range(1, count + 1):
            service.ledger.put_advice(make_advice(attempt=f"lab/{number}@1767323045.0"))
            heard.append(int(next(one for one in lines if one.startswith("id: "))[4:]))
        wait_until(lambda: len(listening) == 1)
        assert heard == list(range(1, count + 1))
        for one in slow:
            with suppress(ConnectionResetError):
                while one.recv(1 << 16):
                    pass


def test_streams_end_with_the_server(ledger: Ledger) -> None:
    async def run() -> list[bytes]:
        feed = NewsFeed(ledger)
        stream = _events(feed, None, PATIENCE)
        first = await anext(stream)
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        feed.close()
        return [first, await asyncio.wait_for(waiting, PATIENCE), *[one async for one in stream]]

    assert asyncio.run(run()) == [b": listening\n\n", b": still here\n\n"]


def test_an_id_that_is_none_is_refused(service: Service) -> None:
    for query in ("after=-1", "after=x"):
        assert service.open.get(f"/v1/advice/events?{query}").status_code == 422
