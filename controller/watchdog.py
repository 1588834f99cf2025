"""The watchdog: lets go what we hold when nobody decides any more. It fails open, and only that.

It is a process of its own, needs neither the service nor a lease, and knows one command: release.
Whose hold it is, it reads in the controller's journal; where that can't be read, or is younger than
the hold, our marker in the AdminComment has to do: a job that nobody lets go is the worse end.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from relume.advice import Advice
from relume.clock import MICROSECONDS_PER_SECOND
from relume.controller import limits
from relume.controller.doors import Doors, Stop
from relume.controller.facts import Action, Deed, Facts, Memory, Outcome
from relume.controller.folder import ControllerFolder, Heartbeat, Note
from relume.controller.holds import REQUEUED_HELD, Hold, hold_of, source_of
from relume.controller.journal import Journal
from relume.controller.marker import read_marker
from relume.controller.sighting import sight
from relume.errors import RelumeError
from relume.identity import AttemptId
from relume.settings import ControllerSettings
from relume.slurm.job import SlurmJob

log = logging.getLogger(__name__)
LATE_SECONDS = 60
"""How long the controller has for what is due, before the watchdog does it."""
MAX_INTERVAL_SECONDS = 30
RETRY_SECONDS = 60
"""Before a release is repeated."""


@dataclass(frozen=True, slots=True)
class Release:
    """A job to let go, and why."""

    job: SlurmJob
    reason: str


def overdue(
    facts: Facts, heartbeat: Heartbeat | None, settings: ControllerSettings, now: int
) -> list[Release]:
    """Return the jobs that we hold and that must be let go. Pure.

    Parameters
    ----------
    facts
        Slurm's jobs, and the memory of them.
    heartbeat
        The controller's last sign of life, null if there is none.
    settings
        The controller's limits.
    now
        UTC microseconds.
    """
    gone = _gone(heartbeat, settings, now)
    found = (_judge(job, facts, settings, now, gone=gone) for job in facts.jobs.values())
    return [release for release in found if release is not None]


def _gone(heartbeat: Heartbeat | None, settings: ControllerSettings, now: int) -> bool:
    """Whether service and controller have stopped to work together."""
    whole_at = heartbeat.whole_at if heartbeat is not None else None
    return whole_at is None or now - whole_at > settings.gone_seconds * MICROSECONDS_PER_SECOND


def _judge(
    job: SlurmJob, facts: Facts, settings: ControllerSettings, now: int, *, gone: bool
) -> Release | None:
    source = _ours(job, facts)
    if source is None or limits.not_ours(job, settings) is not None:
        return None
    if limits.worn_out(source.job_key, facts, settings, now):
        return None
    # The submit time of a requeued job is when it was requeued: when the hold began.
    held_seconds = (now - (job.submit_time or now)) / MICROSECONDS_PER_SECOND
    if gone and held_seconds > settings.gone_seconds:
        return Release(job, "service and controller are gone")
    advice = _decision(facts, str(source))
    if advice is not None:
        late = now > advice.expires_at + LATE_SECONDS * MICROSECONDS_PER_SECOND
        return Release(job, f"its {advice.operation} is past its deadline") if late else None
    if held_seconds > settings.orphan_hold_seconds + LATE_SECONDS:
        return Release(job, "no Advice asks for this hold")
    return None


def _ours(job: SlurmJob, facts: Facts) -> AttemptId | None:
    """Return the attempt that we hold the successor of, null when the hold is not ours."""
    seen = facts.memory.sighting(job)
    if seen is None or not job.held:
        return None
    ours = hold_of(job, seen.key, facts.memory) is Hold.OURS
    return source_of(job, seen.key) if ours or _ours_by_marker(job, facts.memory) else None


def _ours_by_marker(job: SlurmJob, memory: Memory) -> bool:
    older = memory.born_at is not None and (job.submit_time or 0) < memory.born_at
    if (memory.readable and not older) or read_marker(job.admin_comment) is None:
        return False
    reason = (job.reason or "").replace(" ", "_")
    return job.state == "SPECIAL_EXIT" or reason == REQUEUED_HELD


def _decision(facts: Facts, attempt: str) -> Advice | None:
    """Return the newest Advice that the controller took on and has not closed."""
    return next((one for one in facts.considered if one.attempt == attempt), None)


class Watchdog:
    """Looks, and lets go; in mode *observe* it only says what it would let go."""

    def __init__(
        self, doors: Doors, folder: ControllerFolder, settings: ControllerSettings
    ) -> None:
        self._doors, self._folder, self._settings = doors, folder, settings
        self._tried: dict[tuple[str, int | None], float] = {}

    def round(self) -> int:
        """Look once; return how many jobs were let go.

        Raises
        ------
        UnreachableError
            When Slurm doesn't answer.
        """
        facts = self._facts()
        now = self._doors.clock.now()
        due = overdue(facts, self._folder.heartbeat(), self._settings, now)
        return sum(self._release(one) for one in due)

    def run(self, stop: Stop) -> None:
        """Look again and again until `stop` is set. What is unreachable is waited for."""
        while not stop.is_set():
            try:
                self.round()
            except RelumeError as error:
                log.warning("%s", error)
            stop.wait(min(MAX_INTERVAL_SECONDS, self._settings.gone_seconds / 4))

    def _facts(self) -> Facts:
        snapshot = self._doors.reader.snapshot()
        jobs = {job.job_id: job for job in snapshot.jobs if job.held}
        memory = self._memory(snapshot.cluster, jobs)
        now = self._doors.clock.now()
        for job in jobs.values():  # those that were held after the controller went
            seen = sight(job, snapshot.cluster, memory, {}, now)
            if seen is not None and memory.sighting(job) is None:
                memory = memory.with_sighting(seen)
        memory = _with_notes(memory, self._folder.notes())
        return Facts(cluster=snapshot.cluster, jobs=jobs, nodes=snapshot.nodes, memory=memory)

    def _memory(self, cluster: str, jobs: dict[str, SlurmJob]) -> Memory:
        try:
            journal = Journal(self._folder.journal, read_only=True)
            try:
                return journal.memory(cluster, jobs, (), self._doors.clock.now())
            finally:
                journal.close()
        except RelumeError as error:
            log.warning("%s", error)
            return Memory(readable=False)

    def _release(self, release: Release) -> bool:
        job = release.job
        identity = job.job_id, job.submit_time
        last = self._tried.get(identity)
        if last is not None and self._doors.monotonic() - last < RETRY_SECONDS:
            return False
        self._tried[identity] = self._doors.monotonic()
        if self._settings.mode != "act":
            log.info("would release %s: %s", job.job_id, release.reason)
            return False
        newest = self._doors.reader.job(job.job_id)
        if newest is None or _essence(newest) != _essence(job):
            return False
        try:
            self._doors.actuator.release(job.job_id)
        except RelumeError as error:
            log.warning("release of %s: %s", job.job_id, error)
            return False
        log.info("released %s: %s", job.job_id, release.reason)
        return True


def _with_notes(memory: Memory, notes: list[Note]) -> Memory:
    """Add the helper's notes that the controller has not journalled."""
    for note in notes:
        for seen in memory.sightings.get(note.job_id, ()):
            if seen.restart_count == note.restart_count + 1:
                attempt = str(AttemptId(seen.key, note.restart_count))
                deed = Deed(
                    attempt=attempt,
                    advice_id=None,
                    action=Action.HOLD,
                    intended_at=note.noted_at,
                    outcome=Outcome.DONE,
                    by="epilog",
                )
                memory = memory.with_deed(deed)
    return memory


def _essence(job: SlurmJob) -> tuple[object, ...]:
    """What must not have changed between looking and acting."""
    return job.submit_time, job.restart_count, job.state, job.reason, job.comment, job.held
