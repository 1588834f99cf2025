"""One stream of step times: one regime of one printer, watched in both modes.

*Guaranteed*: the e-detector against a calibration of a thousand steps; its alarms keep the budget.
*Fast*: baselines of 64 bytes calibrated by a hundred steps; a suspicion, which only observes.
"""

from __future__ import annotations

import json
import math
from array import array
from collections import deque
from dataclasses import replace
from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING, Final

import numpy as np

from relume.errors import InputError
from relume.models.baselines.baselines import Baselines
from relume.models.baselines.guaranteed import (
    DAY_SECONDS,
    EDetector,
    GuaranteedSettings,
    alpha_of,
)
from relume.models.baselines.kernels import CUSUM
from relume.models.baselines.packing import packed, unpacked
from relume.models.baselines.samples import Samples
from relume.models.baselines.series import BLOCK
from relume.models.straggler.levels import Change, Level
from relume.models.straggler.settings import StragglerSettings
from relume.models.straggler.windows import Scale

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

RECENT: Final = 64
"""Steps kept to tell since when, and by how much."""
RECOVERED: Final = 10
"""Steps after an alarm whose median must be within the gate again for the slowdown to be over."""
SHIFTS: Final = (0, 2)
"""Where the blocks of five of each baseline begin. A slowdown shows once it fills most of a block:
of one row of blocks up to seven steps pass until then, of two shifted ones five."""
UNKNOWN_SPAN_SECONDS: Final = 1.0
"""How far readings are taken to lie apart when nothing tells: few are, so the budget is kept."""
_LEAST_SPAN_SECONDS: Final = 1e-6
"""Readings closer together are nobody's steps."""


