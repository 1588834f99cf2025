"""Second signals: what another source than the progress lines says about whether the job works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from relume.verdict import Health

MAX_SOURCES: Final = 16
"""Sources remembered; the one that spoke first goes first."""
FRESH_MICROS: Final = 120_000_000
"""What was said longer ago is unknown by now: two scrapes a minute may be missed."""
TRUST_RATIO: Final = 1.5
"""How much longer a silence must be than one that a source was wrong about, to trust it again."""
_MICROSECONDS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """What one source says at one time. Times are UTC microseconds.

    Attributes
    ----------
    source
        Its name, such as ``gpu_power`` or ``nic_bytes``; independent of the job's log.
    health
        *Unhealthy* only if nothing in the **whole** attempt works: a checkpoint that one rank
        writes while the others spin is work. *Healthy* only if it works as it does while it
        trains. Else unknown.
    since
        Since when it has been so.
    event_time
        When it was looked at.
    reason
        The words for it.
    """

    source: str
    health: Health
    since: int
    event_time: int
    reason: str


@dataclass(slots=True)
class Signs:
    """The newest word of each source, and how far it can be trusted. Bounded.

    A source that saw nothing work in a silence which then ended by itself doesn't tell a pause of
    this job from a hang: it counts again only in silences half as long again.
    """

    wrong_seconds: dict[str, float] = field(default_factory=dict)
    """The longest silence that each source was wrong about."""
    _newest: dict[str, Sign] = field(default_factory=dict)

    def distrust(self, wrong_seconds: Mapping[str, float]) -> None:
        """Take which sources were wrong in earlier attempts, in silences of so many seconds."""
        for source in sorted(wrong_seconds)[:MAX_SOURCES]:
            known = self.wrong_seconds.get(source, 0.0)
            self.wrong_seconds[source] = max(known, wrong_seconds[source])

    def take(self, sign: Sign) -> None:
        """Take what a source says."""
        known = self._newest.pop(sign.source, None)
        if known is not None and sign.event_time < known.event_time:
            sign = known
        while len(self._newest) >= MAX_SOURCES:
            del self._newest[next(iter(self._newest))]
        self._newest[sign.source] = sign

    def agreeing(self, silent_since: int, now: int) -> Sign | None:
        """Return who says that nothing has worked since the silence began; null for nobody.

        Who said so before that speaks of something else.
        """
        for sign in self._newest.values():
            fits = sign.health is Health.UNHEALTHY and sign.since >= silent_since
            if fits and self._is_fresh(sign, now) and self._is_trusted(sign, silent_since, now):
                return sign
        return None

    def works(self, silent_since: int, now: int) -> bool:
        """Whether somebody saw the job work after the silence began."""
        return any(
            sign.health is Health.HEALTHY
            and sign.event_time > silent_since
            and self._is_fresh(sign, now)
            for sign in self._newest.values()
        )

    def first_agreement(self, silent_since: int) -> int | None:
        """Return a time before which nobody agrees, if nothing more is said; null for never."""
        times = [
            max(sign.since, silent_since + int(self._needed(sign) * _MICROSECONDS))
            for sign in self._newest.values()
            if sign.health is Health.UNHEALTHY and sign.since >= silent_since
        ]
        return min(times, default=None)

    def note_wrong(self, silent_since: int, now: int) -> None:
        """Take that a silence ended by itself: whoever agreed with it was wrong."""
        seconds = (now - silent_since) / _MICROSECONDS
        for sign in self._newest.values():
            if sign.health is Health.UNHEALTHY and sign.since >= silent_since:
                before = self.wrong_seconds.pop(sign.source, 0.0)
                while len(self.wrong_seconds) >= MAX_SOURCES:
                    del self.wrong_seconds[next(iter(self.wrong_seconds))]
                self.wrong_seconds[sign.source] = max(before, seconds)

    def _is_trusted(self, sign: Sign, silent_since: int, now: int) -> bool:
        return now - silent_since >= self._needed(sign) * _MICROSECONDS

    def _needed(self, sign: Sign) -> float:
        return TRUST_RATIO * self.wrong_seconds.get(sign.source, 0.0)

    def _is_fresh(self, sign: Sign, now: int) -> bool:
        return now - sign.event_time <= FRESH_MICROS
