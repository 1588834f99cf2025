"""What scoreboards count, kept in memory: each look reads only what changed since the last one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from threading import Lock

from relume.advice import Advice
from relume.errors import UnreachableError
from relume.identity import AttemptId
from relume.models.worth.outcomes import Label
from relume.serve.ledger import (
    MAX_NEWS,
    LabelRecord,
    Ledger,
    News,
    OutcomeRecord,
    Standing,
)
from relume.serve.ledger.labels import stands
from relume.serve.reports.alarms import ALARMING, Alarm, alarms_of
from relume.serve.reports.falsepositives import FalsePositive, explained
from relume.serve.reports.scoreboard import Ran, Scoreboard, scores

DAY = 86_400_000_000
KEPT_DAYS = 90
"""What is older is forgotten; whoever asks for more has it read anew each time."""
TURN_SECONDS = 10.0
"""How long a look waits for another one."""
_SLACK = 7 * DAY
"""An alarm may be raised some time after its attempt ended."""


@dataclass(frozen=True, slots=True)
class Rightness:
    """How right Advice was; of the false alarms how many there are, and the newest."""

    board: Scoreboard
    false_total: int
    false_alarms: list[FalsePositive]


class KeptRecord:
    """What a ledger says of alarms and attempts of the last months. Thread-safe.

    What changes is known by numbers that rise: of news (Advice, labels, reports) and of writings of
    attempts. So it doesn't matter which process wrote.

    Parameters
    ----------
    ledger
        What is read.
    kept
        For how long back, in microseconds.
    """

    def __init__(self, ledger: Ledger, *, kept: int = KEPT_DAYS * DAY) -> None:
        self._ledger, self._kept = ledger, kept
        self._lock = Lock()
        self._number, self._changed = -1, -1
        self._advice: dict[str, Advice] = {}
        self._labels: dict[str, tuple[LabelRecord, ...]] = {}
        self._outcomes: dict[str, OutcomeRecord] = {}
        self._attempts: dict[str, Ran] = {}

    def __len__(self) -> int:
        return len(self._advice) + len(self._labels) + len(self._attempts)

    def rightness(self, since: int, until: int, *, most_false: int = 0) -> Rightness:
        """Return how right Advice was from `since` to `until`, with the newest false alarms.

        Raises
        ------
        UnreachableError
            When the ledger can't be read, or another look waits for it.
        """
        if since < until - self._kept:
            anew = KeptRecord(self._ledger, kept=until - since)
            return anew.rightness(since, until, most_false=most_false)
        if not self._lock.acquire(timeout=TURN_SECONDS):
            raise UnreachableError(
                "the scoreboard",
                found=f"another look that has read the ledger for {TURN_SECONDS:.0f} s",
                hint="is the ledger's server slow or away?",
            )
        try:
            self._read(max(0, until - self._kept))
            return self._counted(since, until, most_false)
        finally:
            self._lock.release()

    def _counted(self, since: int, until: int, most_false: int) -> Rightness:
        alarms = alarms_of(self._told(since))
        board = scores(alarms, self._attempts.values(), since=since, until=until)
        wrong = [one for one in alarms if one.label is Label.FALSE]
        newest = wrong[len(wrong) - min(most_false, len(wrong)) :]
        nodes = {one.attempt: one.nodes for one in self._attempts.values()}
        whole = list(self._whole(newest))
        return Rightness(board, len(wrong), explained(whole, nodes, self._ledger.milestones))

    def _told(self, since: int) -> Iterator[tuple[Advice, Standing]]:
        """Yield Advice from a time on, oldest first, as `Ledger.told` does."""
        found = [one for one in self._advice.values() if one.created_at >= since]
        for advice in sorted(found, key=lambda one: (one.created_at, one.advice_id)):
            name = advice.advice_id
            yield advice, stands(self._labels.get(name, ()), self._outcomes.get(name))

    def _whole(self, alarms: Iterable[Alarm]) -> Iterator[Alarm]:
        """Yield alarms with all that their Advice says."""
        for one in alarms:
            found = self._ledger.advice_named(advice.advice_id for advice in one.advice)
            yield replace(one, advice=tuple(found[advice.advice_id] for advice in one.advice))

    def _read(self, oldest: int) -> None:
        """Read what changed."""
        if self._number < 0:
            number = self._ledger.last_news()  # before the rest: what comes now comes again
            for advice, standing in self._ledger.told(oldest):
                self._take(advice, standing.labels)
            self._number = number
        else:
            self._read_news()
        if self._ledger.count_outcomes() != len(self._outcomes):
            self._outcomes = {one.advice_id: one for one in self._ledger.outcomes()}
        self._changed, attempts = self._ledger.attempts_after(self._changed)
        for record in attempts:
            self._attempts[record.attempt] = Ran.of(record)
        self._forget(oldest)

    def _read_news(self) -> None:
        while found := self._ledger.news_after(self._number):
            for record, advice in found:
                self._number = record.number
                labels = self._labels.get(advice.advice_id, ())
                if record.what is News.LABEL:
                    labels = self._ledger.standing(advice.advice_id).labels
                self._take(advice, labels)
            if len(found) < MAX_NEWS:
                return

    def _take(self, advice: Advice, labels: tuple[LabelRecord, ...]) -> None:
        if advice.kind not in ALARMING:
            return
        self._advice[advice.advice_id] = replace(advice, evidence=(), missing_evidence=())
        if labels:
            self._labels[advice.advice_id] = labels

    def _forget(self, oldest: int) -> None:
        old = [name for name, one in self._advice.items() if one.created_at < oldest]
        for name in old:
            del self._advice[name]
            self._labels.pop(name, None)
        gone = [name for name, one in self._attempts.items() if _is_over(one, oldest - _SLACK)]
        for name in gone:
            del self._attempts[name]


def _is_over(one: Ran, before: int) -> bool:
    """Whether an attempt was over before a time, as far as anything tells."""
    known = one.end or one.start
    if known is None:
        known = AttemptId.parse(one.attempt).job_key.first_submit_time * 1_000_000
    return one.ended and known < before
