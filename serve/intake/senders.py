"""Who pushes, and whether they still do: a sender that stops is no hung job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from relume.clock import MICROSECONDS_PER_SECOND
from relume.events import SourceStatus
from relume.ingest.lake import LineBatch
from relume.serve.live.naming import log_source, sender_of
from relume.verdict import Health

STALE_SECONDS = 60.0
"""A sender of which nothing came for so long is unknown; agents send something every few
seconds."""
GONE_SECONDS = 3600.0
"""After so long it isn't waited for any more."""
MAX_SENDERS = 10_000
MAX_ATTEMPTS = 20_000
_STALE = int(STALE_SECONDS * MICROSECONDS_PER_SECOND)
_GONE = int(GONE_SECONDS * MICROSECONDS_PER_SECOND)


@dataclass(slots=True)
class _Sender:
    last: int
    newest: int | None = None
    is_stale: bool = False
    attempts: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True)
class Senders:
    """Every sender, when it was heard last, and whose logs it brought. Bounded.

    Parameters
    ----------
    cluster
        Whose sources they are.
    """

    cluster: str = "local"
    _known: dict[str, _Sender] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._known)

    @property
    def stale(self) -> list[str]:
        """Who has stopped."""
        return [name for name, sender in self._known.items() if sender.is_stale]

    @property
    def missed(self) -> list[str]:
        """Who has stopped though jobs run whose logs it brought."""
        return [name for name in self.stale if self._known[name].attempts]

    def lag_seconds(self, now: int) -> float | None:
        """How old the newest entry of the sender is that is furthest behind; null for none."""
        lags = [now - one.newest for one in self._known.values() if one.newest and not one.is_stale]
        return max(lags) / MICROSECONDS_PER_SECOND if lags else None

    def heard(self, name: str, now: int) -> Iterator[SourceStatus]:
        """Take that a sender lives; tell it of its sources if it had been away."""
        sender = self._known.pop(name, None)
        if sender is None:
            sender = _Sender(now)
            yield self._status(name, now, None)
        while len(self._known) >= MAX_SENDERS:
            del self._known[next(iter(self._known))]
        self._known[name] = sender
        sender.last = max(sender.last, now)
        if sender.is_stale:
            sender.is_stale = False
            yield self._status(name, now, None)
            for attempt in sender.attempts:
                yield self._status(name, now, None, attempt)

    def brought(
        self, name: str, attempt: str | None, newest: int | None, now: int
    ) -> Iterator[SourceStatus]:
        """Take that a sender brought lines, the newest of a time, of an attempt (null: nobody)."""
        sender = self._known[name]
        if newest is not None:
            sender.newest = max(sender.newest or 0, newest)
        if attempt is not None and attempt not in sender.attempts:
            while len(sender.attempts) >= MAX_ATTEMPTS:
                del sender.attempts[next(iter(sender.attempts))]
            sender.attempts[attempt] = None
            yield self._status(name, now, None, attempt)

    def recall(self, batch: LineBatch) -> None:
        """Take lines that had landed before a restart: whoever sent them is waited for again."""
        name, _ = sender_of(batch.source)
        if name is None or batch.observed_at is None:
            return
        sender = self._known.setdefault(name, _Sender(batch.observed_at))
        sender.last = max(sender.last, batch.observed_at)
        if batch.attempt is not None:
            sender.attempts[batch.attempt] = None

    def over(self, attempt: str) -> None:
        """Take that nobody waits for the lines of an attempt any more."""
        for sender in self._known.values():
            sender.attempts.pop(attempt, None)

    def look(self, now: int) -> Iterator[SourceStatus]:
        """Tell of senders that have stopped; those that stay away are forgotten."""
        for name, sender in list(self._known.items()):
            away = now - sender.last
            if away > _GONE:
                del self._known[name]
            elif away > _STALE and not sender.is_stale:
                sender.is_stale = True
                reason = f"nothing was pushed for {STALE_SECONDS:.0f} s"
                yield self._status(name, now, reason)
                for attempt in sender.attempts:
                    yield self._status(name, now, reason, attempt)

    def _status(
        self, name: str, now: int, reason: str | None, attempt: str | None = None
    ) -> SourceStatus:
        source = f"push {name}" if attempt is None else log_source(attempt, f"push {name}")
        newest = self._known[name].newest if name in self._known else None
        behind = None if newest is None else max(0, now - newest) / MICROSECONDS_PER_SECOND
        return SourceStatus(
            source=source,
            cluster=self.cluster,
            event_time=now,
            observed_at=now,
            status=Health.HEALTHY if reason is None else Health.UNKNOWN,
            lag_seconds=behind,
            reason=reason,
        )
