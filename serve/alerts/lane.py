"""One target and what it was told: looks at the ledger, sends what is due, remembers it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from relume.clock import MICROSECONDS_PER_SECOND, Clock
from relume.errors import RelumeError, Retryable
from relume.serve.alerts.memory import Rules, Told, after, due, newest_by_subject
from relume.serve.alerts.message import Happened, Message, message_of
from relume.serve.alerts.metrics import AlertMetrics
from relume.serve.alerts.targets import REPEAT_SECONDS, Target
from relume.serve.ledger import IncidentRecord, Ledger

log = logging.getLogger(__name__)
MOST_SECONDS = 300.0
"""The longest pause after failures; the first one is a second."""
MAX_INCIDENTS = 2000
"""Of one look: the oldest. The next ones come when these are over, or told."""
MAX_MESSAGES = 500
"""Of one look."""
OVERLAP_SECONDS = 600.0
"""What is written late has a time of before: so far back is looked again."""
Due = tuple[IncidentRecord, Happened]


@dataclass
class Lane:
    """Tells one target. Used by one thread; a failure is tried again, each time later.

    Parameters
    ----------
    is_alive
        Tells whether jobs are watched and the scheduler is heard: else there is no heartbeat.
    base
        The address of the service as people reach it, for links; empty for none.
    """

    ledger: Ledger
    target: Target
    clock: Clock
    metrics: AlertMetrics
    rules: Rules = field(default_factory=Rules)
    is_alive: Callable[[], bool] = lambda: True
    base: str = ""
    _told: dict[str, Told] | None = None
    _since: int = 0
    _wait_seconds: float = 0.0
    _again_at: int = 0
    _beaten_at: int | None = None
    _repeated_at: int | None = None
    _error: str = ""

    def step(self) -> None:
        """Send what is due, unless it is too early after a failure. Raises nothing."""
        now = self.clock.now()
        if now < self._again_at <= now + int(MOST_SECONDS * MICROSECONDS_PER_SECOND):
            return
        try:
            self._beat(now)
            if self.target.page:
                self._tell(now)
        except Exception as error:  # noqa: BLE001 - alerts must go on, whatever it is
            self._fail(error, now)
        else:
            self._wait_seconds, self._error = 0.0, ""

    def _beat(self, now: int) -> None:
        if not _is_time(self._beaten_at, now) or not self.is_alive():
            return
        self.target.beat(now)
        self._beaten_at = now
        self.metrics.beats.labels(self.target.kind).set(now / MICROSECONDS_PER_SECOND)

    def _tell(self, now: int) -> None:
        told = self._recall(now)
        found = {one.incident_id: one for one in self.ledger.going_on(self._since, MAX_INCIDENTS)}
        for name in [name for name, one in told.items() if not one.is_over and name not in found]:
            known = self.ledger.get_incident(name)
            if known is not None:
                found[name] = known
        quiet = newest_by_subject(told)
        wanted = ((one, due(one, told, quiet, now, self.rules)) for one in found.values())
        work = [(one, happened) for one, happened in wanted if happened is not None]
        self.metrics.waiting.labels(self.target.kind).set(len(work))
        for page in _pages(work[:MAX_MESSAGES], self.target.page):
            self._send(page, now)
        if self.target.repeats and _is_time(self._repeated_at, now):
            self._repeat(found.values(), now)
        if len(work) <= MAX_MESSAGES and len(found) < MAX_INCIDENTS:
            self._move(found, now)

    def _send(self, page: Sequence[Due], now: int) -> None:
        """Send a page; what is refused for good is not tried again."""
        told = self._recall(now)
        afterwards = {
            one.incident_id: after(one, told.get(one.incident_id), happened, now)
            for one, happened in page
        }
        result = "sent"
        try:
            self._deliver(page, now)
        except RelumeError as error:
            if isinstance(error, Retryable):
                raise
            result = "refused"
            self._note(str(error))
        self.ledger.put_cursors(
            {self._key(name): one.to_text() for name, one in afterwards.items()}
        )
        told |= afterwards
        for _, happened in page:
            self.metrics.messages.labels(self.target.kind, happened.value, result).inc()

    def _deliver(self, page: Iterable[Due], now: int) -> None:
        told = self._recall(now)
        levels = {name: one.level for name, one in told.items()}
        messages = [self._message(one, happened) for one, happened in page]
        self.target.send(messages, levels, now)

    def _message(self, incident: IncidentRecord, happened: Happened) -> Message:
        before = (self._told or {}).get(incident.incident_id)
        return message_of(
            incident,
            self.ledger.newest(incident.subject),
            happened,
            sequence=1 if before is None else before.sequence + 1,
            base=self.base,
        )

    def _repeat(self, found: Iterable[IncidentRecord], now: int) -> None:
        """Tell again what goes on, which would end by itself."""
        told = self._recall(now)
        open_ones = [
            (one, Happened.UPDATED)
            for one in found
            if one.closed_at is None and one.incident_id in told
        ]
        for page in _pages(open_ones, self.target.page):
            self._deliver(page, now)
        self._repeated_at = now

    def _recall(self, now: int) -> dict[str, Told]:
        """Return what was told; read from the ledger at the first time."""
        if self._told is not None:
            return self._told
        kept, head = self.ledger.cursors(), self._key("")
        since = kept.get(self._key("since"))
        if since is None:  # a new target isn't told what is long over
            since = str(now)
            self.ledger.put_cursor(self._key("since"), since)
        self._since = int(since)
        read = (
            (name.removeprefix(head), Told.of_text(text))
            for name, text in kept.items()
            if name.startswith(head)
        )
        self._told = {name: one for name, one in read if one is not None}
        return self._told

    def _move(self, found: dict[str, IncidentRecord], now: int) -> None:
        """Forget what is over and will not be met again, when all is told."""
        since = now - int(OVERLAP_SECONDS * MICROSECONDS_PER_SECOND)
        if since <= self._since:
            return
        told = self._recall(now)
        gone = [
            name
            for name, one in told.items()
            if one.is_over and (name not in found or found[name].opened_at < since)
        ]
        self.ledger.put_cursor(self._key("since"), str(since))
        self.ledger.drop_cursors([self._key(name) for name in gone])
        self._since = since
        for name in gone:
            del told[name]

    def _key(self, name: str) -> str:
        return f"alerts {self.target.name} {name}"

    def _fail(self, error: Exception, now: int) -> None:
        self._wait_seconds = min(MOST_SECONDS, max(1.0, 2.0 * self._wait_seconds))
        self._again_at = now + int(self._wait_seconds * MICROSECONDS_PER_SECOND)
        self.metrics.failures.labels(self.target.kind).inc()
        known = isinstance(error, RelumeError)
        self._note(str(error) if known else f"alerts to {self.target.name}: {type(error).__name__}")

    def _note(self, words: str) -> None:
        if words != self._error:
            log.warning("%s", words)
        self._error = words


def _is_time(last: int | None, now: int) -> bool:
    """Whether a minute has passed, or the clock was put back."""
    return last is None or not 0 <= now - last < REPEAT_SECONDS * MICROSECONDS_PER_SECOND


def _pages(due: Sequence[Due], size: int) -> Iterator[Sequence[Due]]:
    return (due[begin : begin + size] for begin in range(0, len(due), size))
