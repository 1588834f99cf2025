"""One Advice in front of the job that it is about, and what can come out of that."""

from __future__ import annotations

from dataclasses import dataclass

from relume.advice import Advice, Disposition
from relume.clock import MICROSECONDS_PER_SECOND
from relume.controller.facts import Action, Deed, Facts, Outcome
from relume.controller.marker import Marker, read_marker, with_marker
from relume.controller.steps import Close, Item, Step, Wait
from relume.identity import AttemptId, JobKey
from relume.settings import ControllerSettings
from relume.slurm.job import SlurmJob

RETRY_SECONDS = 20
"""Before a command is repeated whose effect doesn't show. Slurm's own time-out is 10 s: a command
that we gave up on may still come into force until then."""
MAX_TRIES = 5
"""Of one command for one Advice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One Advice in front of the job that it is about."""

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

    def did(self, action: Action) -> bool:
        """Whether this was done, or may have been, about the attempt."""
        return self.facts.memory.did(str(self.attempt), action) is not None

    def close(self, disposition: Disposition, reason: str | None = None) -> Close:
        """Report the end of the Advice."""
        return Close(advice=self.advice, disposition=disposition, reason=reason)

    def abandon(self, reason: str) -> Close:
        """Report that it won't happen."""
        return self.close(Disposition.ABANDONED, reason)

    def wait(self, reason: str) -> Wait:
        """Look again later."""
        return Wait(advice=self.advice, reason=reason)


def step(case: Case, action: Action, reason: str, nodes: tuple[str, ...] = ()) -> Item:
    """Return the command, unless it was just tried, or tried too often."""
    deeds = tries(case, action)
    if deeds and case.now - deeds[-1].intended_at < RETRY_SECONDS * MICROSECONDS_PER_SECOND:
        return case.wait(f"{action} was sent; its effect doesn't show yet")
    if len(deeds) >= MAX_TRIES:
        words = deeds[-1].words or "no answer"
        return case.abandon(f"{action} didn't succeed in {MAX_TRIES} tries: {words}")
    return command(case, action, reason, nodes=nodes)


def tries(case: Case, action: Action) -> list[Deed]:
    """Return what was tried for this Advice, in order."""
    deeds = case.facts.memory.deeds.get(str(case.attempt), ())
    wanted = action, case.advice.advice_id
    return [deed for deed in deeds if (deed.action, deed.advice_id) == wanted]


def command(
    case: Case,
    action: Action,
    reason: str,
    *,
    nodes: tuple[str, ...] = (),
    text: str | None = None,
) -> Step:
    return Step(
        action=action,
        job_id=case.job.job_id,
        attempt=str(case.attempt),
        reason=reason,
        advice_id=case.advice.advice_id,
        nodes=nodes,
        asked=case.advice.exclude_nodes if nodes else (),
        text=text,
    )


def told(case: Case, message: str | None = None) -> Step | None:
    """Write the marker of this Advice first, unless it is there or can't be written."""
    text = marked(case.job, case.key, case.advice.advice_id, message)
    if text is None:
        return None
    tries = tries(case, Action.MARK)
    if len(tries) > 1 or any(deed.outcome is not Outcome.UNKNOWN for deed in tries):
        return None  # nothing may fail for want of a comment
    return command(case, Action.MARK, "say whose job it is", text=text)


def marked(
    job: SlurmJob, key: JobKey, advice_id: str | None = None, message: str | None = None
) -> str | None:
    """Return the AdminComment that the job should have, null if it is right or not ours to write."""
    if job.submit_time is None:
        return None
    before = read_marker(job.admin_comment) or Marker(key.first_submit_time)
    seen = tuple(sorted({*before.seen, job.submit_time}))
    marker = Marker(
        first_submit=key.first_submit_time,
        seen=seen,
        advice=advice_id or before.advice,
        message=message or before.message,
    )
    return None if marker == before else with_marker(job.admin_comment, marker)
