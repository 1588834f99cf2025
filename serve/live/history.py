"""How the earlier attempts of a run ended: what a decision about the next one looks back at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from relume.identity import AttemptId
from relume.models.policy.view import PastAttempt

MAX_RUNS = 50_000
"""Runs remembered; the one that began first goes first."""


class RunKey(NamedTuple):
    """A run is one user's: a name that two users chose is two runs. `user` is null if not told."""

    cluster: str
    user: str | None
    name: str


Recall = Callable[[RunKey], Iterable[tuple[AttemptId, PastAttempt]]]


@dataclass(slots=True)
class Histories:
    """The outcomes of the attempts of each run. Bounded.

    Parameters
    ----------
    recall
        Asked once about each run for what was before.
    runs
        What is known by now.
    """

    recall: Recall
    runs: dict[RunKey, dict[AttemptId, PastAttempt]] = field(default_factory=dict)

    def put(self, run: RunKey, attempt: AttemptId, outcome: PastAttempt) -> None:
        """Note how an attempt ended, or how it stands now."""
        self._run(run)[attempt] = outcome

    def before(self, run: RunKey, attempt: AttemptId) -> tuple[PastAttempt, ...]:
        """Return the attempts of the run that came before `attempt`, numbered through from 0.

        Several jobs of one name are one run, so an attempt's own restart count doesn't order them.
        """
        outcomes = self._run(run)
        earlier = [one for one in outcomes if one.age < attempt.age]
        earlier.sort(key=lambda one: one.age)
        return tuple(replace(outcomes[one], restart_count=n) for n, one in enumerate(earlier))

    def _run(self, run: RunKey) -> dict[AttemptId, PastAttempt]:
        found = self.runs.get(run)
        if found is None:
            while len(self.runs) >= MAX_RUNS:
                del self.runs[next(iter(self.runs))]
            found = self.runs[run] = dict(self.recall(run))
        return found
