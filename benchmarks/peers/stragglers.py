"""The straggler half: what others do about slow steps, on the step times that ours see too.

Each sees the same slowdowns and the same quiet job-days. None is tuned, ours neither: others run
with the settings that they are published with, or that their makers have as defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from river import drift

from relume.benchmarks.false_alarms.plans import job_plan
from relume.benchmarks.false_alarms.quiet import Regime, quiet_day
from relume.benchmarks.false_alarms.stragglers import BAR_PACE_SECONDS, readings
from relume.benchmarks.measures import quantile
from relume.benchmarks.result import Measure
from relume.benchmarks.straggler.injected import PACE_SECONDS, Injected, Source, inject
from relume.models.straggler.levels import Level
from relume.models.straggler.settings import StragglerSettings
from relume.models.straggler.stream import PaceStream

if TYPE_CHECKING:
    from numpy.typing import NDArray

CALIBRATION: Final = 100
"""Steps from which peers take what is usual, where they need that."""
DEDUP_STEPS: Final = 60
"""Alarms within so many steps of the first are one (300 s at 5 s a step; metrics section 2)."""

Alarms = Callable[["NDArray[np.float64]"], "NDArray[np.int64]"]
"""From step times in order to the places of those that alarm."""


@dataclass(slots=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    delays
        Seconds to the first alarm of each slowdown, null for a miss.
    last
        Seconds after which an alarm was too late, of each slowdown.
    early
        Alarms before the slowdowns.
    false
        Alarms in quiet job-days, by regime.
    job_days
        Quiet job-days in all regimes.
    """

    delays: list[float | None] = field(default_factory=list)
    last: list[float] = field(default_factory=list)
    early: int = 0
    false: dict[str, int] = field(default_factory=dict)
    job_days: int = 0

    def quantile(self, part: float) -> float:
        """Return a quantile of the delays; a miss took at least until it was too late."""
        pairs = zip(self.delays, self.last, strict=True)
        return quantile((last if delay is None else delay for delay, last in pairs), part)

    @property
    def missed(self) -> int:
        """Slowdowns that were not found."""
        return sum(delay is None for delay in self.delays)

    def measures(self, name: str) -> dict[str, Measure]:
        """Return its numbers; a slowdown that was missed took as long as it lasted, at least."""
        false = sum(self.false.values()) + self.early
        return {
            f"{name}_false_alarms_per_job_day": round(false / max(1, self.job_days), 4),
            f"{name}_delay_p50_seconds": self.quantile(0.5),
            f"{name}_delay_p95_seconds": self.quantile(0.95),
            f"{name}_missed": self.missed,
        }


def ours(settings: StragglerSettings, level: Level) -> Alarms:
    """Our own detector, up to a level."""

    def alarms(values: NDArray[np.float64]) -> NDArray[np.int64]:
        stream = PaceStream(settings, "peers", "0.0")
        found = stream.take(values, span_seconds=BAR_PACE_SECONDS)
        return np.array([one.place for one in found if one.level >= level], np.int64)

    return alarms


