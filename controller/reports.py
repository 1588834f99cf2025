"""What the service is told: milestones of restarted jobs, and what became of Advice."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import msgspec

from relume.controller.doors import Doors
from relume.controller.facts import Action, Facts
from relume.controller.holds import source_of
from relume.controller.journal import Journal, Message
from relume.controller.service import Refusal
from relume.slurm.job import SlurmJob

log = logging.getLogger(__name__)
MAX_MESSAGES = 200
"""Sent in one round."""


class Milestone(msgspec.Struct):
    """A point of an attempt's recovery; `advice_id` is the Advice that led to it, null for none."""

    attempt: str
    advice_id: str | None
    milestone: str
    event_time: int


class Reporter:
    """Puts reports into the journal and sends them until the service took them, or knows better.

    What it refuses for another reason stays: a service that was set back or is of another version
    may take it later (`Journal.resume`), and meanwhile it stands in nobody's way.
    """

    def __init__(self, journal: Journal, doors: Doors) -> None:
        self._journal = journal
        self._service = doors.service
        self._clock = doors.clock
        self._noted: set[str] = set()

    def note_milestones(self, facts: Facts, taken_at: int) -> None:
        """Remember the milestones that the jobs show, each once."""
        shown = set()
        for job in facts.jobs.values():
            for one in milestones(job, facts, taken_at):
                about = f"{one.attempt} {one.milestone}"
                shown.add(about)
                if about not in self._noted:
                    self._journal.milestone(about, msgspec.json.encode(one))
        self._noted = shown

    def send(self, fencing_token: int) -> None:
        """Send what is due.

        Raises
        ------
        UnreachableError
            When the service doesn't answer; the rest is sent another time.
        """
        for message in self._journal.unsent(MAX_MESSAGES):
            refusal = self._send(message, fencing_token)
            if refusal is None:
                self._journal.sent(message.message_id, "taken", self._clock.now())
                continue
            what = f"the service refused {message.kind} of {message.about}: {refusal.words}"
            if refusal.final:
                log.warning("%s", what)
                self._journal.sent(message.message_id, refusal.words, self._clock.now())
            else:
                log.warning("%s; it is kept, and sent again later", what)
                self._journal.put_off(message.message_id, refusal.words)

    def _send(self, message: Message, fencing_token: int) -> Refusal | None:
        if message.kind == "reconciliation":
            return self._service.reconcile(message.about, message.body, fencing_token)
        return self._service.milestone(message.body)


def milestones(job: SlurmJob, facts: Facts, taken_at: int) -> Iterator[Milestone]:
    """Return the milestones that a job has reached by now.

    ``allocation_restarted`` when an attempt after the first one runs, ``finished`` when it is
    COMPLETED. Both name the attempt that the job is in. ``progress_restored`` is the service's.
    """
    seen = facts.memory.sighting(job)
    if seen is None:
        return
    source = source_of(job, seen.key)
    released = facts.memory.did(str(source), Action.RELEASE) if source is not None else None
    cause = released.advice_id if released is not None else None
    if source is not None and job.state in {"RUNNING", "COMPLETED"}:
        moment = taken_at if job.start_time is None else job.start_time
        yield Milestone(seen.attempt, cause, "allocation_restarted", moment)
    if job.state == "COMPLETED":
        moment = taken_at if job.end_time is None else job.end_time
        yield Milestone(seen.attempt, cause, "finished", moment)
