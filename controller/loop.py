"""The controller's loop: look, ask, plan, act, report; again, and forgetting nothing between."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass

from relume.advice import Scope
from relume.clock import MICROSECONDS_PER_SECOND
from relume.controller import limits
from relume.controller.commands import DEFAULT_TIMEOUT_SECONDS, PING_TIMEOUT_SECONDS
from relume.controller.decisions import decisions
from relume.controller.doors import Doors, Stop
from relume.controller.executor import Executor, command
from relume.controller.facts import Facts
from relume.controller.folder import ControllerFolder, Heartbeat
from relume.controller.gather import Gatherer
from relume.controller.holds import Hold, hold_of
from relume.controller.journal import Journal
from relume.controller.lease import Lease
from relume.controller.plan import FAILED_STATES, plan
from relume.controller.reports import Reporter
from relume.controller.service import Listing, LostLeaseError
from relume.controller.steps import Close, Item, Step, Wait
from relume.errors import RelumeError, UnreachableError
from relume.settings import ControllerSettings
from relume.slurm.job import SlurmSnapshot

log = logging.getLogger(__name__)
MAX_PASSES = 8
"""Plans in one round: hold, exclude, mark and release are one pass each."""
MAX_STEPS = 200
"""Commands in one pass: some 20 s of Slurm's time; the next round goes on."""
FRESH_SECONDS = 60
"""How long after a bad end Advice is expected to come any moment."""
COMMAND_SECONDS = DEFAULT_TIMEOUT_SECONDS + PING_TIMEOUT_SECONDS
"""What one command may take: with less left of the lease none is begun, since it might come into
force under the next controller."""
DECISIONS_SECONDS = 30
"""How long beyond three rounds the helper may go by what we last told it."""
PRUNE_SECONDS = 3600
MAX_SAID = 10_000
"""States whose last words are remembered, so as not to repeat them."""
_WAKE_SECONDS = 0.1
"""How often the helper's wake file is looked at: one `stat`."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one round found. `busy`: something will be due soon; `whole`: see `Heartbeat`.

    `trouble` is what went wrong between us and the service, null if nothing did.
    """

    items: tuple[Item, ...]
    commands: int
    busy: bool
    whole: bool
    trouble: RelumeError | None


