"""The straggler detector of one attempt: step times in, slowdowns out.

Several printers may tell of one attempt (every rank, or two loggers side by side). They tell of the
same steps, so one of them is judged: the first that shows enough steps, and another one when its
measure tells more, or when the first falls silent while others go on. What differs between ranks is
a question for afterwards (`relume.models.straggler.who`).
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from relume.errors import InputError
from relume.models.straggler.levels import Change, Level
from relume.models.straggler.regimes import Regimes
from relume.models.straggler.steps import Printer, StepTime
from relume.models.straggler.stream import RECENT, PaceStream
from relume.models.straggler.windows import Windows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from relume.models.straggler.settings import StragglerSettings

LEADS: Final = 16
"""Steps with which a printer is the one that is judged."""
MAX_PRINTERS: Final = 64
"""Printers that are counted; those that come later tell the same."""
MAX_STREAMS: Final = 8
"""Streams kept, each of one regime; the one that was used least lately goes first."""
GIVEN_UP: Final = 256
"""Steps of others after which a silent leader isn't waited for any more."""


@dataclass(frozen=True, slots=True)
class Slowdown:
    """A slowdown that goes on. Times are UTC microseconds, null without a clock.

    Attributes
    ----------
    level
        Suspicion or actionable.
    regime
        The stream that shows it.
    since
        The first slow step, by the best estimate.
    shown_by
        The step at which it was found.
    usual, ratio
        What a step took before, in the unit of `StepTime.value`, and how many times as long it
        takes since.
    waits
        Share of the slow time that is more waiting for input than before; null when it isn't
        printed.
    slow_share
        Share of the recent steps that are slow: low when something else is mixed in.
    is_gradual
        Whether the steps before it were already longer than usual: it came bit by bit.
    """

    level: Level
    regime: str
    since: StepTime
    shown_by: StepTime
    usual: float
    ratio: float
    waits: float | None = None
    slow_share: float = 1.0
    is_gradual: bool = False

    @property
    def reason(self) -> str:
        """One sentence for a person."""
        sure = "" if self.level is Level.ACTIONABLE else " (by few steps)"
        return f"steps take {self.ratio:.2f} times as long since step {self.since.step}{sure}"


class _Waits(NamedTuple):
    """Seconds of waiting, and in how many steps, before a slowdown."""

    seconds: float = 0.0
    steps: int = 0


@dataclass(slots=True)
class _Followed:
    """A stream, the steps that it saw last, and how long its steps waited for input."""

    stream: PaceStream
    recent: deque[StepTime] = field(default_factory=lambda: deque(maxlen=RECENT))
    waits: _Waits = field(default_factory=_Waits)


class _Saved(msgspec.Struct):
    """All that a detector knows; of each stream its name, its state, its last steps and waits."""

    printers: list[tuple[Printer | str, int]]
    leader: Printer | str | None
    trust: int
    others: int
    regimes: Regimes
    streams: list[tuple[str, bytes, list[StepTime], _Waits]]
    slowdown: Slowdown | None
    windows: Windows


