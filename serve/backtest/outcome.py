"""What came of a backtest, as it is scored: alarms beside labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from relume.dataset import LABELLED, AttemptEntry, Origin
from relume.models.scoring.alarm import Alarm
from relume.models.scoring.attempt import ScoredAttempt
from relume.models.straggler.across import Judged, across
from relume.models.straggler.windows import Window
from relume.serve.backtest.results import AdviceResult, AttemptResult, Results
from relume.serve.backtest.run import Recording
from relume.serve.live.pace import SLOW_STEPS_RULE
from relume.verdict import Kind


class Outcome:
    """The attempts of a backtest as they are scored, with the labels of now: read once.

    Attributes
    ----------
    unread
        What of the logs could not be used, by attempt; nothing where it left none.
    not_replayed
        Labelled attempts that the data doesn't hold: nothing is said about them.

    Both are whole when `attempts` has come to its end; `across_jobs` can be asked then.
    """

    def __init__(self, recording: Recording, results: Results) -> None:
        self._results, self._origin = results, recording.origin
        self._labels = recording.labels()
        self._windows: list[tuple[str, Window]] = []
        self._slow: list[tuple[str, int]] = []
        self.unread: dict[str, list[str]] = {}
        self.not_replayed = list(self._labels)

    def attempts(self) -> Iterator[ScoredAttempt]:
        """Yield the attempts, in the order in which they were replayed."""
        left = dict(self._labels)
        for unit in self._results.read():
            for one in unit.attempts:
                if one.missing or not one.logs:
                    self.unread[one.attempt] = one.missing
                self._windows += [(one.attempt, window) for window in one.windows]
                self._slow += [(one.attempt, time) for time in _slowdowns(one)]
                yield scored(one, left.pop(one.attempt, None), self._origin)
        self.not_replayed = list(left)

    def across_jobs(self, false_share: float) -> AcrossJobs:
        """Return which slowdowns hold across jobs, when so many of those that do may be false."""
        judged = across(self._windows, false_share)
        found: dict[str, list[Judged]] = {}
        for one in judged:
            if one.window.evidence:
                found.setdefault(one.attempt, []).append(one)
        told = sorted((time, attempt) for attempt, time in self._slow)
        alarms = [
            SlowAlarm(attempt, at, _window_of(found.get(attempt, ()), at)) for at, attempt in told
        ]
        return AcrossJobs(false_share, len(judged), alarms)


@dataclass(frozen=True, slots=True)
class SlowAlarm:
    """One slowdown that was told; its window is null where none was kept of it any more."""

    attempt: str
    told_at: int
    judged: Judged | None

    @property
    def holds(self) -> bool:
        """Whether it holds across jobs."""
        return self.judged is not None and self.judged.holds


@dataclass(frozen=True, slots=True)
class AcrossJobs:
    """Slowdowns, in the order in which they were told, of so many windows of all jobs."""

    false_share: float
    windows: int
    alarms: list[SlowAlarm]


def _slowdowns(one: AttemptResult) -> Iterator[int]:
    """When slowdowns were told that keep a budget."""
    for result in one.advice:
        if result.advice.rule == SLOW_STEPS_RULE:
            yield result.advice.created_at


def _window_of(windows: Sequence[Judged], told_at: int) -> Judged | None:
    """Return the window that an alarm was told of: the last that had alarmed by then."""
    by_then = [one for one in windows if one.window.evidence[0][0] <= told_at]
    return by_then[-1] if by_then else next(iter(windows), None)


def scored(one: AttemptResult, label: AttemptEntry | None, origin: Origin) -> ScoredAttempt:
    """Return the result of an attempt as it is scored, with its label; null where it has none."""
    alarms = (_alarm(one, advice) for advice in one.advice)
    return ScoredAttempt(
        attempt=one.attempt,
        title=one.title if label is None else label.title,
        origin=origin,
        # What nobody read was not quiet.
        start=one.start if one.logs else None,
        end=one.end if one.logs else None,
        nodes=one.nodes,
        incidents=None if label is None else label.incidents,
        ignore=() if label is None else label.ignore,
        alarms=tuple(alarm for alarm in alarms if alarm is not None),
    )


def _alarm(one: AttemptResult, result: AdviceResult) -> Alarm | None:
    """Advice of a kind that claims something; one that takes it back is none."""
    advice = result.advice
    if advice.kind not in LABELLED:
        return None
    return Alarm(
        attempt=one.attempt,
        kind=advice.kind,
        time=advice.created_at if one.start is not None and one.logs else None,
        rule=advice.rule,
        domain=advice.domain,
        cause=advice.cause,
        nodes=tuple(result.nodes),
        ranks=tuple(result.ranks),
        excluded_nodes=advice.exclude_nodes,
        operation=advice.operation,
        confidence=advice.confidence,
        settled=advice.settled,
        # No line names it: it is known from the scheduler's record alone, which is no detection.
        told_by_scheduler=advice.kind is Kind.CRASH and advice.rule is None,
    )
