"""The stream of events: what comes, in which order, after which id, and over a real connection."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from advising import ATTEMPT, CREATED, make_advice
from relume.advice import Answer, Approval, Mode, advice_id
from relume.serve.api import feed
from relume.serve.api.feed import NewsFeed
from relume.serve.api.stream import _events
from relume.serve.ledger import Ledger, sqlite_url
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
        server = uvicorn.Server(
            uvicorn.Config(service.app, log_config=None, timeout_graceful_shutdown=1)
        )
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