def twice_the_median(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """A step that takes more than twice the median of the hundred before it."""
    windows = np.lib.stride_tricks.sliding_window_view(values[:-1], CALIBRATION)
    # Every tenth median: it moves little, and a million sorts take a minute.
    medians = np.repeat(np.median(windows[::10], axis=1), 10)[: len(windows)]
    return np.flatnonzero(values[CALIBRATION:] > 2.0 * medians) + CALIBRATION


def three_quarters_of_the_fastest(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """A report each minute: less than 0.75 times as fast as the fastest report so far.

    So does NVIDIA's resiliency extension with the scores of a rank against its own best.
    """
    block = max(1, round(60.0 / BAR_PACE_SECONDS))
    count = len(values) // block
    reports = np.median(values[: count * block].reshape(count, block), axis=1)
    fastest = np.minimum.accumulate(reports)
    return (np.flatnonzero(fastest / reports < 0.75) + 1) * block - 1  # noqa: PLR2004


def raw_cusum(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """A CUSUM of single steps with the slack of half and the threshold of five deviations."""
    usual, spread = values[:CALIBRATION].mean(), values[:CALIBRATION].std()
    readings_ = (values[CALIBRATION:] - usual) / max(spread, 1e-12) - 0.5
    found, total = [], 0.0
    for place, reading in enumerate(readings_.tolist(), start=CALIBRATION):
        total = max(0.0, total + reading)
        if total > 5.0:  # noqa: PLR2004
            found.append(place)
            total = 0.0
    return np.array(found, np.int64)


def river_page_hinkley(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """River's PageHinkley with its defaults, upward only."""
    detector = drift.PageHinkley(mode="up")
    found = []
    for place, value in enumerate(values.tolist()):
        detector.update(value)
        if detector.drift_detected:
            found.append(place)
    return np.array(found, np.int64)


def river_adwin(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """River's ADWIN with its defaults; a change downwards is no alarm."""
    detector = drift.ADWIN()
    found, before = [], 0.0
    for place, value in enumerate(values.tolist()):
        detector.update(value)
        if detector.drift_detected and detector.estimation > before:
            found.append(place)
        before = detector.estimation
    return np.array(found, np.int64)


PEERS: Final[dict[str, Alarms]] = {
    "ours_guaranteed": ours(StragglerSettings(), Level.ACTIONABLE),
    "ours_fast": ours(StragglerSettings(), Level.SUSPICION),
    "ours_to_the_letter": ours(StragglerSettings(full_bets=False), Level.ACTIONABLE),
    "0.75_of_fastest": three_quarters_of_the_fastest,
    "2_x_median": twice_the_median,
    "raw_cusum": raw_cusum,
    "river_page_hinkley": river_page_hinkley,
    "river_adwin": river_adwin,
}
"""By the name of the row; `to_the_letter` is the e-detector as metrics section 4 writes it."""
SLOWDOWNS: Final = (1.2, 1.25, 1.3, 1.5, 2.0)
_RUNS_OF_DAYS: Final = 10
"""Quiet job-days for each run with a slowdown, of each size and regime."""


@dataclass(frozen=True, slots=True)
class MadeUp:
    """Step times of quiet days in one regime, without pauses."""

    regime: Regime

    @property
    def name(self) -> str:
        """The regime."""
        return str(self.regime)

    def longer(self, count: int, *words: int) -> NDArray[np.float64]:
        """Return `count` step times over their median, drawn by `words`."""
        day = quiet_day(job_plan(words[0], pace_seconds=PACE_SECONDS), self.regime, 1 + words[1])
        steps = day.step_seconds[:count]
        return steps / float(np.median(steps))


def table(job_days: int) -> dict[str, Row]:
    """Let everybody watch the same slowdowns, and so many quiet job-days in every regime."""
    rows = {name: Row() for name in PEERS}
    for regime in Regime:
        for row in rows.values():
            row.false[regime] = 0
        for values in _quiet(regime, range(job_days)):
            for name, alarms in PEERS.items():
                rows[name].false[regime] += _separate(alarms(values))
                rows[name].job_days += 1
        for slowdown in SLOWDOWNS:
            for number in range(max(1, job_days // _RUNS_OF_DAYS)):
                add_run(rows, MadeUp(regime), slowdown, number)
    return rows


def add_run(rows: dict[str, Row], source: Source, slowdown: float, number: int) -> None:
    """Let everybody watch one run with a slowdown."""
    run = inject(source, slowdown, number)
    for name, alarms in PEERS.items():
        _add_run(rows[name], run, alarms(run.values))


def _add_run(row: Row, run: Injected, places: NDArray[np.int64]) -> None:
    last = run.seconds(run.end - 1) + PACE_SECONDS * (len(run.values) - run.end)
    delays = (run.seconds(int(place)) for place in places if place >= run.onset)
    first = next(iter(delays), None)
    row.delays.append(first if first is not None and first <= last else None)
    row.last.append(last)
    row.early += _separate(places[places < run.onset])


def _quiet(regime: Regime, days: range) -> Iterator[NDArray[np.float64]]:
    """Yield the undisturbed steps of quiet days, the same for everybody."""
    for number in days:
        day = quiet_day(job_plan(number, pace_seconds=BAR_PACE_SECONDS), regime)
        yield readings(day)["0.0"]


def _separate(places: NDArray[np.int64]) -> int:
    """Count alarms, those close after another one as that one."""
    count, first = 0, -DEDUP_STEPS
    for place in places.tolist():
        if place - first >= DEDUP_STEPS:
            count, first = count + 1, place
    return count
