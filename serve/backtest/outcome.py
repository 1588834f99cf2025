"""What came of a backtest, as it is scored: alarms beside labels."""

from __future__ import annotations

from collections.abc import Iterator

from relume.dataset import LABELLED, AttemptEntry, Origin
from relume.models.scoring.alarm import Alarm
from relume.models.scoring.attempt import ScoredAttempt
from relume.serve.backtest.results import AdviceResult, AttemptResult, Results
from relume.serve.backtest.run import Recording
from relume.verdict import Kind


class Outcome:
    """The attempts of a backtest as they are scored, with the labels of now: read once.

    Attributes
    ----------
    unread
        What of the logs could not be used, by attempt; nothing where it left none.
    not_replayed
        Labelled attempts that the data doesn't hold: nothing is said about them.

    Both are whole when `attempts` has come to its end.
    """

    def __init__(self, recording: Recording, results: Results) -> None:
        self._results, self._origin = results, recording.origin
        self._labels = recording.labels()
        self.unread: dict[str, list[str]] = {}
        self.not_replayed = list(self._labels)

    def attempts(self) -> Iterator[ScoredAttempt]:
        """Yield the attempts, in the order in which they were replayed."""
        left = dict(self._labels)
        for unit in self._results.read():
            for one in unit.attempts:
                if one.missing or not one.logs:
                    self.unread[one.attempt] = one.missing
                yield scored(one, left.pop(one.attempt, None), self._origin)
        self.not_replayed = list(left)


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
