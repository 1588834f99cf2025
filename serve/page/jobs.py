"""The pages of jobs: who runs, and all that is known of one attempt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from relume.advice import Advice
from relume.identity import AttemptId
from relume.serve.ledger import AttemptRecord, Ledger, MilestoneRecord, Standing
from relume.serve.page.missing import no_such
from relume.serve.page.words import cut
from relume.verdict import Evidence

PAGE = 100
MAX_ADVICE = 50
"""Generations about one attempt that are shown, the newest."""
MAX_TRIES = 50
MAX_WORDS = 255


@dataclass(frozen=True, slots=True)
class JobsPage:
    """Attempts, newest job first; `asked` is what was searched for, empty for nothing.

    `running` and `total` count all that the ledger knows.
    """

    asked: str
    running: int
    total: int
    attempts: list[AttemptRecord]
    is_cut: bool


def jobs_page(ledger: Ledger, asked: str = "") -> JobsPage:
    """Look up the attempts that go on, or those of a job id or a run."""
    asked = asked.strip()[:MAX_WORDS]
    found = (
        ledger.attempts_like(asked, limit=PAGE + 1)
        if asked
        else ledger.newest_attempts(active=True, limit=PAGE + 1)
    )
    return JobsPage(
        asked=asked,
        running=ledger.count_attempts(active=True),
        total=ledger.count_attempts(),
        attempts=found[:PAGE],
        is_cut=len(found) > PAGE,
    )


@dataclass(frozen=True, slots=True)
class JobPage:
    """One attempt.

    Attributes
    ----------
    tries
        All attempts of its job, the newest first, this one included.
    advice
        What was advised about it and its nodes, the newest first.
    standing
        Whether each of these was right, by `advice_id`.
    milestones
        How far it got after a restart.
    evidence
        The lines behind the newest Advice that has some.
    """

    attempt: AttemptRecord
    tries: list[AttemptRecord]
    advice: list[Advice]
    standing: Mapping[str, Standing]
    milestones: list[MilestoneRecord]
    evidence: list[Evidence]


def require_attempt(ledger: Ledger, name: str) -> AttemptRecord:
    """Return one attempt by its text form, or by `job_id-restart_count`.

    Raises
    ------
    NotFoundError
        When the ledger doesn't know it.
    InputError
        For a name in neither form.
    """
    record = ledger.get_attempt(name)
    if record is None:
        raise no_such("attempt", name)
    return record


def job_page(ledger: Ledger, name: str) -> JobPage:
    """Look up one attempt; raises as `require_attempt` does."""
    record = require_attempt(ledger, name)
    advice = ledger.listed(attempt=record.attempt, limit=MAX_ADVICE)
    key = AttemptId.parse(record.attempt).job_key
    return JobPage(
        attempt=record,
        tries=ledger.attempts_of_job(key, limit=MAX_TRIES),
        advice=advice,
        standing={one.advice_id: ledger.standing(one.advice_id) for one in advice},
        milestones=ledger.milestones(record.attempt),
        evidence=next((shown_evidence(one) for one in advice if one.evidence), []),
    )


def shown_evidence(advice: Advice) -> list[Evidence]:
    """Return the lines behind an Advice, long ones cut."""
    return [replace(line, text=cut(line.text)) for line in advice.evidence]