class StragglerDetector:
    """Watches the pace of one attempt. Bounded; what it says depends on the steps only.

    Parameters
    ----------
    settings
        Thresholds.
    attempt
        Whose steps: it chooses the draws of the guaranteed mode.

    Attributes
    ----------
    slowdown
        What is slow at present; null for nothing.
    windows
        What speaks for slowdowns, for a judgement across jobs; of steps without a clock nothing.

    Examples
    --------
    >>> from relume.models.straggler.settings import StragglerSettings
    >>> from relume.models.straggler.steps import StepTime
    >>> detector = StragglerDetector(StragglerSettings(), "lab/7@1.0")
    >>> found = []
    >>> for step in range(1300):
    ...     seconds = 5.0 + 0.01 * (step % 7) + (1.0 if step >= 1200 else 0.0)
    ...     found += detector.take("rank 0", StepTime(value=seconds, span_seconds=5.0, step=step))
    >>> [(slow.level.name, slow.since.step, slow.shown_by.step) for slow in found]
    [('SUSPICION', 1200, 1204), ('ACTIONABLE', 1200, 1211)]
    """

    def __init__(self, settings: StragglerSettings, attempt: str) -> None:
        self.settings, self.attempt = settings, attempt
        self.slowdown: Slowdown | None = None
        self.windows = Windows()
        self._printers: dict[Printer | str, int] = {}
        self._leader: Printer | str | None = None
        self._trust = -1
        self._others = 0
        self._regimes = Regimes(settings.warm_up)
        self._streams: dict[str, _Followed] = {}

    @property
    def regimes(self) -> tuple[str, ...]:
        """The regimes whose streams are kept, the one that was used last at the end."""
        return tuple(self._streams)

    @property
    def streams(self) -> tuple[PaceStream, ...]:
        """The streams of those regimes, in the same order."""
        return tuple(one.stream for one in self._streams.values())

    def take(self, printer: Printer | str, step: StepTime) -> list[Slowdown]:
        """Take the next step of a printer; return a slowdown when it reaches a level.

        `slowdown` is null again once it is over.
        """
        if not self._is_led_by(printer, step.trust):
            return []
        regime = self._regimes.of(step)
        if regime is None:
            return []
        return self._taken(self._follow(regime), [step])

    def take_all(self, steps: Iterable[tuple[Printer | str, StepTime]]) -> list[Slowdown]:
        """Take the next steps of printers, as `take` does one after the other."""
        found: list[Slowdown] = []
        alike: list[StepTime] = []
        last: str | None = None
        for printer, step in steps:
            if printer != self._leader and alike:  # it may lead from now on
                found += self._taken_alike(last, alike)
            if not self._is_led_by(printer, step.trust):
                continue
            regime = self._regimes.of(step)
            if regime != last and alike:
                found += self._taken_alike(last, alike)
            if regime is not None:
                alike.append(step)
            last = regime
        return found + self._taken_alike(last, alike)

    def save(self) -> bytes:
        """Return all that it knows, for `restore`."""
        streams = [
            (name, one.stream.save(), list(one.recent), one.waits)
            for name, one in self._streams.items()
        ]
        printers = list(self._printers.items())
        known = (printers, self._leader, self._trust, self._others, self._regimes)
        return msgspec.msgpack.encode(_Saved(*known, streams, self.slowdown, self.windows))

    def restore(self, saved: bytes) -> None:
        """Go on from what was saved of the same attempt under the same settings.

        Raises
        ------
        InputError
            When it can't be read, or was saved under other settings.
        """
        try:
            known = msgspec.msgpack.decode(saved, type=_Saved)
        except msgspec.DecodeError as error:
            raise InputError("a straggler detector can't be restored", found=str(error)) from error
        streams = {}
        for name, state, recent, waits in known.streams:
            stream = PaceStream(self.settings, self.attempt, name)
            stream.restore(state)
            streams[name] = _Followed(stream, deque(recent, maxlen=RECENT), waits)
        self._printers, self._streams = dict(known.printers), streams
        self._leader, self._trust, self._others = known.leader, known.trust, known.others
        self._regimes, self.slowdown = known.regimes, known.slowdown
        self.windows = known.windows

    def _is_led_by(self, printer: Printer | str, trust: int) -> bool:
        if printer == self._leader:
            self._others = 0
            return True
        if printer not in self._printers and len(self._printers) >= MAX_PRINTERS:
            return False
        self._printers[printer] = self._printers.get(printer, 0) + 1
        self._others += 1
        is_free = trust > self._trust or self._others > GIVEN_UP
        if not is_free or self._printers[printer] < LEADS:
            return False
        self._leader, self._trust, self._others = printer, trust, 0
        self._regimes = Regimes(self.settings.warm_up)
        self._streams.clear()
        self.windows.close()
        self.slowdown = None
        return True

    def _taken_alike(self, regime: str | None, steps: list[StepTime]) -> list[Slowdown]:
        """Take steps of one regime, and forget that they waited for it."""
        if regime is None or not steps:
            return []
        followed, found = self._follow(regime), list[Slowdown]()
        while steps and not followed.stream.is_guaranteed:  # each has a span of its own
            found += self._taken(followed, [steps.pop(0)])
        if steps:
            found += self._taken(followed, steps)
        steps.clear()
        return found

    def _taken(self, followed: _Followed, steps: Sequence[StepTime]) -> list[Slowdown]:
        """Take steps of a stream: one, or several once the span of each doesn't matter."""
        stream, found = followed.stream, list[Slowdown]()
        scale, level = stream.scale, stream.level
        values = [step.value for step in steps]
        changes = stream.take(values, span_seconds=steps[0].span_seconds)
        changed = {change.place: change for change in changes}
        for place, step in enumerate(steps):
            if scale is not None and step.time is not None and 0.0 < step.value < math.inf:
                is_alarm = place in stream.alarmed
                self.windows.take(stream.name, step.time, scale, alarmed=is_alarm)
            followed.recent.append(step)
            change = changed.get(place)
            level = level if change is None else change.level
            if level is Level.NONE and step.wait_seconds is not None:
                seconds, count = followed.waits
                followed.waits = _Waits(seconds + step.wait_seconds, count + 1)
            slow = None if change is None else self._changed(followed, change)
            if slow is not None:
                found.append(slow)
        return found

    def _follow(self, regime: str) -> _Followed:
        followed = self._streams.pop(regime, None)
        if followed is None:
            while len(self._streams) >= MAX_STREAMS:
                gone = next(iter(self._streams))
                del self._streams[gone]
                self.windows.close(gone)
                if self.slowdown is not None and self.slowdown.regime == gone:
                    self.slowdown = None
            followed = _Followed(PaceStream(self.settings, self.attempt, regime))
        self._streams[regime] = followed
        return followed

    def _changed(self, followed: _Followed, change: Change) -> Slowdown | None:
        regime = followed.stream.name
        if change.level is Level.NONE:
            if self.slowdown is not None and self.slowdown.regime == regime:
                self.slowdown = None
            return None
        recent = list(followed.recent)
        slow = recent[-1 - min(change.back, len(recent) - 1) :]
        before = recent[: len(recent) - len(slow)]
        gate = change.usual * (1.0 + self.settings.effect)
        self.slowdown = Slowdown(
            change.level,
            regime,
            since=slow[0],
            shown_by=recent[-1],
            usual=change.usual,
            ratio=change.ratio,
            waits=_more_waiting(followed.waits, slow, change.usual),
            slow_share=sum(step.value > gate for step in slow) / len(slow),
            is_gradual=_is_longer(before, (change.usual + gate) / 2.0),
        )
        return self.slowdown


def _is_longer(steps: list[StepTime], limit: float) -> bool:
    return len(steps) >= LEADS and median(step.value for step in steps) >= limit


def _more_waiting(before: _Waits, slow: list[StepTime], usual: float) -> float | None:
    """Return how much of what slow steps take longer is waiting for input (0 to 1)."""
    waits = [step.wait_seconds for step in slow if step.wait_seconds is not None]
    if not waits or not before.steps or len(waits) * 2 < len(slow):
        return None
    longer = sum(step.value for step in slow) / len(slow) - usual
    more = sum(waits) / len(waits) - before.seconds / before.steps
    return max(0.0, min(1.0, more / longer)) if longer > 0.0 else 0.0