class PaceStream:
    """A stream of times in order. Bounded: 16 KiB while it calibrates, 8 afterwards.

    Parameters
    ----------
    settings
        Thresholds.
    attempt, name
        Whose stream it is: they choose the draws.

    Attributes
    ----------
    alarms
        Alarms of the guaranteed mode so far, those that only confirm a slowdown too.
    alarmed
        Which of the readings that were taken last made these.

    Examples
    --------
    >>> from relume.models.straggler.settings import StragglerSettings
    >>> rng = np.random.default_rng(1)
    >>> stream = PaceStream(StragglerSettings(), "lab/7@1.0", "train")
    >>> stream.take(5 + 0.1 * rng.standard_normal(5000), span_seconds=5.0)
    []
    >>> slow = stream.take(6 + 0.1 * rng.standard_normal(60), span_seconds=6.0)
    >>> [(change.level.name, change.place, round(change.ratio, 1)) for change in slow]
    [('SUSPICION', 4, 1.2), ('ACTIONABLE', 11, 1.2)]
    """

    def __init__(self, settings: StragglerSettings, attempt: str, name: str) -> None:
        self.settings, self.attempt, self.name = settings, attempt, name
        self.level = Level.NONE
        self.alarms = 0
        self.alarmed: list[int] = []
        self._held = array("d")
        self._span = 0.0
        self._guaranteed: EDetector | None = None
        self._fast = Baselines(settings.fast())
        self._taken = 0
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._since_alarm = 0

    @property
    def count(self) -> int:
        """Readings taken."""
        return self._taken

    @property
    def last(self) -> float | None:
        """The newest reading; null before there is one."""
        return self._recent[-1] if self._recent else None

    @property
    def evidence(self) -> float:
        """What speaks for a slowdown in the guaranteed mode, as a share of what is an alarm.

        0 before it is calibrated, and right after an alarm.
        """
        detector = self._guaranteed
        return 0.0 if detector is None else detector.evidence * detector.settings.alpha

    @property
    def is_guaranteed(self) -> bool:
        """Whether the guaranteed mode is calibrated."""
        return self._guaranteed is not None

    @property
    def scale(self) -> Scale | None:
        """What its alarms weigh across jobs; null before the guaranteed mode is calibrated."""
        if self._guaranteed is None:
            return None
        seconds = max(_LEAST_SPAN_SECONDS, self._span / self.settings.calibration)
        return Scale(self._guaranteed.settings.alpha, max(1, round(DAY_SECONDS / seconds)))

    @property
    def usual(self) -> float | None:
        """What a step usually takes: the median of the calibration; null before even the fast."""
        if self._guaranteed is not None:
            return self._guaranteed.usual
        one = self._fast.series
        is_calibrated = len(one) and one[0]["blocks"] >= self.settings.fast_blocks
        return float(one[0]["base"]) if is_calibrated else None

    def take(self, values: ArrayLike, *, span_seconds: float | None = None) -> list[Change]:
        """Take readings in order; return what they change. What is no time of a step is passed.

        Parameters
        ----------
        values
            Time of a step, each.
        span_seconds
            From one reading to the next; null when nothing tells.
        """
        given = np.ascontiguousarray(values, np.float64)
        self.alarmed = []
        if len(given) == 1:  # as where a job prints a step now and then
            is_time = 0.0 < given[0] < math.inf
            return self._take(given, span_seconds or UNKNOWN_SPAN_SECONDS) if is_time else []
        places = np.flatnonzero((given > 0.0) & (given < np.inf))
        changes: list[Change] = []
        alarmed: list[int] = []
        begin = 0
        for part in np.split(given[places], self._turns(len(places))):
            self.alarmed = []
            found = self._take(part, span_seconds or UNKNOWN_SPAN_SECONDS)
            changes += [replace(one, place=int(places[begin + one.place])) for one in found]
            alarmed += [int(places[begin + place]) for place in self.alarmed]
            begin += len(part)
        self.alarmed = alarmed
        return changes

    def _turns(self, count: int) -> list[int]:
        """Where among the next readings what is usual becomes known, or better known."""
        known = (self.settings.fast_blocks * BLOCK, self.settings.calibration)
        turns = {at - self._taken for end in known for at in (end - 1, end)}
        return sorted(turn for turn in turns if 0 < turn < count)

    def _take(self, values: NDArray[np.float64], span: float) -> list[Change]:
        alarms = self._alarms(values, span) if len(values) else {}
        if not alarms and self.level is Level.NONE:
            self._recent.extend(values[-RECENT:].tolist())
            return []
        changes = []
        first = 0 if self.level else min(alarms)
        self._recent.extend(values[max(0, first - RECENT) : first].tolist())
        for place in range(first, len(values)):
            self._recent.append(float(values[place]))
            change = self._step(place, alarms.get(place))
            if change is not None:
                changes.append(change)
        return changes

    def _alarms(self, values: NDArray[np.float64], span: float) -> dict[int, Level]:
        """Return which readings alarm in which mode, the surer one where both do."""
        alarms: dict[int, Level] = {}
        found = self._fast.follow(self._shifted(values))
        if len(found.ids):
            at = found.times[(found.kinds & CUSUM) > 0] - self._taken
            alarms |= dict.fromkeys(at.tolist(), Level.SUSPICION)
        self._taken += len(values)
        begin = 0
        if self._guaranteed is None:
            begin = min(len(values), self.settings.calibration - len(self._held))
            self._held.extend(values[:begin].tolist())
            for _ in range(begin):  # one by one: the sum must not depend on the cuts
                self._span += span
            if len(self._held) == self.settings.calibration:
                self._calibrate()
        if self._guaranteed is not None and begin < len(values):
            places = self._guaranteed.take(values[begin:]) + begin
            if len(places):
                self.alarms += len(places)
                self.alarmed = places.tolist()
                alarms |= dict.fromkeys(self.alarmed, Level.ACTIONABLE)
        return alarms

    def _shifted(self, values: NDArray[np.float64]) -> Samples:
        """Return the next readings for each of the two baselines, by their numbers as times."""
        ids, times = _rows(len(values))
        if self._taken < SHIFTS[-1]:
            is_seen = times + self._taken >= np.array(SHIFTS)[ids]
            return Samples(ids, times + self._taken, np.tile(values, 2)).chosen(is_seen)
        return Samples(ids, times + self._taken, np.concatenate([values, values]))

    def _calibrate(self) -> None:
        self._guaranteed = self._new_detector()
        self._guaranteed.take(np.frombuffer(self._held, np.float64))
        self._held = array("d")

    def _new_detector(self) -> EDetector:
        """Regimes share no budget: each reading is one of one stream only."""
        s = self.settings
        alpha = alpha_of(s.budget, self._span / s.calibration)
        wanted = GuaranteedSettings(
            alpha, s.calibration, s.eta, s.effect, s.seed, full_bets=s.full_bets
        )
        return EDetector(wanted, self.attempt, self.name)

    def _step(self, place: int, alarm: Level | None) -> Change | None:
        usual = self.usual
        if usual is None:
            return None
        self._since_alarm += bool(self.level)
        if alarm is not None and alarm > self.level:
            self.level, self._since_alarm = alarm, 0
            back = self._onset(usual)
            slow = list(self._recent)[-1 - back :]
            return Change(place, alarm, back, usual, median(slow) / usual)
        if self.level and self._since_alarm >= RECOVERED:
            last = median(list(self._recent)[-RECOVERED:])
            if last <= usual * (1.0 + self.settings.effect):
                self.level, self._since_alarm = Level.NONE, 0
                return Change(place, Level.NONE)
        return None

    def _onset(self, usual: float) -> int:
        """How many readings ago it began: where the sum of what exceeds the gate was least."""
        total, least, back = 0.0, math.inf, 0
        recent = list(self._recent)
        for number, value in enumerate(recent):
            if total <= least:
                least, back = total, len(recent) - 1 - number
            total += value / usual - 1.0 - self.settings.effect
        return back

    def save(self) -> bytes:
        """Return everything that is known, for `restore`."""
        plain = {
            "level": int(self.level),
            "alarms": self.alarms,
            "held": self._held.tolist(),
            "span": self._span,
            "taken": self._taken,
            "recent": list(self._recent),
            "since_alarm": self._since_alarm,
        }
        guaranteed = self._guaranteed.save() if self._guaranteed is not None else b""
        return packed(
            plain=np.frombuffer(json.dumps(plain).encode(), np.uint8),
            fast=np.frombuffer(self._fast.save(), np.uint8),
            guaranteed=np.frombuffer(guaranteed, np.uint8),
        )

    def restore(self, saved: bytes) -> None:
        """Go on from what was saved of the same stream under the same settings.

        Raises
        ------
        InputError
            When it can't be read, or was saved under other settings.
        """
        parts = unpacked(saved, ("plain", "fast", "guaranteed"), "a stream")
        fast, guaranteed = parts["fast"].tobytes(), parts["guaranteed"].tobytes()
        try:
            plain = json.loads(parts["plain"].tobytes())
            level, taken = Level(plain["level"]), int(plain["taken"])
            alarms = int(plain["alarms"])
            held, span = array("d", plain["held"]), float(plain["span"])
            recent = deque(map(float, plain["recent"]), maxlen=RECENT)
            since_alarm = int(plain["since_alarm"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError("a stream can't be restored", found=str(error)) from error
        self._fast = Baselines.restore(fast, self.settings.fast())
        self.level, self._taken, self._held, self._span = level, taken, held, span
        self.alarms = alarms
        self._recent, self._since_alarm, self._guaranteed = recent, since_alarm, None
        if guaranteed:
            self._guaranteed = self._new_detector()
            self._guaranteed.restore(guaranteed)


@lru_cache(maxsize=8)
def _rows(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return numbers and places of so many readings for each baseline; nobody may change them."""
    places = np.arange(count)
    return np.repeat(np.arange(len(SHIFTS)), count), np.tile(places, len(SHIFTS))


def warm_up() -> None:
    """Compile the kernels, or load them: the first step of a service must not wait for that."""
    stream = PaceStream(StragglerSettings(calibration=5, eta=1.0, fast_blocks=2), "warm-up", "")
    stream.take(np.full(30, 1.0), span_seconds=1.0)
