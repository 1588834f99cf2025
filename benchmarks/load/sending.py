"""The generator: processes of their own, niced, that send bodies when they are due."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from threading import Lock, local
from typing import Any

import httpx2
import numpy as np

from relume.benchmarks.load.lines import JobLines, Made
from relume.benchmarks.load.samples import SCRAPE_SECONDS, FleetSamples
from relume.clock import MICROSECONDS_PER_MILLISECOND, MICROSECONDS_PER_SECOND, SystemClock
from relume.errors import UnreachableError

NICENESS = 10
CONNECTIONS = 4
MAX_WAITING = 8
"""Bodies that are made and not acknowledged yet."""
JOBS_PER_BODY = 50
SNAPPY = {"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy"}
_REMOTE_WRITE = SNAPPY | {"X-Prometheus-Remote-Write-Version": "0.1.0"}
_TOO_MANY, _UNAVAILABLE = 429, 503
_GRACE_SECONDS = 120.0


@dataclass(slots=True)
class Sent:
    """What was acknowledged.

    Attributes
    ----------
    rows, bytes
        Samples or lines, and the bytes of lines' texts (0 for samples).
    bodies, put_off
        Requests that were taken, and answers that said to come again.
    late_seconds
        The longest time from when a body was due to its acknowledgement.
    seconds
        From the first body on to the last acknowledgement.
    """

    rows: int = 0
    bytes: int = 0
    bodies: int = 0
    put_off: int = 0
    late_seconds: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Body:
    """One request: when it is due (monotonic seconds), and how it is made then."""

    due: float
    make: Callable[[], Made]


@dataclass(frozen=True, slots=True)
class Target:
    """Where bodies go, and until when they are made."""

    url: str
    route: str
    token: str
    seconds: float


class Generator:
    """A process that sends; `result` waits for its end.

    Parameters
    ----------
    bodies
        Function of this module that yields the bodies of a target.
    target
        Where they go.
    options
        What else `bodies` is given.
    """

    def __init__(
        self, bodies: Callable[..., Iterator[Body]], target: Target, **options: object
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self._reader, writer = context.Pipe(duplex=False)
        self._process = context.Process(
            target=_generate, args=(bodies, target, options, writer), daemon=True
        )
        self._seconds = target.seconds
        self._process.start()
        writer.close()

    def result(self) -> Sent:
        """Return what it sent.

        Raises
        ------
        UnreachableError
            When it failed, or doesn't end.
        """
        try:
            if not self._reader.poll(self._seconds + _GRACE_SECONDS):
                raise UnreachableError("the generator", found="no end", expected="its count")
            found: Sent = self._reader.recv()
        except EOFError as error:
            raise UnreachableError("the generator", found="it failed; see above") from error
        finally:
            self.stop()
        return found

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.join()


def sample_bodies(target: Target, *, nodes: int, stride: int = 50) -> Iterator[Body]:
    """Yield the remote-write bodies of a fleet, spread evenly over each scrape interval."""
    fleet = FleetSamples(nodes, nodes_per_body=stride)
    begun, interval = time.monotonic(), SCRAPE_SECONDS / fleet.bodies
    for number in range(round(target.seconds / interval)):
        place = number % fleet.bodies
        yield Body(begun + number * interval, partial(_samples, fleet, place))


def line_bodies(target: Target, *, jobs: Any) -> Iterator[Body]:  # noqa: ANN401 - a shared array
    """Yield the Loki bodies of jobs: each prints once a second; `jobs` has the number of each.

    Each body has a second of its own, however late it is made: lines of the same time and text
    would be the same line to a service, which lands it once.
    """
    lines = JobLines()
    slots = np.arange(len(jobs), dtype=np.int64)
    groups = [slots[at : at + JOBS_PER_BODY] for at in range(0, len(slots), JOBS_PER_BODY)]
    begun, first = time.monotonic(), SystemClock().now() // MICROSECONDS_PER_SECOND - 1
    for second in range(round(target.seconds)):
        for place, group in enumerate(groups):
            due = begun + second + place / len(groups)
            yield Body(due, partial(_lines, lines, jobs, group, first + second))


def _samples(fleet: FleetSamples, place: int) -> Made:
    body, count = fleet.body(place, SystemClock().now() // MICROSECONDS_PER_MILLISECOND)
    return Made(body, count, 0)


def _lines(
    lines: JobLines,
    jobs: Any,  # noqa: ANN401 - a shared array
    group: np.ndarray[Any, Any],
    second: int,
) -> Made:
    numbers = np.array(jobs[group[0] : group[-1] + 1], dtype=np.int64)
    return lines.body(numbers, group, second)


def _generate(
    bodies: Callable[..., Iterator[Body]],
    target: Target,
    options: dict[str, object],
    results: Connection,
) -> None:
    os.nice(NICENESS)
    results.send(_Sender(target).run(bodies(target, **options)))


class _Sender:
    """Sends bodies over a few connections; a body is made just before it is sent."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._sent = Sent()
        self._lock, self._local = Lock(), local()

    def run(self, bodies: Iterator[Body]) -> Sent:
        begun: float | None = None
        waiting: set[Future[None]] = set()
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            for one in bodies:
                if begun is None:  # what bodies are made from was made by now
                    begun = one.due
                if len(waiting) >= MAX_WAITING:  # a service that is behind is not flooded
                    _checked(wait(waiting, return_when=FIRST_COMPLETED).done)
                if time.monotonic() > begun + self._target.seconds:
                    break  # what is due by now could not be sent in time: the rate says so
                time.sleep(max(0.0, one.due - time.monotonic()))
                made = one.make()
                done = {future for future in waiting if future.done()}
                _checked(done)
                waiting = waiting - done | {pool.submit(self._send, one.due, made)}
        _checked(waiting)
        self._sent.seconds = 0.0 if begun is None else time.monotonic() - begun
        return self._sent

    def _send(self, due: float, made: Made) -> None:
        while (seconds := self._post(made.body)) is not None:
            with self._lock:
                self._sent.put_off += 1
            time.sleep(seconds)
        with self._lock:
            self._sent.rows += made.rows
            self._sent.bytes += made.text_bytes
            self._sent.bodies += 1
            late = time.monotonic() - due
            self._sent.late_seconds = max(self._sent.late_seconds, late)

    def _post(self, body: bytes) -> float | None:
        """Send once; return how long to wait before the next try, null when it was taken."""
        client = getattr(self._local, "client", None)
        if client is None:
            headers = {"Authorization": f"Bearer {self._target.token}"}
            client = self._local.client = httpx2.Client(
                base_url=self._target.url, headers=headers, timeout=120.0, trust_env=False
            )
        write = self._target.route.endswith("/write")
        answer = client.post(
            self._target.route, content=body, headers=_REMOTE_WRITE if write else SNAPPY
        )
        if answer.is_success:
            return None
        if answer.status_code in {_TOO_MANY, _UNAVAILABLE}:
            return float(answer.headers.get("Retry-After", "1"))
        raise UnreachableError(
            self._target.route, found=f"{answer.status_code}: {answer.text[:200]}", expected="2xx"
        )


def _checked(futures: Iterable[Future[None]]) -> None:
    """Raise what any of them failed with."""
    for future in futures:
        future.result()
