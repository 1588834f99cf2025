"""What became of one job, put together from the job itself, Slurm, the ledger and the commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from relume.advice import Advice
from relume.benchmarks.loop.asked import Asked
from relume.benchmarks.loop.training import Fault, History, Plan
from relume.benchmarks.loop.watch import Seen, attempt_of
from relume.clock import MICROSECONDS_PER_SECOND
from relume.models.policy.rules import SUSPECTED_HANG_RULE

NEVER_SECONDS = 3600.0
"""What a time that never came counts as in a median: longer than any job of the bench."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """The times of one failure and what followed, UTC microseconds; null: it never came to that.

    Attributes
    ----------
    failed_at
        The rank's own word, just before it failed.
    durable_at
        Generation 1 could be read in the ledger by another process.
    settled_at
        A settled generation could.
    released_at
        The command that let the next attempt go was given to Slurm.
    launched_at
        Slurm had started it: at once, or when the time that a requeued job has to wait was over.
    began_at
        PyTorch was there, the ranks had met and loaded the checkpoint.
    stepped_at
        Its first step was done.
    """

    failed_at: int
    durable_at: int | None = None
    settled_at: int | None = None
    released_at: int | None = None
    launched_at: int | None = None
    began_at: int | None = None
    stepped_at: int | None = None

    def seconds(self, name: str) -> float | None:
        """Return how long after the failure a time is, null if it never came.

        >>> Recovery(failed_at=1_000_000, durable_at=2_500_000).seconds("durable_at")
        1.5
        """
        moment: int | None = getattr(self, name)
        return None if moment is None else (moment - self.failed_at) / MICROSECONDS_PER_SECOND

    def stage(self, at: int) -> str | None:
        """Return what was still to come at a time, null when it was no time of this recovery.

        >>> recovery = Recovery(
        ...     failed_at=0, durable_at=2, settled_at=5, released_at=6, stepped_at=9
        ... )
        >>> recovery.stage(1), recovery.stage(5), recovery.stage(8), recovery.stage(10)
        ('generation 1', 'release', 'first step', None)
        """
        if at < self.failed_at:
            return None
        for name, moment in self._ahead():
            if moment is None or at < moment:
                return name
        return None

    def _ahead(self) -> tuple[tuple[str, int | None], ...]:
        return (
            ("generation 1", self.durable_at),
            ("settled generation", self.settled_at),
            ("release", self.released_at),
            ("first step", self.stepped_at),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One job at the end of its run.

    `state`, `restarts`, `excluded` and `marked` (whether it has an AdminComment) are Slurm's last
    words; `advice` is all that was seen about it, `commands` all that may have changed it.
    """

    plan: Plan
    job_id: str
    state: str
    restarts: int
    excluded: frozenset[str]
    marked: bool
    history: History
    advice: tuple[Seen, ...] = ()
    commands: tuple[Asked, ...] = ()

    @property
    def faults(self) -> Sequence[tuple[int, Fault]]:
        """The faults that happened, with the attempt they ended."""
        return [
            (attempt, fault)
            for attempt in range(self.history.attempts)
            for fault in self.plan.faults
            if fault.attempt in {None, attempt} and self.history.fault_at(attempt) is not None
        ]

    @property
    def requeues(self) -> int:
        """How many commands were given that start another attempt."""
        return sum(one.requeues for one in self.commands)

    def settled(self, attempt: int) -> Advice | None:
        """Return the last settled Advice about an attempt, null without one."""
        found = [one.advice for one in self._about(attempt) if one.advice.settled]
        return found[-1] if found else None

    def recoveries(self) -> list[Recovery]:
        """Return the times of each failure."""
        return [self._recovery(attempt) for attempt, _ in self.faults]

    def _recovery(self, attempt: int) -> Recovery:
        failed_at = self.history.fault_at(attempt) or 0
        until = self.history.fault_at(attempt + 1)
        releases = [
            one.at
            for one in self.commands
            if one.releases and failed_at < one.at and (until is None or one.at < until)
        ]
        seen = self._about(attempt)
        return Recovery(
            failed_at=failed_at,
            durable_at=min((one.at for one in seen), default=None),
            settled_at=min((one.at for one in seen if one.advice.settled), default=None),
            released_at=min(releases, default=None),
            launched_at=self.history.launched_at(attempt + 1),
            began_at=self.history.began_at(attempt + 1),
            stepped_at=self.history.first_step_at(attempt + 1),
        )

    def _about(self, attempt: int) -> list[Seen]:
        """What was decided about an attempt; that it was silent for a while is no decision."""
        return [
            one
            for one in self.advice
            if attempt_of(one).restart_count == attempt and one.advice.rule != SUSPECTED_HANG_RULE
        ]


def seconds_of(recoveries: Iterable[Recovery], name: str) -> list[float]:
    """Return a time after the failure for each recovery; what never came counts as very late.

    >>> seconds_of(
    ...     [Recovery(failed_at=0, durable_at=1_500_000), Recovery(failed_at=0)], "durable_at"
    ... )
    [1.5, 3600.0]
    """
    taken = (recovery.seconds(name) for recovery in recoveries)
    return [NEVER_SECONDS if one is None else one for one in taken]
