"""The same recorded failures under other hands: what each would have cost (DESIGN 9, metrics 12).

The record says when a failure began, when it was over, and what was tried next. Four hands are
compared by plain arithmetic on it, nothing is simulated:

- the *baseline*: the collectives' timer ends what hangs after 600 s, and it is queued again
  blindly;
- a *human*, who comes 30 minutes after the failure began, and stops what can't work;
- *Relume*, by the times and operations of its Advice as replayed, on top of the same timer. Where
  it advised nothing that ends a failure, the human comes;
- *perfect*: knows everything at once, and tries nothing a second time that fails in the same way.

What each attempt did before its failure is the same for all. What the record can't tell is left
out: how a run would have gone on other nodes, and what a job that was to be held back would have
met if nobody tried it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from relume.advice import ENDING, Operation

SECOND = 1_000_000
TIMER_SECONDS = 600.0
"""Default of PyTorch's collective timer (metrics section 13.6)."""
HUMAN_SECONDS = 1_800.0
SETTLE_SECONDS = 10.0
"""How long Relume waits for evidence after the end of a job (DESIGN 5)."""
MIN_GAIN = 1e-12
"""Of goodput: what perfection gains below it is rounding."""


class Hand(StrEnum):
    """Who looks after the runs."""

    BASELINE = "baseline"
    HUMAN = "human"
    RELUME = "relume"
    PERFECT = "perfect"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advised:
    """What was advised about an attempt in the end: by which rule, when (UTC microseconds)."""

    operation: Operation
    rule: str | None
    time: int
    hold_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A recorded failure. Times are UTC microseconds.

    Attributes
    ----------
    gpus
        Of the attempt.
    start, onset, end
        When it started, when the failure began to cost progress, when it was over.
    by_hand
        Whether a person ended it: without one it would have gone on.
    repeats
        Whether it failed as the one before it, and got no further: it was tried in vain.
    advised
        Null where nothing was.
    spared
        Whether Relume had advised to stop the run before this attempt of it.
    stopped_wrongly
        Whether Relume advised to stop the run, and the next attempt of the same job got further.
    """

    attempt: str
    gpus: int
    start: int
    onset: int
    end: int
    by_hand: bool = False
    repeats: bool = False
    advised: Advised | None = None
    spared: bool = False
    stopped_wrongly: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseAlarm:
    """An attempt that was fine and would have been ended: its GPUs, and the rule."""

    attempt: str
    gpus: int
    rule: str | None


@dataclass(slots=True)
class RuleWorth:
    """What a rule would have saved and wasted against the baseline, in GPU-seconds."""

    failures: int = 0
    false_alarms: int = 0
    saved: float = 0.0
    wasted: float = 0.0

    @property
    def net(self) -> float:
        """What is left."""
        return self.saved - self.wasted


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """What failures cost under each hand.

    Attributes
    ----------
    lost
        GPU-seconds by hand: from the onset of each failure to the next try, attempts in vain, and
        healthy attempts that were ended.
    goodput
        Productive GPU time over all that would have been held, by hand; null without any.
    by_rule
        Of Relume alone; null is the name of what no rule was advised on.
    failures, without_onset, untried
        How many were compared; how many could not be since nobody knows when they began; and since
        they were to be held back or left alone, and nobody tried what would have come of it.
    """

    lost: dict[Hand, float]
    goodput: dict[Hand, float | None]
    by_rule: dict[str | None, RuleWorth] = field(default_factory=dict)
    failures: int = 0
    without_onset: int = 0
    untried: int = 0

    @property
    def oracle_fraction(self) -> float | None:
        """Share of what perfection would gain that Relume gains; null where that is nothing.

        Below zero where Relume would have cost more than it saved.
        """
        base, ours, best = (
            self.goodput[hand] for hand in (Hand.BASELINE, Hand.RELUME, Hand.PERFECT)
        )
        if base is None or ours is None or best is None or best - base <= MIN_GAIN:
            return None
        return (ours - base) / (best - base)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """GPU-seconds of the record: those that brought runs forward, and all that were held."""

    productive: float
    held: float


def compare(
    failures: Sequence[Failure],
    false_alarms: Iterable[FalseAlarm],
    held: Held,
    *,
    restart_seconds: float,
) -> Counterfactual:
    """Return what the failures would have cost under each hand.

    Parameters
    ----------
    failures
        Of which it is known when they began.
    false_alarms
        What Relume would have ended for nothing.
    held
        Of the record: what was held, with the failures as they were.
    restart_seconds
        What ending a healthy attempt costs: its start, and the work since its last checkpoint.
    """
    lost = dict.fromkeys(Hand, 0.0)
    rules: defaultdict[str | None, RuleWorth] = defaultdict(RuleWorth)
    recorded = 0.0
    for one in failures:
        costs = {hand: _cost(one, hand) for hand in Hand}
        for hand, cost in costs.items():
            lost[hand] += cost
        recorded += _gpu_seconds(one, one.start if one.repeats else one.onset, one.end)
        _book(rules[one.advised.rule if one.advised else None], costs)
    for alarm in false_alarms:
        cost = alarm.gpus * restart_seconds
        lost[Hand.RELUME] += cost
        worth = rules[alarm.rule]
        worth.false_alarms += 1
        worth.wasted += cost
    kept = held.held - recorded
    goodput = {
        hand: held.productive / (kept + cost) if kept + cost > 0 else None
        for hand, cost in lost.items()
    }
    return Counterfactual(lost, goodput, dict(rules), len(failures))


def _book(worth: RuleWorth, costs: dict[Hand, float]) -> None:
    gain = costs[Hand.BASELINE] - costs[Hand.RELUME]
    worth.failures += 1
    worth.saved += max(gain, 0.0)
    worth.wasted += max(-gain, 0.0)


def _cost(failure: Failure, hand: Hand) -> float:
    """GPU-seconds that a failure costs under a hand, up to the next try."""
    is_spared = failure.repeats and (hand is Hand.PERFECT or hand is Hand.HUMAN)
    if is_spared or (hand is Hand.RELUME and failure.spared):
        return 0.0
    in_vain = _gpu_seconds(failure, failure.start, failure.onset) if failure.repeats else 0.0
    return in_vain + failure.gpus * _delay(failure, hand)


def _delay(failure: Failure, hand: Hand) -> float:
    """Seconds from the onset to the next try."""
    if hand is Hand.PERFECT:
        return 0.0
    if hand is Hand.HUMAN:
        return HUMAN_SECONDS
    dies = None if failure.by_hand else (failure.end - failure.onset) / SECOND
    timer = TIMER_SECONDS if dies is None else min(dies, TIMER_SECONDS)
    if hand is Hand.BASELINE:
        return timer
    return _relume_delay(failure, timer)


def _relume_delay(failure: Failure, timer: float) -> float:
    advised = failure.advised
    if advised is None:
        return HUMAN_SECONDS
    since = max(0.0, (advised.time - failure.onset) / SECOND)
    if since > timer:  # the timer would have ended it, whatever the recorded one was set to
        late = (advised.time - failure.end) / SECOND
        since = timer + (late if late >= 0 else SETTLE_SECONDS)
    if advised.operation is Operation.HOLD:
        return since + advised.hold_seconds
    if advised.operation not in ENDING:
        return max(since, HUMAN_SECONDS)
    # A run that was stopped and would have worked waits for a person who starts it again.
    return since + (HUMAN_SECONDS if failure.stopped_wrongly else 0.0)


def _gpu_seconds(failure: Failure, begin: int, end: int) -> float:
    return failure.gpus * max(0, end - begin) / SECOND
