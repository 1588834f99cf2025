"""What comes after Advice, by the clock of the ticks: incidents that end, alarms that prove right.

A live run and the replay of its lake tell the same, since both ask only the watches, at ticks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from relume.advice import Advice, Mode, Operation, Scope, subject
from relume.models.fleet.breaker import Incident
from relume.models.policy.rules import SUSPECTED_HANG_RULE
from relume.models.worth.outcomes import (
    SECOND,
    SILENT_SECONDS,
    STEPS_TO_REFUTE,
    HangAlarm,
    Label,
    label_of,
)
from relume.serve.ledger import Closing, OutcomeRecord, Struck
from relume.serve.live.watch import AttemptWatch
from relume.verdict import Kind

Told: TypeAlias = Closing | Struck | OutcomeRecord
OVER = "the attempt is over"
WENT_ON = "steps came again"
MAX_ALARMS = 16
"""Alarms of one attempt whose outcome is waited for; each rule has one."""


@dataclass(slots=True)
class _Alarm:
    """One about a hang, since `time`; `steps` had been seen by then.

    `is_labelled` says whether its outcome is to be told, `is_blind` that nobody could look for a
    while, `hand` what a person did in the meantime, `went_on_at` when the first new step landed.
    """

    advice: Advice
    steps: int
    is_labelled: bool
    is_blind: bool = False
    hand: str | None = None
    went_on_at: int | None = None

    @property
    def silent_seconds(self) -> float | None:
        """How long the silence was in the end; null while it goes on, and where nobody knows."""
        measured = self.advice.measured
        if self.went_on_at is None or self.is_blind or measured is None or measured.since is None:
            return None
        return (self.went_on_at - measured.since) / SECOND


@dataclass(slots=True)
class _Case:
    """What is open of one attempt."""

    newest: Advice
    alarms: list[_Alarm] = field(default_factory=list)
    rules: set[str | None] = field(default_factory=set)


@dataclass(slots=True)
class Aftermath:
    """Waits for what becomes of Advice about attempts. Bounded by the attempts that are watched.

    Attributes
    ----------
    told
        What became known since it was last cleared, in order.
    """

    told: list[Told] = field(default_factory=list)
    _cases: dict[str, _Case] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, _Case]:
        """Leave out what became known just now: whoever keeps this has been told."""
        return self._cases

    def __setstate__(self, state: dict[str, _Case]) -> None:
        """Take what is open."""
        self.told, self._cases = [], state

    def note(self, watch: AttemptWatch, advice: Advice, incident: Incident | None) -> None:
        """Take Advice about a watched attempt; `incident` goes on in its cluster."""
        name = watch.name
        case = self._cases.setdefault(name, _Case(advice))
        case.newest = advice
        if incident is not None and name in incident.members:
            whole = subject(incident.first, Scope.CLUSTER, ())
            self.told.append(Struck(advice_id=advice.advice_id, subject=whole))
        is_suspicion = advice.rule == SUSPECTED_HANG_RULE
        is_first = advice.kind is Kind.HANG and advice.rule not in case.rules
        if watch.ended_at is not None or not (is_suspicion or is_first):
            return
        case.rules.add(advice.rule)
        if len(case.alarms) < MAX_ALARMS:
            # Once somebody may act on it, nobody can tell what would have become of it.
            is_labelled = advice.mode is Mode.MONITOR and not is_suspicion
            seen = watch.progress.new_steps
            case.alarms.append(_Alarm(advice, seen, is_labelled=is_labelled))

    @property
    def is_waiting(self) -> bool:
        """Whether anything is waited for: what becomes of an alarm."""
        return any(case.alarms for case in self._cases.values())

    def missed(self) -> None:
        """Take that nobody looked for a while: a silence of that time shows nothing."""
        for case in self._cases.values():
            for alarm in case.alarms:
                alarm.is_blind = True

    def waits_for(self, name: str) -> bool:
        """Whether something may still become of what was said of an attempt, as time goes on."""
        case = self._cases.get(name)
        return case is not None and bool(case.alarms)

    def look(self, watch: AttemptWatch, now: int) -> None:
        """Take the clock, when the attempt was looked at and decided about."""
        case = self._cases.get(watch.name)
        if case is None or not case.alarms:
            return
        case.alarms = [one for one in case.alarms if not self._is_known(case, one, watch, now)]

    def over(self, watch: AttemptWatch, now: int) -> None:
        """Take that an attempt isn't watched any more: nothing more becomes of its Advice."""
        case = self._cases.pop(watch.name, None)
        for alarm in () if case is None else case.alarms:
            self._tell(alarm, watch, None, now)
        if watch.last is not None:  # also of what a service before a restart has said
            self._close(watch.last, now, OVER)

    def _is_known(self, case: _Case, alarm: _Alarm, watch: AttemptWatch, now: int) -> bool:
        """Whether what became of an alarm is known by now; then it is told."""
        alarm.is_blind |= not watch.is_read
        alarm.hand = alarm.hand or watch.hand
        made = watch.progress.new_steps - alarm.steps
        if made > 0 and alarm.went_on_at is None:
            alarm.went_on_at = watch.last_step_at
        resumed = watch.last_step_at if made >= STEPS_TO_REFUTE else None
        waited = now - alarm.advice.created_at
        is_late = alarm.is_labelled and waited >= SILENT_SECONDS * SECOND
        if resumed is None and watch.ended_at is None and not is_late:
            return False
        self._tell(alarm, watch, resumed, now)
        if resumed is not None and case.newest is alarm.advice:
            self._went_on(alarm.advice, now)
        return True

    def _went_on(self, advice: Advice, now: int) -> None:
        """Close what was only watched; other Advice is taken back by the next generation."""
        if advice.operation is Operation.OBSERVE:
            self._close(advice, now, WENT_ON)

    def _close(self, advice: Advice, now: int, ending: str) -> None:
        self.told.append(Closing(advice_id=advice.advice_id, at=now, ending=ending))

    def _tell(self, alarm: _Alarm, watch: AttemptWatch, resumed: int | None, now: int) -> None:
        if not alarm.is_labelled:
            return
        label, reason = _outcome(alarm, watch, resumed, now)
        advice = alarm.advice
        self.told.append(
            OutcomeRecord(
                advice_id=advice.advice_id,
                attempt=advice.attempt,
                rule=advice.rule,
                label=label,
                reason=reason,
                alarm_at=advice.created_at,
                known_at=now,
                silent_seconds=alarm.silent_seconds,
            )
        )


def _outcome(
    alarm: _Alarm, watch: AttemptWatch, resumed: int | None, now: int
) -> tuple[Label, str]:
    """Return the label of an alarm; what a person did, and what nobody saw, censors it."""
    if alarm.hand is not None:
        return Label.UNLABELLED, f"somebody acted: {alarm.hand}"
    end, facts = watch.ended_at, watch.facts
    label, reason = label_of(
        HangAlarm(
            time=alarm.advice.created_at,
            resumed=resumed,
            end=end,
            state=None if end is None or facts is None else facts.outcome,
            seen_until=now if end is None else end,
        )
    )
    if alarm.is_blind and label is Label.TRUE:
        return Label.UNLABELLED, "nobody could look all the time"
    return label, reason
