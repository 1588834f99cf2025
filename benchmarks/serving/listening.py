"""Hears of Advice as a client of the service does: by its stream of events."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import httpx2
import msgspec

_STREAM = "/v1/advice/events"
_CONNECT_SECONDS = 60.0


class _Heard(msgspec.Struct):
    """What a bench reads of an Advice."""

    attempt: str
    generation: int
    settled: bool
    operation: str


@dataclass(slots=True)
class AdviceStream:
    """A thread that listens; a context manager.

    Attributes
    ----------
    first, settled
        When the first generation of an attempt was heard of, and the first settled one: monotonic
        seconds, by attempt.
    """

    url: str
    token: str
    first: dict[str, float] = field(default_factory=dict)
    settled: dict[str, float] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)
    _connected: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._listen, name="advice-stream", daemon=True)
        self._thread.start()
        self._connected.wait(_CONNECT_SECONDS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()

    def _listen(self) -> None:
        headers = {"Authorization": f"Bearer {self.token}"}
        timeout = httpx2.Timeout(10.0, read=60.0)
        with httpx2.Client(
            base_url=self.url, headers=headers, timeout=timeout, trust_env=False
        ) as client:
            while not self._stop.is_set():
                try:
                    self._follow(client)
                except httpx2.TransportError:
                    time.sleep(0.1)  # the service is being started again

    def _follow(self, client: httpx2.Client) -> None:
        with client.stream("GET", _STREAM) as answer:
            answer.raise_for_status()
            self._connected.set()
            for line in answer.iter_lines():
                if line.startswith("data:"):
                    self._note(line.removeprefix("data:"))
                if self._stop.is_set():
                    return

    def _note(self, document: str) -> None:
        now = time.monotonic()
        heard = msgspec.json.decode(document, type=_Heard)
        self.first.setdefault(heard.attempt, now)
        if heard.settled:
            self.settled.setdefault(heard.attempt, now)
