"""How right each rule was in production: a pure function of rows of the ledger (DESIGN 5).

What it counts is in `docs/scoreboard.md`; formulae are those of metrics sections 3, 4 and 6.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from relume.advice import Advice, Mode, Operation
from relume.identity import AttemptId
from relume.models.scoring.intervals import Proportion, Rate
from relume.models.worth.agreement import Act, Handled, act_of, agreement_of
from relume.models.worth.outcomes import Label
from relume.serve.ledger import AttemptRecord, Standing
from relume.serve.reports.alarms import Alarm, alarms_of
from relume.verdict import Kind

_DAY = 86_400_000_000
_RESTARTS = frozenset({Operation.RESTART, Operation.RESTART_EXCLUDING})


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % interval; null where nothing counts."""

    value: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, counted: Proportion | Rate, scale: float = 1.0) -> Estimate:
        """Return what was counted, times `scale`.

        Examples
        --------
        >>> Estimate.of(Proportion(0, 0))
        Estimate(value=None, low=None, high=None)
        """
        value, interval = counted.value, counted.interval
        if value is None or interval is None:
            return cls(None, None, None)
        return cls(value * scale, interval[0] * scale, interval[1] * scale)


@dataclass(frozen=True, slots=True)
class Ran:
    """What a scoreboard needs of an attempt.

    `nodes` is how many it had; `end` is null while it goes on, and where nobody knows it.
    """

    attempt: str
    run: str
    state: str
    ended: bool
    nodes: int
    start: int | None
    end: int | None
    fingerprint: str | None
    last_step: int | None

    @classmethod
    def of(cls, one: AttemptRecord) -> Ran:
        """Return it, of all that the ledger knows of an attempt."""
        return cls(
            attempt=one.attempt,
            run=one.run,
            state=one.state,
            ended=one.ended,
            nodes=len(one.nodes),
            start=one.start_time,
            end=one.end_time or one.over_at,
            fingerprint=one.fingerprint,
            last_step=one.last_step,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleScore:
    """How right one rule was about one kind of failure.

    Attributes
    ----------
    rule
        Null for what no rule decided.
    alarms
        All of them: the right ones, the wrong ones, and those of which nobody knows.
    by_people
        Of the labelled ones, how many a person labelled.
    unlabelled_acted
        Of the unlabelled ones, those that somebody might have acted on (mode *act* or *approve*):
        they never label themselves.
    precision
        Right ones of the labelled ones (Wilson).
    false_per_job_day, false_per_1000_node_days
        Of what is known to be false (Poisson), on attempts that ran.
    restarts, futile
        Attempts that were to be restarted and whose next try is over, and those of them that failed
        alike and got no further.
    agreement
        How often people did what was advised while it was only watched (Wilson).
    """

    rule: str | None
    kind: Kind | None
    alarms: int
    true: int
    false: int
    unlabelled: int
    by_people: int
    unlabelled_acted: int
    precision: Estimate
    false_per_job_day: Estimate
    false_per_1000_node_days: Estimate
    restarts: int
    futile: int
    agreement: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoreboard:
    """How right all rules were between two times (UTC microseconds).

    Attributes
    ----------
    attempts, job_days, node_days
        That ran, and for how long; without the time from an alarm that was right to the end.
    incidents_per_job_day
        Alarms that were right, since precision depends on how often there is something to find.
    rules, kinds
        By rule and kind, and by kind alone; those with the most alarms first.
    total
        Everything; its rule and kind are null.
    """

    since: int
    until: int
    attempts: int
    job_days: float
    node_days: float
    incidents_per_job_day: Estimate
    rules: tuple[RuleScore, ...]
    kinds: tuple[RuleScore, ...]
    total: RuleScore


def scoreboard(
    told: Iterable[tuple[Advice, Standing]],
    attempts: Iterable[AttemptRecord],
    *,
    since: int,
    until: int,
) -> Scoreboard:
    """Return how right Advice was that was made from `since` to `until`.

    Parameters
    ----------
    told
        Advice with whether it was right, oldest first.
    attempts
        All attempts that the ledger knows: how long they ran, and what came after each.
    """
    return scores(alarms_of(told), map(Ran.of, attempts), since=since, until=until)


def scores(
    alarms: Iterable[Alarm], attempts: Iterable[Ran], *, since: int, until: int
) -> Scoreboard:
    """Return the same, of alarms in the order in which they were raised."""
    alarms = [one for one in alarms if since <= one.raised.created_at <= until]
    known = list(attempts)
    exposure = _Exposure.of(known, alarms, since, until)
    runs = _Runs(known)
    by_rule: defaultdict[tuple[str | None, Kind], list[Alarm]] = defaultdict(list)
    by_kind: defaultdict[Kind, list[Alarm]] = defaultdict(list)
    for alarm in alarms:
        by_rule[alarm.raised.rule, alarm.raised.kind].append(alarm)
        by_kind[alarm.raised.kind].append(alarm)
    rules = (_score(rule, kind, found, exposure, runs) for (rule, kind), found in by_rule.items())
    kinds = (_score(None, kind, found, exposure, runs) for kind, found in by_kind.items())
    total = _score(None, None, alarms, exposure, runs)
    return Scoreboard(
        since=since,
        until=until,
        attempts=exposure.attempts,
        job_days=exposure.job_days,
        node_days=exposure.node_days,
        incidents_per_job_day=Estimate.of(Rate(total.true, exposure.job_days)),
        rules=_ordered(rules),
        kinds=_ordered(kinds),
        total=total,
    )


def _ordered(scores: Iterable[RuleScore]) -> tuple[RuleScore, ...]:
    return tuple(sorted(scores, key=lambda one: (-one.alarms, one.rule or "", str(one.kind))))


@dataclass(frozen=True, slots=True)
class _Exposure:
    """For how long attempts ran in which an alarm would have been false."""

    attempts: int
    job_days: float
    node_days: float

    @classmethod
    def of(
        cls, attempts: Sequence[Ran], alarms: Sequence[Alarm], since: int, until: int
    ) -> _Exposure:
        ill: dict[str, int] = {}
        for alarm in alarms:
            if alarm.label is Label.TRUE:
                begun = ill.get(alarm.raised.attempt, until)
                ill[alarm.raised.attempt] = min(begun, alarm.raised.created_at)
        count, job_days, node_days = 0, 0.0, 0.0
        for one in attempts:
            end = one.end or (None if one.ended else until)
            if one.start is None or end is None:
                continue  # nobody knows how long it ran
            end = min(end, until, ill.get(one.attempt, until))
            days = (end - max(one.start, since)) / _DAY
            if days > 0.0:
                count, job_days = count + 1, job_days + days
                node_days += days * one.nodes
        return cls(count, job_days, node_days)


class _Runs:
    """What came after each attempt in its run."""

    def __init__(self, attempts: Iterable[Ran]) -> None:
        runs: defaultdict[str, list[Ran]] = defaultdict(list)
        for one in attempts:
            runs[one.run].append(one)
        self._at: dict[str, Ran] = {}
        self._next: dict[str, Ran] = {}
        for tries in runs.values():
            tries.sort(key=lambda one: AttemptId.parse(one.attempt).age)
            self._at |= {one.attempt: one for one in tries}
            self._next |= {one.attempt: after for one, after in pairwise(tries)}

    def futile(self, advice: Advice) -> bool | None:
        """Whether the next try failed alike and got no further; null while it isn't over."""
        if advice.operation not in _RESTARTS:
            return None
        one, after = self._at.get(advice.attempt), self._next.get(advice.attempt)
        if one is None or after is None or not after.ended:
            return None
        is_alike = one.fingerprint is not None and one.fingerprint == after.fingerprint
        return is_alike and (after.last_step or 0) <= (one.last_step or 0)

    def handled(self, advice: Advice) -> Handled:
        """What was advised about an attempt, and what people did."""
        one = self._at.get(advice.attempt)
        if advice.mode is not Mode.MONITOR or one is None or not one.ended:
            return Handled(advice.operation, Act.UNKNOWN)
        again = True if advice.attempt in self._next else None
        return Handled(advice.operation, act_of(one.state, again=again))


def _score(
    rule: str | None, kind: Kind | None, alarms: Sequence[Alarm], exposure: _Exposure, runs: _Runs
) -> RuleScore:
    labels: Mapping[Label | None, int] = Counter(alarm.label for alarm in alarms)
    true, false = labels[Label.TRUE], labels[Label.FALSE]
    ends = [runs.futile(alarm.last) for alarm in alarms]
    return RuleScore(
        rule=rule,
        kind=kind,
        alarms=len(alarms),
        true=true,
        false=false,
        unlabelled=len(alarms) - true - false,
        by_people=sum(alarm.by_person for alarm in alarms),
        unlabelled_acted=sum(
            not alarm.is_labelled and alarm.last.mode is not Mode.MONITOR for alarm in alarms
        ),
        precision=Estimate.of(Proportion(true, true + false)),
        false_per_job_day=Estimate.of(Rate(false, exposure.job_days)),
        false_per_1000_node_days=Estimate.of(Rate(false, exposure.node_days), 1000.0),
        restarts=sum(end is not None for end in ends),
        futile=sum(end is True for end in ends),
        agreement=Estimate.of(agreement_of(runs.handled(alarm.last) for alarm in alarms).agreed),
    )
