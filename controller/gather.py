"""Brings the facts together: Slurm's, the service's, the journal's. Changes nothing in Slurm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from relume.advice import Advice
from relume.controller.doors import Doors
from relume.controller.facts import Facts, Memory
from relume.controller.folder import ControllerFolder, Note
from relume.controller.journal import Journal
from relume.controller.limits import DAY
from relume.controller.sighting import sight
from relume.errors import InputError, UnreachableError
from relume.identity import AttemptId
from relume.slurm.job import SlurmSnapshot


class Gatherer:
    """Reads; what it sees of opted-in jobs goes into the journal."""

    def __init__(self, doors: Doors, journal: Journal, folder: ControllerFolder) -> None:
        self._doors = doors
        self._journal = journal
        self._folder = folder

    def gather(
        self,
        snapshot: SlurmSnapshot,
        advice: tuple[Advice, ...] | None,
        named: Mapping[str, str],
    ) -> Facts:
        """Return all facts of one round; `advice` is null when the service is away.

        Raises
        ------
        UnreachableError
            When Slurm or the journal can't be read.
        """
        facts = Facts(
            cluster=snapshot.cluster,
            jobs={job.job_id: job for job in snapshot.jobs},
            nodes=snapshot.nodes,
            advice=advice or (),
            heard=advice is not None,
        )
        facts = self.remember(facts, named)
        facts = self._with_missing(facts)
        return replace(facts, landed=self._landed(facts))

    def look(self, facts: Facts, job_id: str) -> Facts:
        """Return the facts with Slurm's newest word about one job, and the journal's."""
        newest = self._doors.reader.job(job_id, facts.jobs.get(job_id))
        return self.remember(facts.with_job(job_id, newest))

    def only(self, facts: Facts, job_id: str) -> Facts:
        """Return what `look` does, without all other jobs."""
        jobs = {name: job for name, job in facts.jobs.items() if name == job_id}
        advice = tuple(_about(facts.advice, job_id))
        return self.look(replace(facts, jobs=jobs, advice=advice), job_id)

    def remember(self, facts: Facts, named: Mapping[str, str] | None = None) -> Facts:
        """Put sightings of the jobs and the helper's notes into the journal; read it again.

        Notes are read after the jobs: a hold that is seen has left its note before.
        """
        now = self._doors.clock.now()
        memory = self._recall(facts, now)
        new = 0
        for job in facts.jobs.values():
            seen = sight(job, facts.cluster, memory, named or {}, now)
            if seen is not None and seen != memory.sighting(job):
                self._journal.see(seen, now)
                new += 1
        for note in self._folder.notes():
            new += self._take(note, facts.cluster, now)
        return replace(facts, memory=self._recall(facts, now) if new else memory)

    def _recall(self, facts: Facts, now: int) -> Memory:
        return self._journal.memory(facts.cluster, facts.jobs, facts.advice, now)

    def _take(self, note: Note, cluster: str, now: int) -> bool:
        """Journal a note of the helper, about the newest job of that id; then it may go."""
        memory = self._journal.memory(cluster, [note.job_id], (), now)
        sightings = memory.sightings.get(note.job_id, ())
        counted = [one for one in sightings if one.restart_count == note.restart_count]
        if counted:
            attempt = AttemptId(counted[-1].key, note.restart_count)
            self._journal.helper_held(attempt, note.noted_at)
        if counted or note.noted_at < now - DAY:
            self._folder.forget(note)
        return bool(counted)

    def _with_missing(self, facts: Facts) -> Facts:
        """Ask once more for jobs that have Advice and are not in the snapshot."""
        wanted = (_attempt(advice) for advice in facts.considered)
        missing = {
            attempt.job_key.job_id
            for attempt in wanted
            if attempt is not None
            and attempt.job_key.cluster == facts.cluster
            and attempt.job_key.job_id not in facts.jobs
        }
        if not missing:
            return facts
        found = self._doors.reader.find(missing)
        return self.remember(replace(facts, jobs={**facts.jobs, **found}))

    def _landed(self, facts: Facts) -> dict[str, bool]:
        found = {}
        for attempt in _held_for(facts):
            with suppress(UnreachableError, InputError):  # then it is not known
                landed = self._doors.service.landed(str(attempt))
                if landed is not None:
                    found[str(attempt)] = landed
        return found


def _held_for(facts: Facts) -> Iterable[AttemptId]:
    """Return the attempts with Advice whose successor is held."""
    for attempt in filter(None, map(_attempt, facts.considered)):
        job = facts.jobs.get(attempt.job_key.job_id)
        if job is not None and job.held and job.restart_count == attempt.restart_count + 1:
            yield attempt


def _about(advice: Iterable[Advice], job_id: str) -> Iterable[Advice]:
    for one in advice:
        attempt = _attempt(one)
        if attempt is not None and attempt.job_key.job_id == job_id:
            yield one


def _attempt(advice: Advice) -> AttemptId | None:
    try:
        return AttemptId.parse(advice.attempt)
    except InputError:
        return None
