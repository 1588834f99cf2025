"""A service that takes pushes in: a real runner in its thread, the clock in our hand."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cramjam
import pytest
from starlette.testclient import TestClient

from controlling import T0
from living import Live
from protobufs import message, pairs
from relume.events import Event
from relume.ingest.eventlines import encode_event
from relume.ingest.push.lines import NO_TIME, PushedLines, lines_of
from relume.serve.api import Access, Role, Tokens, create_app, push
from relume.serve.intake.bodies import Body
from relume.serve.live.runner import Runner

TOKEN = "a token that may push"  # noqa: S105 - of this test
ATTEMPT = f"lab/7@{T0 // 1_000_000}.0"


class Pushing:
    """What a test sees: `client` pushes, `live` has the clock, the lake and the ledger."""

    def __init__(self, live: Live) -> None:
        self.live = live
        live.session.close()
        self.runner = Runner(live.around)
        app = create_app(
            live.ledger,
            clock=live.clock,
            access=Access(tokens=Tokens({Role.INGEST: [TOKEN], Role.READ: [TOKEN]})),
            readiness=self.runner.readiness,
            on_scheduler=self.runner.on_scheduler,
            attempts_view=self.runner.view,
            registry=live.registry,
            door=self.runner.intake,
        )
        self.client = TestClient(
            app, headers={"Authorization": f"Bearer {TOKEN}"}, raise_server_exceptions=False
        )

    def events(self, *events: Event, **headers: str) -> dict[str, Any]:
        """Push events and return the answer, which is to be 200."""
        body = b"".join(map(encode_event, events))
        answer = self.client.post("/v1/events", content=body, headers=headers)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = json.loads(answer.text)
        return found


@contextmanager
def pushing(live: Live) -> Iterator[Pushing]:
    """Run the runner in its thread as long as the test talks to it."""
    service, stop = Pushing(live), threading.Event()
    thread = threading.Thread(target=service.runner.run, args=(stop,))
    thread.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(push, "PATIENCE_SECONDS", 600.0)  # however slow the machine is
            yield service
    finally:
        service.runner.stop(stop)
        thread.join(timeout=60)
        service.runner.close()


def stream(*entries: tuple[int | None, str], **labels: str) -> PushedLines:
    """Return entries of one stream, each with its time."""
    told = [(text, NO_TIME if time is None else time * 1000) for time, text in entries]
    return lines_of(labels, told)


def write_request(labels: dict[str, str], value: float, time_ms: int) -> bytes:
    """Return one sample of one series, as remote-write sends it."""
    sample = message("Sample", value=value, timestamp=time_ms)
    series = message("TimeSeries", labels=pairs(labels), samples=[sample])
    request = message("WriteRequest", timeseries=[series])
    return bytes(cramjam.snappy.compress_raw(request.SerializeToString()))


def body(*streams: PushedLines, sender: str = "agent", **fields: Any) -> Body:
    """Return a request."""
    return Body(sender=sender, streams=streams, **fields)
