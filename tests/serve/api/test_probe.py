"""A ledger that hangs is told of at once, and keeps one thread, not one for each who asks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

import pytest

from mariadb_server import MariaDB
from paging import Site
from relume.serve.api import probe as probe_module
from relume.serve.api.probe import LedgerProbe
from relume.serve.ledger import Ledger
from relume.verdict import Health
from serving import Service

if TYPE_CHECKING:
    from starlette.testclient import TestClient

PATIENCE = 120.0


@pytest.fixture
def hanging(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Let the ledger give no sign of life until the event is set."""
    over = threading.Event()
    monkeypatch.setattr(ledger, "ping", lambda: over.wait(PATIENCE) and None)
    monkeypatch.setattr(probe_module, "ANSWER_SECONDS", 0.05)
    yield over
    over.set()


def require_one_thread() -> None:
    """Wait for those of tests before this one to end; more than one that hangs stays."""
    end = monotonic() + PATIENCE
    while sum(one.name == "ledger probe" for one in threading.enumerate()) > 1:
        assert monotonic() < end
        sleep(0.02)


def until_healthy(client: TestClient) -> None:
    end = monotonic() + PATIENCE
    while client.get("/readyz").status_code != 200:
        assert monotonic() < end
        sleep(0.02)


def test_readyz_names_a_ledger_that_hangs(service: Service, hanging: threading.Event) -> None:
    for _ in range(20):
        answer = service.open.get("/readyz")
        part = answer.json()["parts"]["ledger"]
        assert (answer.status_code, part["status"]) == (503, "unhealthy")
        assert part["reason"].startswith("no answer for")
    require_one_thread()
    assert service.metric('relume_part_healthy{part="ledger"}') == 0.0
    hanging.set()
    until_healthy(service.open)


def test_pages_say_so_instead_of_waiting(
    ledger: Ledger, hanging: threading.Event, tmp_path: Path
) -> None:
    del hanging
    site = Site(ledger, tmp_path / "lake")
    assert "no answer for" in site.page("/", 503).text
    assert "no answer for" in site.page("/status").text
    assert site.page("/login").heading() == "Log in"


def test_whoever_asks_meanwhile_waits_for_the_same_answer(
    ledger: Ledger, hanging: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_module, "ANSWER_SECONDS", PATIENCE)
    probe = LedgerProbe(ledger)

    async def ask() -> list[Health]:
        asked = [asyncio.ensure_future(probe.status_soon()) for _ in range(10)]
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(hanging.set)
        return [one.status for one in await asyncio.gather(*asked)]

    assert asyncio.run(ask()) == [Health.HEALTHY] * 10


def test_what_nobody_expected_is_unhealthy_too(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise ValueError("of a driver")

    monkeypatch.setattr(ledger, "ping", broken)
    found = LedgerProbe(ledger).status()
    assert (found.status, found.reason) == (Health.UNHEALTHY, "ValueError: of a driver")


@pytest.mark.needs_server("mariadb")
def test_a_server_that_takes_connections_and_says_nothing(mariadb_server: MariaDB) -> None:
    with mariadb_server.open() as ledger:
        service = Service(ledger)
        until_healthy(service.open)
        with mariadb_server.paused():
            answers = [service.open.get("/readyz") for _ in range(4)]
        assert [one.status_code for one in answers] == [503] * 4
        assert "no answer for" in answers[-1].json()["parts"]["ledger"]["reason"]
        require_one_thread()
        until_healthy(service.open)
