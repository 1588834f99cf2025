"""False alarms one by one: why, what each cost, and the setting that would have avoided it.

Pure functions of rows of the ledger. What can't be computed is *unknown*, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from relume.advice import Advice, Disposition, Mode, Operation
from relume.errors import counted
from relume.identity import AttemptId
from relume.models.hang.patience import ACTIONABLE_SETTING, BUDGET_SETTING
from relume.models.hang.settings import budget_for
from relume.models.worth.outcomes import Label
from relume.serve.ledger import AttemptRecord, Milestone, MilestoneRecord, Standing
from relume.serve.live.pace import EFFECT_SETTING, SLOW_RATIO
from relume.serve.reports.alarms import Alarm, alarms_of
from relume.settings import SECTIONS

_HOUR = 3_600_000_000
_OVERRIDE = "rules.folders"
_ACTS = frozenset({Operation.RESTART, Operation.RESTART_EXCLUDING, Operation.STOP})


@dataclass(frozen=True, slots=True)
class Cost:
    """What a false alarm cost. `words` say how that is known, or why it isn't.

    Attributes
    ----------
    node_hours
        Of the nodes that made no progress for it; 0 where nothing was done, null: unknown.
    gpu_hours
        The same in GPUs, where their number is given; null: unknown.
    """

    node_hours: float | None
    gpu_hours: float | None
    words: str


@dataclass(frozen=True, slots=True)
class Avoiding:
    """What would have kept silent. `setting` and `value` are null where that is unknown.

    `value` is null, too, where the setting isn't a number; then `words` say what to write.
    """

    setting: str | None
    value: float | None
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FalsePositive:
    """One false alarm.

    `seen` is how long the silence was in the end, or how many times as long steps took; null: not
    known. `by` says who or what says that it was false.
    """

    advice: Advice
    by: str
    why: str | None
    seen: float | None
    cost: Cost
    avoiding: Avoiding


def false_positives(
    told: Iterable[tuple[Advice, Standing]],
    attempts: Iterable[AttemptRecord],
    milestones: Callable[[str], Sequence[MilestoneRecord]],
    *,
    gpus_per_node: int | None = None,
) -> list[FalsePositive]:
    """Return the alarms that were wrong, newest first.

    Parameters
    ----------
    told
        Advice with whether it was right, oldest first.
    attempts
        What the ledger knows of attempts.
    milestones
        Tells how far an attempt got after a restart.
    gpus_per_node
        The ledger counts nodes only; without it GPU-hours are unknown.
    """
    nodes = {one.attempt: len(one.nodes) for one in attempts}
    wrong = [one for one in alarms_of(told) if one.label is Label.FALSE]
    return explained(wrong, nodes, milestones, gpus_per_node=gpus_per_node)


def explained(
    wrong: Sequence[Alarm],
    nodes: Mapping[str, int],
    milestones: Callable[[str], Sequence[MilestoneRecord]],
    *,
    gpus_per_node: int | None = None,
) -> list[FalsePositive]:
    """Return alarms that were wrong (oldest first) with their costs, newest first.

    `nodes` says how many each attempt had, as far as that is known.
    """
    return [
        FalsePositive(
            advice=alarm.last,
            by=alarm.by or "nobody",
            why=alarm.why,
            seen=_seen(alarm),
            cost=_cost(alarm, nodes.get(alarm.last.attempt, 0), milestones, gpus_per_node),
            avoiding=avoiding(alarm),
        )
        for alarm in reversed(wrong)
    ]


def avoiding(alarm: Alarm) -> Avoiding:
    """Return the setting that would have kept an alarm from being raised, as far as it is known."""
    measured = alarm.raised.measured
    if measured is None:
        return _of_rule(alarm.raised)
    if measured.setting is None:
        return _unknown("no setting of a site decides this: it follows from what the job showed")
    seen = _seen(alarm)
    if seen is None:
        return _unknown("nobody saw how long the silence would have been")
    return _of_setting(measured.setting, seen)


def _of_setting(setting: str, seen: float) -> Avoiding:
    if setting == EFFECT_SETTING:
        effect = math.ceil(round((seen - 1.0) * 100, 6)) / 100
        return _within(setting, effect, f"its steps took {seen:.2f} times as long")
    words = f"the silence was {seen:.0f} s long"
    if setting == ACTIONABLE_SETTING:
        return _within(setting, float(math.ceil(seen)), words)
    budget = budget_for(seen)
    if budget is None:
        return _unknown(f"{words}: no budget waits so long")
    return Avoiding(BUDGET_SETTING, budget, words)


def _within(setting: str, value: float, words: str) -> Avoiding:
    """Return a value, unless it is more than the setting may be."""
    section, _, key = setting.partition(".")
    limits = SECTIONS[section].model_fields[key].metadata
    most = min((one.le for one in limits if getattr(one, "le", None) is not None), default=math.inf)
    if value > most:
        return _unknown(f"{words}, and {setting} may be {most:g} at most")
    return Avoiding(setting, value, words)


def _of_rule(advice: Advice) -> Avoiding:
    """Return how a signature is kept from a line: a site's rule in its place."""
    line = next((one for one in advice.evidence if one.rule == advice.rule), None)
    if advice.rule is None or line is None:
        return _unknown("no rule of its own read a line: nothing to set")
    words = (
        f"a rule {advice.rule} of your own, with override = true, that doesn't match "
        f"{line.file}:{line.line + 1}; that line as a negative sample"
    )
    return Avoiding(_OVERRIDE, None, words)


def _unknown(words: str) -> Avoiding:
    return Avoiding(None, None, words)


def _seen(alarm: Alarm) -> float | None:
    measured = alarm.raised.measured
    if measured is not None and measured.name == SLOW_RATIO:
        return measured.value
    return None if alarm.outcome is None else alarm.outcome.silent_seconds


def _cost(
    alarm: Alarm,
    nodes: int,
    milestones: Callable[[str], Sequence[MilestoneRecord]],
    gpus_per_node: int | None,
) -> Cost:
    acted = next((one for one in alarm.advice if _was_done(one)), None)
    if acted is None:
        watched = alarm.last.mode is Mode.MONITOR
        return Cost(0.0, 0.0, "it was only watched" if watched else "nothing was carried out")
    if acted.operation is Operation.STOP:
        return Cost(None, None, "the job was stopped: what it had still to do is lost")
    if not nodes:
        return Cost(None, None, "nobody knows its nodes")
    back = [one for one in milestones(_next(acted.attempt)) if _is_back(one)]
    if not back:
        return Cost(None, None, "it was restarted, and nobody saw its first new step")
    lost = max(0, min(one.event_time for one in back) - alarm.raised.created_at)
    hours = nodes * lost / _HOUR
    gpus = None if gpus_per_node is None else hours * gpus_per_node
    return Cost(hours, gpus, f"{counted(nodes, 'node')} from the alarm to the first new step")


def _was_done(advice: Advice) -> bool:
    done = advice.reconciliation.disposition is Disposition.CONVERGED
    return done and advice.operation in _ACTS and advice.mode is not Mode.MONITOR


def _is_back(one: MilestoneRecord) -> bool:
    return one.milestone is Milestone.PROGRESS_RESTORED


def _next(attempt: str) -> str:
    one = AttemptId.parse(attempt)
    return str(AttemptId(one.job_key, one.restart_count + 1))