class Controller:
    """One controller of one cluster.

    Parameters
    ----------
    doors
        Slurm, the service and the time.
    folder
        Prepared, so that no other controller uses it.
    settings
        The limits and the mode.
    """

    def __init__(
        self, doors: Doors, folder: ControllerFolder, settings: ControllerSettings
    ) -> None:
        self._doors, self._folder, self._settings = doors, folder, settings
        self._clock, self._monotonic, self._holder = doors.clock, doors.monotonic, folder.holder()
        self._lease = Lease(doors, self._holder, settings.interval_seconds)
        self.journal = Journal(folder.journal)
        self.journal.born(self._clock.now())
        self.journal.resume()
        self._gatherer = Gatherer(doors, self.journal, folder)
        self._executor = Executor(doors, self.journal, self._gatherer, settings, self._may_begin)
        self._reporter = Reporter(self.journal, doors)
        self._pruned_at = self._monotonic()
        self._whole_at: int | None = None
        self._said: dict[object, str] = {}
        self._trouble: RelumeError | None = None

    def close(self) -> None:
        """Let the helper hold nothing more, and close the journal."""
        self._folder.clear_decisions()
        self.journal.close()

    def run(self, stop: Stop) -> None:
        """Do rounds until `stop` is set. What is unreachable is waited for."""
        while not stop.is_set():
            seconds = self._settings.interval_seconds
            stamp = self._folder.wake_stamp()
            try:
                if self.round().busy:
                    seconds = min(seconds, self._settings.busy_interval_seconds)
            except RelumeError as error:  # whatever it is: holds of ours wait for us to come back
                log.warning("%s", error)
                with suppress(UnreachableError):
                    self._beat()
            self._wait(stop, seconds, stamp)

    def round(self) -> Round:
        """Do one round.

        Raises
        ------
        UnreachableError
            When Slurm or the journal can't be reached: then nothing was done, or nothing more.
        """
        self._trouble = None
        snapshot = self._doors.reader.snapshot()
        self._renew(snapshot.cluster)
        listing, named = self._ask(snapshot)
        advice = None if listing is None else listing.advice
        facts = self._gatherer.gather(snapshot, advice, named)
        items, commands, facts = self._carry_out(facts)
        self._reporter.note_milestones(facts, snapshot.taken_at)
        whole = listing is not None and self._may_act() and self._report()
        self._tell_helper(facts, allowed=whole)
        self._whole_at = self._clock.now() if whole else self._whole_at
        self._beat()
        self._prune()
        busy = _busy(items, facts, self._clock.now())
        return Round(tuple(items), commands, busy, whole, self._trouble)

    def _may_act(self) -> bool:
        return self._settings.mode == "act" and self._lease.lasts()

    def _may_begin(self) -> bool:
        return self._settings.mode == "act" and self._lease.lasts(COMMAND_SECONDS)

    def _renew(self, cluster: str) -> None:
        """Take the lease or keep it; without it nothing is done, only looked at."""
        if self._settings.mode != "act":
            return
        try:
            ours = self._lease.renew(cluster)
        except RelumeError as error:
            self._failed("lease", error)
            return
        self._say("lease", "held" if ours else "another controller has the lease")

    def _ask(self, snapshot: SlurmSnapshot) -> tuple[Listing | None, dict[str, str]]:
        """Hand the snapshot over and ask what is wanted; null when the service is away."""
        service = self._doors.service
        try:
            named = service.report_scheduler(snapshot)
            listing = service.active_advice(snapshot.cluster)
        except RelumeError as error:
            self._failed("service", error)
            return None, {}
        self._say("service", "answers")
        self._say("skipped", f"{len(listing.skipped)} Advice not understood {listing.skipped[:3]}")
        return listing, named

    def _carry_out(self, facts: Facts) -> tuple[list[Item], int, Facts]:
        """Plan and act, until nothing is left that can be done at once."""
        commands = 0
        self._accept(facts)
        facts = self._gatherer.remember(facts)
        self._name_strange_holds(facts)
        for _ in range(MAX_PASSES):
            items = plan(facts, self._settings, self._clock.now())
            if not self._may_act():
                self._would(items)
                break
            for close in (item for item in items if isinstance(item, Close)):
                self._close(close)
            steps = [item for item in items if isinstance(item, Step)][:MAX_STEPS]
            before = commands
            for step in steps:
                after = self._executor.carry_out(step, facts)
                if after is not None:
                    commands += 1
                    facts = facts.with_job(step.job_id, after.jobs.get(step.job_id))
            facts = self._gatherer.remember(facts)
            if commands == before:
                break
        return items, commands, facts

    def _name_strange_holds(self, facts: Facts) -> None:
        """Say which jobs are held that nobody will let go if it wasn't a person who held them."""
        for job in facts.jobs.values():
            unknown = job.held and facts.memory.sighting(job) is None
            if unknown and limits.not_ours(job, self._settings) is None:
                words = f"held ({job.reason}); neither journal nor marker know it: left alone"
                self._say(f"job {job.job_id}", words, logging.WARNING)

    def _accept(self, facts: Facts) -> None:
        if self._may_act():
            for advice in facts.considered:
                mine = advice.is_actionable and advice.scope is Scope.ATTEMPT
                ours = advice.attempt.startswith(f"{facts.cluster}/")
                if mine and ours and advice.advice_id not in facts.memory.accepted:
                    self.journal.accept(advice, self._clock.now())

    def _close(self, close: Close) -> None:
        log.info("%s: %s %s", close.advice.attempt, close.disposition, close.reason or "")
        self.journal.finish(close.advice, close.disposition, close.reason, self._clock.now())

    def _would(self, items: list[Item]) -> None:
        """Say once what would be done."""
        for item in items:
            if isinstance(item, Step):
                self._say(item.identity, f"would do: {command(item)} ({item.reason})")

    def _report(self) -> bool:
        try:
            self._reporter.send(self._lease.token or 0)
        except RelumeError as error:
            if isinstance(error, LostLeaseError):
                self._lease.lose()
            self._failed("service", error)
            return False
        return True

    def _tell_helper(self, facts: Facts, *, allowed: bool) -> None:
        if not allowed:
            self._folder.clear_decisions()
            return
        now = self._clock.now()
        seconds = DECISIONS_SECONDS + 3 * self._settings.interval_seconds
        until = now + int(seconds * MICROSECONDS_PER_SECOND)
        self._folder.write_decisions(decisions(facts, self._settings, now), until)

    def _beat(self) -> None:
        now = self._clock.now()
        self._folder.beat(Heartbeat(now, self._whole_at, self._settings.mode, self._holder))

    def _prune(self) -> None:
        if self._monotonic() - self._pruned_at > PRUNE_SECONDS:
            self.journal.prune(self._clock.now())
            self.journal.resume()
            self._pruned_at = self._monotonic()

    def _failed(self, about: str, error: RelumeError) -> None:
        self._trouble = self._trouble or error
        self._say(about, str(error), logging.WARNING)

    def _say(self, about: object, words: str, level: int = logging.INFO) -> None:
        """Log a state when it changes, not every round."""
        if len(self._said) > MAX_SAID:
            self._said.clear()
        if self._said.get(about) != words:
            self._said[about] = words
            log.log(level, "%s: %s", about, words)

    def _wait(self, stop: Stop, seconds: float, stamp: int) -> None:
        """Wait, but not when the helper has held a job since the round began."""
        end = self._monotonic() + seconds
        while self._monotonic() < end and self._folder.wake_stamp() == stamp:
            if stop.wait(min(_WAKE_SECONDS, seconds)):
                return


def _busy(items: list[Item], facts: Facts, now: int) -> bool:
    """Whether Advice waits for its next step, or will soon come: about a hold, or a fresh end."""
    if any(isinstance(item, Wait) for item in items):
        return True
    for job in facts.jobs.values():
        seen = facts.memory.sighting(job)
        if seen is None:
            continue
        ended = now if job.end_time is None else job.end_time
        fresh = now - ended < FRESH_SECONDS * MICROSECONDS_PER_SECOND
        if job.state in {"COMPLETING", *FAILED_STATES} and fresh:
            return True
        if hold_of(job, seen.key, facts.memory) is Hold.OURS:
            return True
    return False
