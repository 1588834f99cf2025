"""Waiting for another list of active Advice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.requests import Request

from advising import EXPIRES, make_advice
from relume.serve.api import waiting
from relume.serve.api.conditional import etag
from relume.serve.api.feed import NewsFeed
from relume.serve.api.waiting import ActiveAdvice, unless_gone
from relume.serve.intake.queue import BusyError
from serving import Service

PATIENCE = 120.0
OTHER = "lab/9@1767323045.0"
ACTIVE = "/v1/advice?active=true"


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0.001)


class Site:
    """The list, its feed, and how a test writes beside the loop."""

    def __init__(self, service: Service) -> None:
        self.clock, self.ledger = service.clock, service.ledger
        self.feed = NewsFeed(self.ledger)
        self.active = ActiveAdvice(self.ledger, self.clock, self.feed)

    def wait(self, known: str | None, seconds: float = PATIENCE) -> asyncio.Task[bytes]:
        return asyncio.create_task(self.active.changed("lab", known, seconds))

    async def waits(self, count: int) -> None:
        """Until so many have their places, and one of them knows the list."""
        shared = self.active._shared  # noqa: SLF001 - nothing tells of it
        await until(lambda: len(self.active) == len(self.feed) == count)
        await until(lambda: all(one.last is not None for one in shared.values()))

    async def put(self, attempt: str) -> None:
        await asyncio.to_thread(self.ledger.put_advice, make_advice(attempt=attempt))


def story(service: Service, told: Callable[[Site], Awaitable[None]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(PATIENCE):
            await told(Site(service))

    asyncio.run(run())


def attempts(body: bytes) -> list[str]:
    return [one["attempt"] for one in json.loads(body)["advice"]]


def test_another_list_than_is_known_comes_at_once(service: Service) -> None:
    service.ledger.put_advice(make_advice(attempt=OTHER))

    async def told(site: Site) -> None:
        assert attempts(await site.wait('"x"')) == [OTHER]

    story(service, told)


@pytest.mark.parametrize("names", [True, False])
def test_news_wake_who_waits(service: Service, *, names: bool) -> None:
    async def told(site: Site) -> None:
        known = etag(site.active.read("lab").body) if names else None
        task = site.wait(known)
        await site.waits(1)
        await site.put("far/1@1.0")  # of another cluster: the list is the same
        await site.put(OTHER)
        assert attempts(await task) == [OTHER]
        assert len(site.active) == len(site.feed) == 0

    story(service, told)


def test_what_expires_wakes_who_waits(service: Service) -> None:
    service.ledger.put_advice(make_advice(attempt=OTHER))
    service.clock.advance((EXPIRES - service.clock.now()) / 1e6 - 0.001)

    async def told(site: Site) -> None:
        task = site.wait(etag(site.active.read("lab").body))
        await site.waits(1)
        service.clock.advance(0.001)
        assert attempts(await task) == []

    story(service, told)


def test_when_nothing_comes_it_is_the_same_list(service: Service) -> None:
    async def told(site: Site) -> None:
        assert attempts(await site.wait(None, seconds=0.01)) == []

    story(service, told)


def test_many_who_wait_share_one_reading(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, readings = ActiveAdvice.read, []

    def counted(self: ActiveAdvice, cluster: str | None) -> Any:
        found = plain(self, cluster)
        readings.append(cluster)
        return found

    monkeypatch.setattr(ActiveAdvice, "read", counted)

    async def told(site: Site) -> None:
        tasks = [site.wait(None) for _ in range(20)]
        await site.waits(20)
        await until(lambda: len(readings) == 20)
        await site.put(OTHER)
        assert [attempts(one) for one in await asyncio.gather(*tasks)] == [[OTHER]] * 20
        assert len(readings) < 40

    story(service, told)


def test_more_than_there_is_room_for_are_refused(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "MAX_WAITERS", 2)

    async def told(site: Site) -> None:
        tasks = [site.wait(None) for _ in range(2)]
        await site.waits(2)
        with pytest.raises(BusyError, match="2 who wait"):
            await site.wait(None)
        site.feed.close()  # the service ends
        assert await asyncio.gather(*tasks) == [site.active.read("lab").body] * 2

    story(service, told)


def test_nobody_waits_for_a_client_that_has_gone(service: Service) -> None:
    messages = [{"type": "http.request"}, {"type": "http.disconnect"}]

    async def receive() -> Any:
        return messages.pop(0)

    async def told(site: Site) -> None:
        task = site.wait(None)
        await site.waits(1)
        assert await unless_gone(Request({"type": "http"}, receive), task) is None
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (len(site.active), len(site.feed)) == (0, 0)

    story(service, told)


def test_waiting_over_http(service: Service) -> None:
    first = service.open.get(ACTIVE)
    tag = {"If-None-Match": first.headers["etag"]}
    same = service.open.get(f"{ACTIVE}&wait=0.01", headers=tag)
    assert (same.status_code, same.content) == (304, b"")
    service.ledger.put_advice(make_advice(attempt=OTHER))
    other = service.open.get(f"{ACTIVE}&wait=60&cluster=lab", headers=tag)
    assert (other.status_code, attempts(other.content)) == (200, [OTHER])


@pytest.mark.parametrize("query", ["wait=1", "active=true&wait=61", "active=true&wait=nan"])
def test_what_cannot_be_waited_for_is_refused(service: Service, query: str) -> None:
    assert service.open.get(f"/v1/advice?{query}").status_code == 422
