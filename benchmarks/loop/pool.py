"""Runs training jobs on a site, a few at a time, and puts together what became of each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from relume.benchmarks.loop.asked import changing
from relume.benchmarks.loop.record import Record
from relume.benchmarks.loop.site import Site
from relume.benchmarks.loop.training import Plan, TrainingJob
from relume.benchmarks.loop.watch import AdviceWatch, about

_POLL_SECONDS = 0.25
_OVER = frozenset({"COMPLETED", "CANCELLED"})


@dataclass(slots=True)
class _Running:
    job: TrainingJob
    deadline: float
    failed_at: float | None = None

    def is_over(self, state: str, now: float, patience_seconds: float) -> bool:
        if state != "FAILED":
            self.failed_at = None
        elif self.failed_at is None:
            self.failed_at = now
        failed = self.failed_at is not None and now - self.failed_at > patience_seconds
        return state in _OVER or failed or now > self.deadline


@dataclass(slots=True, kw_only=True)
class Pool:
    """At most `at_once` jobs on a site, begun at least `apart_seconds` one after the other.

    A job is begun only while no other one starts, which takes all cores of a small machine for some
    seconds: it would be measured how they share them. A job that is not over after `seconds` is
    recorded as it is by then, and cancelled. A job that FAILED may be taken back: only after
    `patience_seconds` it counts as over.
    """

    site: Site
    watch: AdviceWatch
    at_once: int = 5
    apart_seconds: float = 3.0
    seconds: float = 600.0
    patience_seconds: float = 20.0
    _running: list[_Running] = field(default_factory=list)

    def run(self, plans: Iterator[Plan]) -> list[Record]:
        """Run plans to their end; more of them are asked for only when there is room."""
        records: list[Record] = []
        begun, more = 0.0, True
        while more or self._running:
            now = time.monotonic()
            if more and now - begun >= self.apart_seconds and self._has_room():
                plan = next(plans, None)
                more = plan is not None
                if plan is not None:
                    job = self.site.trainer.submit(plan)
                    self._running.append(_Running(job, now + self.seconds))
                    begun = now
            records += self._collect(now)
            time.sleep(_POLL_SECONDS)
        return records

    def recovering(self) -> bool:
        """Whether a job has failed and not done a step since."""
        return any(one.job.history().recovering for one in list(self._running))

    def _has_room(self) -> bool:
        if len(self._running) >= self.at_once:
            return False
        return not any(one.job.history().starting for one in self._running)

    def _collect(self, now: float) -> list[Record]:
        states = self.site.lab.states()
        over = [
            one
            for one in self._running
            if one.is_over(states.get(one.job.job_id, ""), now, self.patience_seconds)
        ]
        self._running = [one for one in self._running if one not in over]
        return [self._record(one.job) for one in over]

    def _record(self, job: TrainingJob) -> Record:
        shown = self.site.reader.job(job.job_id)
        record = Record(
            plan=job.plan,
            job_id=job.job_id,
            state="gone" if shown is None else shown.state,
            restarts=0 if shown is None else shown.restart_count,
            excluded=frozenset(() if shown is None else shown.exclude_nodes),
            marked=shown is not None and bool(shown.admin_comment),
            history=job.history(),
            advice=about(self.watch.seen(), job.job_id),
            commands=tuple(changing(self.site.commands(), job.job_id)),
        )
        if record.state not in _OVER:
            self.site.lab.run("scancel", "--quiet", job.job_id)
        return record
