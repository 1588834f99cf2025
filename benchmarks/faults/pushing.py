"""A sender that numbers what it pushes, and counts what of the acknowledged is in the lake."""

from __future__ import annotations

import random
import secrets
from collections import Counter
from pathlib import Path

import httpx2

from relume.benchmarks.faults.found import Found
from relume.benchmarks.serving.service import CLUSTER, ServiceProcess
from relume.errors import UnreachableError
from relume.events import LogLine
from relume.ingest.eventlines import encode_event
from relume.ingest.lake import LakeReader

PADDING = 200
FINE, TOO_LARGE, ERROR = 200, 413, 500
NODE = "gpu00001"


class Sender:
    """Pushes numbered lines of a kernel's log; each number once, unless it was not acknowledged.

    Attributes
    ----------
    acknowledged
        Numbers that the service has answered for.
    answers
        How often each status came; 0 for none at all.
    """

    def __init__(self, service: ServiceProcess) -> None:
        self._service = service
        self._name = secrets.token_hex(4)
        self._next = 0
        self.acknowledged: set[int] = set()
        self.answers: Counter[int] = Counter()

    def push(self, count: int = 100, *, timeout_seconds: float = 60.0) -> int:
        """Push the next lines; return the status, 0 for no answer."""
        numbers = range(self._next, self._next + count)
        body = b"".join(encode_event(self._line(number)) for number in numbers)
        try:
            answer = self._service.client.post(
                "/v1/events", content=body, headers=ingest(self._service), timeout=timeout_seconds
            )
            status = int(answer.status_code)
            taken = answer.json() if status == FINE else {}
        except httpx2.TransportError:
            status, taken = 0, {}
        self.answers[status] += 1
        if taken.get("accepted", 0) + taken.get("duplicates", 0) == count:
            self.acknowledged |= set(numbers)
            self._next += count  # what was not acknowledged is pushed again
        return status

    def push_until_acknowledged(self, seconds: float = 120.0) -> None:
        """Push the next lines until they are acknowledged.

        Raises
        ------
        UnreachableError
            When that takes too long.
        """
        before = len(self.acknowledged)

        def is_taken() -> bool:
            self.push(10)
            return len(self.acknowledged) > before

        self._service.process.wait_for(is_taken, what="an acknowledged push", seconds=seconds)

    def lost_and_doubled(self, lake: Path) -> tuple[int, int]:
        """Return how many acknowledged lines are not in the lake, and how many are there twice."""
        mark = f"fault bench {self._name} "
        found: Counter[int] = Counter()
        for event in LakeReader(lake).events():
            if isinstance(event, LogLine) and event.text.startswith(mark):
                found[int(event.text[len(mark) :].split(" ", 1)[0])] += 1
        lost = sum(number not in found for number in self.acknowledged)
        return lost, sum(count > 1 for count in found.values())

    def _line(self, number: int) -> LogLine:
        # Letters that don't compress away: a disk has to fill up with them. The same each time: a
        # sender that tries again sends what it sent.
        padding = random.Random(f"{self._name} {number}").randbytes(PADDING).hex()
        text = f"fault bench {self._name} {number} {padding}"
        return LogLine(
            source="bench",
            cluster=CLUSTER,
            event_time=None,
            node=NODE,
            stream="kernel",
            file="kern.log",
            line=number,
            offset=number * 1000,
            text=text,
        )


def count(found: Found, sender: Sender, lake: Path) -> None:
    """Note what became of everything that a sender pushed."""
    lost, doubled = sender.lost_and_doubled(lake)
    found.note("acknowledged", len(sender.acknowledged))
    found.note("acknowledged_lost", lost)
    found.note("doubled", doubled)
    found.note("status_500", sender.answers[ERROR])
    found.say(f"answers: {dict(sender.answers)}")


def ingest(service: ServiceProcess) -> dict[str, str]:
    """Return the header of a sender's token, which the service made.

    Raises
    ------
    UnreachableError
        When it made none.
    """
    try:
        token = (service.data / "ingest.token").read_text(encoding="ascii").strip()
    except OSError as error:
        raise UnreachableError("the service's token for pushes", found=str(error)) from error
    return {"Authorization": f"Bearer {token}"}


def parts(service: ServiceProcess) -> dict[str, str]:
    """Return the status of each part by `/readyz`; empty when it doesn't answer."""
    try:
        answer = service.client.get("/readyz", timeout=30.0)
        return {name: part["status"] for name, part in answer.json()["parts"].items()}
    except httpx2.TransportError:
        return {}
