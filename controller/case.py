"""One Advice in front of the job that it is about, and what can come out of that."""

from __future__ import annotations

from dataclasses import dataclass

from relume.advice import Advice, Disposition
from relume.clock import MICROSECONDS_PER_SECOND
from relume.controller import limits
from relume.controller.facts import HOLDS, Action, Deed, Facts, Outcome
from relume.controller.holds import Hold, hold_of
from relume.controller.marker import Marker, read_marker, with_marker
from relume.controller.steps import Close, Step, Wait
from relume.identity import AttemptId, JobKey
from relume.settings import ControllerSettings
from relume.slurm.job import SlurmJob

MAX_TRIES = 5
"""Of one command for one Advice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One Advice in front of one job, with all else that is known."""

    advice: Advice
    attempt: AttemptId
    job: SlurmJob
    facts: Facts
    settings: ControllerSettings
    now: int

    @property
    def key(self) -> JobKey:
        """The job."""
        return self.attempt.job_key

    @property
    def ahead(self) -> int:
        """How many attempts Slurm is ahead of the one that the Advice is about."""
        return self.job.restart_count - self.attempt.restart_count

    @property
    def hold(self) -> Hold:
        """Who holds the job."""
        return hold_of(self.job, self.key, self.facts.memory)

    @property
    def held_seconds(self) -> float:
        """How long the job has been seen held; 0 when that is new."""
        seen = self.facts.memory.sighting(self.job)
        since = self.now if seen is None or seen.held_at is None else seen.held_at
        return (self.now - since) / MICROSECONDS_PER_SECOND

    @property
    def held_too_long(self) -> bool:
        """Whether our own limit for holds has passed, whatever the Advice says."""
        return self.held_seconds >= self.settings.max_hold_seconds

    def did(self, action: Action) -> Deed | None:
        """Return the last deed about the attempt that may have happened, null for none."""
        return self.facts.memory.did(str(self.attempt), action)

    def late(self) -> str | None:
        """Say why the attempt has to wait for its turn, null if it hasn't."""
        return limits.throttled(str(self.attempt), self.key, self.facts, self.settings, self.now)

    def close(self, disposition: Disposition, reason: str | None = None) -> Close:
        """Report the end of the Advice."""
        return Close(advice=self.advice, disposition=disposition, reason=reason)

    def converged(self, reason: str | None = None) -> Close:
        """Report that what should happen has happened."""
        return self.close(Disposition.CONVERGED, reason)

    def abandon(self, reason: str) -> Close:
        """Report that it won't happen."""
        return self.close(Disposition.ABANDONED, reason)

    def wait(self, reason: str) -> Wait:
        """Look again later."""
        return Wait(advice=self.advice, reason=reason)

    def step(self, action: Action, reason: str, nodes: tuple[str, ...] = ()) -> Step | Wait | Close:
        """Return a command, unless it was just tried, or tried too often."""
        tries = self._tries(action)
        if any(map(self._may_still_come, [*tries[-1:], *self._other_hold(action)])):
            return self.wait(f"{action} was sent; its effect doesn't show yet")
        if len(tries) >= MAX_TRIES:
            words = tries[-1].words or "no answer"
            return self.abandon(f"{action} didn't succeed in {MAX_TRIES} tries: {words}")
        asked = self.advice.exclude_nodes if nodes else ()
        return self._command(action, reason, nodes=nodes, asked=asked)

    def told(self, message: str | None = None) -> Step | None:
        """Return the marker of this Advice, null if it is there or can't be written.

        Nothing may fail for want of a comment: it is tried twice at most.
        """
        text = marked(self.job, self.key, self.advice.advice_id, message)
        tries = self._tries(Action.MARK)
        answered = any(deed.outcome is not Outcome.UNKNOWN for deed in tries)
        if text is None or answered or len(tries) > 1:
            return None
        return self._command(Action.MARK, "say whose job it is", text=text)

    def _may_still_come(self, deed: Deed) -> bool:
        return limits.lately(deed.intended_at, self.now)

    def _other_hold(self, action: Action) -> list[Deed]:
        """Return the last try of the other kind of hold, when it has no outcome yet."""
        others = [self._tries(one)[-1:] for one in HOLDS if action in HOLDS and one is not action]
        return [deed for tries in others for deed in tries if deed.outcome is Outcome.UNKNOWN]

    def _tries(self, action: Action) -> list[Deed]:
        deeds = self.facts.memory.deeds.get(str(self.attempt), ())
        wanted = action, self.advice.advice_id
        return [deed for deed in deeds if (deed.action, deed.advice_id) == wanted]

    def _command(
        self,
        action: Action,
        reason: str,
        *,
        nodes: tuple[str, ...] = (),
        asked: tuple[str, ...] = (),
        text: str | None = None,
    ) -> Step:
        return Step(
            action=action,
            job_id=self.job.job_id,
            attempt=str(self.attempt),
            reason=reason,
            advice_id=self.advice.advice_id,
            nodes=nodes,
            asked=asked,
            text=text,
        )


def marked(
    job: SlurmJob, key: JobKey, advice_id: str | None = None, message: str | None = None
) -> str | None:
    """Return the AdminComment that the job should have.

    Null when it has it already, or holds somebody's words that we leave alone.
    """
    if job.submit_time is None:
        return None
    before = read_marker(job.admin_comment)
    seen = before.seen if before is not None else ()
    marker = Marker(
        first_submit=key.first_submit_time,
        seen=tuple(sorted({*seen, job.submit_time})),
        advice=advice_id or (before.advice if before is not None else None),
        message=message or (before.message if before is not None else None),
    )
    return None if marker == before else with_marker(job.admin_comment, marker)
