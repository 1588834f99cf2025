"""Does one step: look again, journal the intent, act, journal the outcome, read back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from relume.controller.actuator import Order
from relume.controller.actuator import command as order_command
from relume.controller.commands import Done
from relume.controller.doors import Actuator, Doors
from relume.controller.facts import Action, Facts, Outcome
from relume.controller.gather import Gatherer
from relume.controller.journal import Journal
from relume.controller.plan import plan
from relume.controller.steps import Step
from relume.errors import Permanent, RelumeError
from relume.settings import ControllerSettings
from relume.slurm.hostlists import fold
from relume.slurm.job import ENDED_STATES, SlurmJob

_ORDERS = {
    Action.MARK: Order.ADMIN_COMMENT,
    Action.HOLD: Order.REQUEUE_HOLD,
    Action.HOLD_RUNNING: Order.REQUEUE_HOLD_RUNNING,
    Action.EXCLUDE: Order.EXCLUDE,
    Action.RELEASE: Order.RELEASE,
    Action.CANCEL: Order.CANCEL,
}
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Executor:
    """Carries steps out, one at a time.

    `may_act` is asked right before each command: mode and lease must still allow it.
    """

    doors: Doors
    journal: Journal
    gatherer: Gatherer
    settings: ControllerSettings
    may_act: Callable[[], bool]

    def carry_out(self, step: Step, facts: Facts) -> Facts | None:
        """Do a step of a plan, if it is still the plan when Slurm is asked once more.

        Slurm has no compare-and-set, so this is as near as one can get. Returns what is known of
        the job afterwards, null when no command was given.

        Raises
        ------
        UnreachableError
            When Slurm can't be read, or the journal not be written: then nothing more may be done.
        """
        now = self.doors.clock.now()
        newest = self.gatherer.only(facts, step.job_id)
        items = plan(newest, self.settings, now)
        steps = (item for item in items if isinstance(item, Step))
        again = next((one for one in steps if one.identity == step.identity), None)
        if again is None or not self.may_act():
            return None
        deed_id = self.journal.intend(again, command(again), now)
        outcome, words = self._act(again)
        self.journal.result(deed_id, outcome, words, self.doors.clock.now())
        log.info("%s %s: %s (%s) %s", again.action, again.job_id, outcome, again.reason, words)
        after = self.gatherer.look(newest, step.job_id)
        job = after.jobs.get(step.job_id)
        self.journal.read_back(deed_id, _shown(job))
        if again.action is Action.HOLD_RUNNING and job is not None and job.state in ENDED_STATES:
            words = f"it had ended {job.state} before"
            self.journal.result(deed_id, Outcome.REFUSED, words, self.doors.clock.now())
            after = self.gatherer.remember(after)
        return after

    def _act(self, step: Step) -> tuple[Outcome, str]:
        try:
            done = _do(self.doors.actuator, step)
        except RelumeError as error:
            refused = isinstance(error, Permanent)
            return Outcome.REFUSED if refused else Outcome.UNKNOWN, str(error)
        return Outcome.DONE, done.stderr.strip()


def command(step: Step) -> tuple[str, ...]:
    """Return the command of a step, for the journal and for people."""
    value = step.text if step.action is Action.MARK else fold(step.nodes)
    return order_command(_ORDERS[step.action], step.job_id, value or "")


def _do(actuator: Actuator, step: Step) -> Done:
    if step.action is Action.MARK:
        return actuator.set_admin_comment(step.job_id, step.text or "")
    if step.action is Action.EXCLUDE:
        return actuator.set_exclude(step.job_id, step.nodes)
    plain = {
        Action.HOLD: actuator.requeue_hold,
        Action.HOLD_RUNNING: actuator.requeue_hold_running,
        Action.RELEASE: actuator.release,
        Action.CANCEL: actuator.cancel,
    }
    return plain[step.action](step.job_id)


def _shown(job: SlurmJob | None) -> str:
    return "gone" if job is None else f"{job.state} {job.reason} restarts={job.restart_count}"
