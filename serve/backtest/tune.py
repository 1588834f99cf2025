"""`relume backtest --tune`: settings found on earlier jobs, and shown on later ones.

Settings, and combinations of them, are tried on runs that were over by some time. What was chosen
is then judged once on runs that began later. Nothing of those was looked at before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from relume.errors import InputError
from relume.models.scoring.attempt import ScoredAttempt, ScoreSettings
from relume.models.scoring.exposure import exposure_of
from relume.models.tuning.choice import Tally, tally
from relume.models.tuning.search import Knob, Point, most_trials, search
from relume.models.tuning.split import Ran, Split, split
from relume.serve.backtest.engines.work import HERE, Engine
from relume.serve.backtest.outcome import scored
from relume.serve.backtest.results import Results
from relume.serve.backtest.run import Judging, Recording
from relume.serve.live.options import RunnerOptions
from relume.settings import Settings
from relume.verdict import Kind

KNOBS: Final[dict[Kind, tuple[Knob, ...]]] = {
    Kind.HANG: (
        Knob(
            "hang.false_alarms_per_job_day",
            (0.001, 0.003, 0.01, 0.03, 0.1),
            larger_is_sooner=True,
        ),
        Knob("hang.actionable_seconds", (60.0, 90.0, 180.0, 300.0), larger_is_sooner=False),
    ),
    Kind.STRAGGLER: (
        Knob("straggler.false_alarms_per_job_day", (0.001, 0.01, 0.1), larger_is_sooner=True),
        Knob("straggler.effect_ratio", (0.03, 0.05, 0.1), larger_is_sooner=False),
    ),
}


@dataclass(frozen=True, slots=True)
class Tuned:
    """What was found of one kind.

    `changed` are the settings that differ from those of now. The tallies are of earlier jobs
    (where they were chosen) and of later ones, before and after the change.
    """

    kind: Kind
    changed: dict[str, float]
    earlier: tuple[Tally, Tally]
    later: tuple[Tally, Tally]

    def holds(self, budget: float) -> bool:
        """Whether later jobs speak for the change: it keeps to the budget, or is no worse."""
        before, after = self.later
        no_worse = after.false_alarms <= before.false_alarms
        return (after.keeps(budget) or no_worse) and after.found >= before.found


@dataclass(frozen=True, slots=True)
class Tuning:
    """What came of it. `split` says which runs were earlier and which later."""

    budget: float
    split: Split
    tuned: tuple[Tuned, ...]

    @property
    def proposed(self) -> dict[str, float]:
        """The settings that later jobs speak for, by name; empty to leave all as it is."""
        held = (one.changed for one in self.tuned if one.holds(self.budget))
        return {name: value for changed in held for name, value in changed.items()}


@dataclass(slots=True)
class _Tuner:
    recording: Recording
    judging: Judging
    settings: Settings
    budget: float
    folder: Path
    advance: Callable[[int, int], None]
    knobs: Mapping[Kind, tuple[Knob, ...]]
    engine: Engine
    done: int = 0
    labels: dict[str, Any] = field(default_factory=dict)

    def run(self) -> Tuning:
        self.labels = self.recording.labels()
        halves, units = self._split()
        tuned = []
        for kind, knobs in self.knobs.items():
            tuned.append(self._tune(kind, knobs, halves, units))
        return Tuning(self.budget, halves, tuple(tuned))

    def _split(self) -> tuple[Split, dict[str, frozenset[str]]]:
        """Split the runs by when they ran; return it with the units of each run."""
        spans: dict[str, list[ScoredAttempt]] = {}
        units: dict[str, set[str]] = {}
        for name, unit, attempt in self._replayed(self.settings, None):
            if attempt.start is not None and attempt.end is not None:
                spans.setdefault(name, []).append(attempt)
                units.setdefault(name, set()).add(unit)
        found = split(_ran(name, attempts) for name, attempts in spans.items())
        if found.cut is None:
            raise InputError(
                f"settings can't be tuned by {self.recording.name}",
                found=f"{len(spans)} runs with clocks, none of them labelled and over before "
                "another labelled one began",
                expected="labelled runs at different times: some to tune by, later ones to judge",
                hint="label healthy attempts too (`incidents` empty): without them nothing is "
                "known of false alarms",
            )
        return found, {name: frozenset(of) for name, of in units.items()}

    def _tune(
        self,
        kind: Kind,
        knobs: tuple[Knob, ...],
        halves: Split,
        units: Mapping[str, frozenset[str]],
    ) -> Tuned:
        def evaluate(point: Point) -> Tally:
            return self._tally(self._with(knobs, point), kind, halves.earlier, units)

        present = tuple(value_of(self.settings, knob.name) for knob in knobs)
        now, chosen = search(knobs, present, evaluate, self.budget)
        changed = {
            knob.name: value
            for knob, value, was in zip(knobs, chosen.values, present, strict=True)
            if value != was
        }
        before = self._tally(self.settings, kind, halves.later, units)
        settings = self._with(knobs, chosen.values)
        after = self._tally(settings, kind, halves.later, units) if changed else before
        return Tuned(kind, changed, (now.tally, chosen.tally), (before, after))

    def _with(self, knobs: tuple[Knob, ...], point: Point) -> Settings:
        values = {knob.name: value for knob, value in zip(knobs, point, strict=True)}
        return with_values(self.settings, values)

    def _tally(
        self,
        settings: Settings,
        kind: Kind,
        runs: Collection[str],
        units: Mapping[str, frozenset[str]],
    ) -> Tally:
        only = frozenset(unit for run in runs for unit in units[run])
        found = self._replayed(settings, only)
        return tally((attempt for name, _, attempt in found if name in runs), kind)

    def _replayed(
        self, settings: Settings, only: Collection[str] | None
    ) -> Iterator[tuple[str, str, ScoredAttempt]]:
        """Replay under `settings`; yield each attempt with the names of its run and unit.

        Suspicions of slow steps are left out: they keep no budget.
        """
        quiet = with_values(settings, {"straggler.suspicions": False})
        judging = replace(self.judging, settings=RunnerOptions.of(quiet).watch)
        about = self.recording.about(judging)
        with Results(self.folder / about.settings, about) as results:
            self.recording.replay(judging, results, self._advance, only=only, engine=self.engine)
            results.require_whole()
            for unit in results.read():
                if only is None or unit.unit in only:
                    for one in unit.attempts:
                        label = self.labels.get(one.attempt)
                        attempt = scored(one, label, self.recording.origin)
                        yield f"{unit.unit}\n{one.run}", unit.unit, attempt
        self.done += 1

    def _advance(self, done: int, total: int) -> None:
        # Each combination, all runs once, later ones as it is and as chosen: at most.
        trials = sum(map(most_trials, self.knobs.values())) + 3
        self.advance(min(self.done, trials - 1) * total + done, trials * total)


def tune(  # noqa: PLR0913 - what is tuned by what, each by its name
    recording: Recording,
    judging: Judging,
    settings: Settings,
    *,
    budget: float,
    folder: Path,
    advance: Callable[[int, int], None] = lambda _done, _total: None,
    knobs: Mapping[Kind, tuple[Knob, ...]] = KNOBS,
    engine: Engine = HERE,
) -> Tuning:
    """Find settings of the detectors of hangs and stragglers that keep to a budget.

    Parameters
    ----------
    recording
        Recorded attempts with labels, healthy ones too.
    judging, settings
        How they are judged now, and the configuration that says so.
    budget
        False alarms a job-day that are accepted of each kind.
    folder
        Where results of each replay are kept, to be gone on from.
    advance
        Told how much is done, and how much there is at most.
    knobs
        What is tried of each kind.
    engine
        Where it is replayed.

    Raises
    ------
    InputError
        For a budget that is none, and for recordings that can't be split or replayed as a whole.
    """
    if not 0.0 < budget <= 1.0:
        raise InputError(
            "budget of false alarms", found=f"{budget:g}", expected="more than 0, at most 1"
        )
    return _Tuner(recording, judging, settings, budget, folder, advance, knobs, engine).run()


def value_of(settings: Settings, name: str) -> float:
    """Return the value of a setting, by its section and key.

    Examples
    --------
    >>> value_of(Settings(), "hang.actionable_seconds")
    90.0
    """
    section, key = name.split(".")
    return float(getattr(getattr(settings, section), key))


def with_values(settings: Settings, values: Mapping[str, float | bool]) -> Settings:
    """Return a configuration with other values, each by its section and key.

    Examples
    --------
    >>> value_of(
    ...     with_values(Settings(), {"hang.actionable_seconds": 180.0}), "hang.actionable_seconds"
    ... )
    180.0
    """
    for name, value in values.items():
        section, key = name.split(".")
        changed = getattr(settings, section).model_copy(update={key: value})
        settings = settings.model_copy(update={section: changed})
    return settings


def _ran(name: str, attempts: list[ScoredAttempt]) -> Ran:
    """Return when a run ran, and how many labelled job-days it had; an incident is one of them."""
    known = [one for one in attempts if one.incidents is not None]
    exposures = (exposure_of(one, ScoreSettings()) for one in known)
    days = sum(one.days for one in exposures if one is not None)
    incidents = sum(len(one.incidents or ()) for one in known)
    return Ran(
        name,
        start=min(one.start or 0 for one in attempts),
        end=max(one.end or 0 for one in attempts),
        weight=days + incidents,
    )
