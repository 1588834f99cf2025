"""What waits between the API's threads and the runner: bounded in bytes, in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from relume.errors import RelumeError, UnreachableError
from relume.serve.intake.bodies import Body, Outcome

LIMIT_BYTES = 64 << 20
"""What may wait, and be decoded, at once: some seconds of a busy cluster."""
COMMIT_BYTES = 16 << 20
"""What goes into one commit, so that none takes long."""


class BusyError(UnreachableError):
    """More waits than the service holds; what was sent has to be sent again."""

    error_type = "busy"


class Ticket:
    """The place of one request in the queue. `future` is done when it is durable, or failed."""

    def __init__(self, queue: IntakeQueue, size: int) -> None:
        self.size = size
        self.body = Body(sender="")
        self.future: Future[Outcome] = Future()
        self._queue = queue

    def put(self, body: Body) -> Future[Outcome]:
        """Hand in what was decoded; the answer is there when the future is done."""
        self.body = body
        self.future.set_running_or_notify_cancel()  # nobody who gives up may take it back
        self._queue.put(self)
        return self.future

    def drop(self) -> None:
        """Give the place back without handing anything in."""
        self._queue.release(self)

    def done(self, outcome: Outcome) -> None:
        """Say that it is durable."""
        self._queue.release(self)
        self.future.set_result(outcome)

    def fail(self, error: RelumeError) -> None:
        """Say that nobody knows whether it is durable: it has to be sent again."""
        self._queue.release(self)
        self.future.set_exception(error)


class IntakeQueue:
    """Requests that wait for the runner. Thread-safe.

    Parameters
    ----------
    wake
        Called when something waits.
    limit_bytes
        How much may wait at once; one request that is larger is taken when nothing else waits.

    Examples
    --------
    >>> queue = IntakeQueue(limit_bytes=10)
    >>> ticket = queue.admit(8)
    >>> future = ticket.put(Body(sender="agent"))
    >>> [one.size for one in queue.take()], queue.held_bytes
    ([8], 8)
    """

    def __init__(
        self, wake: Callable[[], None] = lambda: None, *, limit_bytes: int = LIMIT_BYTES
    ) -> None:
        self.wake = wake
        self.refusals = 0
        self._limit = limit_bytes
        self._lock = threading.Lock()
        self._held = 0
        self._waiting: deque[Ticket] = deque()

    @property
    def held_bytes(self) -> int:
        """How much is being decoded, waits, or is being committed."""
        return self._held

    def __len__(self) -> int:
        return len(self._waiting)

    def admit(self, size: int) -> Ticket:
        """Take a place for a request of `size` bytes.

        Raises
        ------
        BusyError
            When there is none.
        """
        with self._lock:
            if self._held and self._held + size > self._limit:
                self.refusals += 1
                raise BusyError(
                    "push",
                    found=f"{self._held} bytes that wait already",
                    expected=f"at most {self._limit}",
                    hint="send it again a little later",
                )
            self._held += size
        return Ticket(self, size)

    def put(self, ticket: Ticket) -> None:
        """Add a ticket at the end; see `Ticket.put`."""
        with self._lock:
            self._waiting.append(ticket)
        self.wake()

    def take(self, limit_bytes: int = COMMIT_BYTES) -> list[Ticket]:
        """Return the oldest that wait, at least one if any does, for one commit."""
        taken: list[Ticket] = []
        size = 0
        with self._lock:
            while self._waiting and (not taken or size + self._waiting[0].size <= limit_bytes):
                ticket = self._waiting.popleft()
                size += ticket.size
                taken.append(ticket)
        return taken

    def release(self, ticket: Ticket) -> None:
        """Give the room of a ticket back, once."""
        with self._lock:
            self._held -= ticket.size
            ticket.size = 0
