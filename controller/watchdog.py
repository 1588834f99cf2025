"""The watchdog: lets go what we hold when nobody decides any more. It fails open, and only that.

It is a process of its own, needs neither the service nor a lease, and knows one command: release.
Which jobs are due, `overdue` says; what can't be read for that is done without.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from relume.controller.doors import Doors, Stop
from relume.controller.facts import Action, Deed, Facts, Memory, Outcome
from relume.controller.folder import ControllerFolder, Heartbeat, Note
from relume.controller.journal import Journal
from relume.controller.overdue import Release, Watched, overdue
from relume.controller.sighting import sight
from relume.errors import RelumeError
from relume.identity import AttemptId
from relume.settings import ControllerSettings
from relume.slurm.job import SlurmJob

log = logging.getLogger(__name__)
MAX_INTERVAL_SECONDS = 30
RETRY_SECONDS = 60
"""Before a release is repeated."""
_T = TypeVar("_T")
_Held = tuple[str, int | None]
"""A job under one hold: its id, and when it was requeued."""


class Watchdog:
    """Looks, and lets go; in mode *observe* it only says what it would let go.

    Attributes
    ----------
    trouble
        What could not be read in the last round, and was done without; null: nothing.
    """

    def __init__(
        self, doors: Doors, folder: ControllerFolder, settings: ControllerSettings
    ) -> None:
        self._doors, self._folder, self._settings = doors, folder, settings
        self._tried: dict[_Held, float] = {}
        self._held_since: dict[_Held, float] = {}
        self._last_whole: tuple[int | None, float] = None, doors.monotonic()
        self.trouble: RelumeError | None = None

    def round(self) -> int:
        """Look once; return how many jobs were let go.

        Raises
        ------
        UnreachableError
            When Slurm doesn't answer.
        """
        self.trouble = None
        facts = self._facts()
        heartbeat = self._without(self._folder.heartbeat, None)
        watched = self._watched(facts, heartbeat)
        now = self._doors.clock.now()
        due = overdue(facts, heartbeat, self._settings, now, watched)
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
        notes: list[Note] = self._without(self._folder.notes, [])
        memory = _with_notes(memory, notes)
        return Facts(cluster=snapshot.cluster, jobs=jobs, nodes=snapshot.nodes, memory=memory)

    def _memory(self, cluster: str, jobs: dict[str, SlurmJob]) -> Memory:
        def read() -> Memory:
            journal = Journal(self._folder.journal, read_only=True)
            try:
                return journal.memory(cluster, jobs, (), self._doors.clock.now())
            finally:
                journal.close()

        return self._without(read, Memory(readable=False))

    def _without(self, read: Callable[[], _T], otherwise: _T) -> _T:
        """Read something, or do without it and say so: to let go, the marker is enough."""
        try:
            return read()
        except RelumeError as error:
            log.warning("%s", error)
            self.trouble = error
            return otherwise

    def _watched(self, facts: Facts, heartbeat: Heartbeat | None) -> Watched:
        """Measure by a clock that never jumps; what is not held any more is forgotten."""
        now = self._doors.monotonic()
        held = {name: _identity(job) for name, job in facts.jobs.items()}
        since, tried = self._held_since, self._tried
        self._held_since = {one: since.get(one, now) for one in held.values()}
        self._tried = {one: tried[one] for one in held.values() if one in tried}
        whole_at = None if heartbeat is None else heartbeat.whole_at
        if whole_at != self._last_whole[0]:
            self._last_whole = whole_at, now
        seconds = {name: now - self._held_since[one] for name, one in held.items()}
        return Watched(seconds, now - self._last_whole[1])

    def _release(self, release: Release) -> bool:
        job = release.job
        identity = _identity(job)
        last = self._tried.get(identity)
        if last is not None and self._doors.monotonic() - last < RETRY_SECONDS:
            return False
        self._tried[identity] = self._doors.monotonic()
        if self._settings.mode != "act":
            log.info("would release %s: %s", job.job_id, release.reason)
            return False
        newest = self._doors.reader.job(job.job_id, job)
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


def _identity(job: SlurmJob) -> _Held:
    return job.job_id, job.submit_time


def _essence(job: SlurmJob) -> tuple[object, ...]:
    """What must not have changed between looking and acting."""
    return job.submit_time, job.restart_count, job.state, job.reason, job.comment, job.held
