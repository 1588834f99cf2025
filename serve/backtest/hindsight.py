"""What Relume's Advice would have been worth in a backtest, and what became of its alarms."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import polars as pl

from relume.advice import ENDING, Advice, Mode, Operation
from relume.features.goodput.buckets import SECOND, Bucket, gpu_micros
from relume.identity import AttemptId, JobKey
from relume.models.worth.agreement import Act, Agreement, Handled, act_of, agreement_of
from relume.models.worth.counterfactual import (
    Advised,
    Counterfactual,
    Failure,
    FalseAlarm,
    Held,
    compare,
)
from relume.models.worth.outcomes import HangAlarm, Label, label_of
from relume.serve.backtest.goodput import Goodput, onset_of
from relume.serve.backtest.lived import Lived, Lives
from relume.serve.backtest.results import AdviceResult
from relume.slurm.hostlists import expand
from relume.verdict import Kind


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """How often alarms of one rule about hangs were true, by what became of them."""

    rule: str | None
    labels: Mapping[Label, int]


@dataclass(frozen=True, slots=True)
class Hindsight:
    """What Advice would have been worth.

    Attributes
    ----------
    counterfactual
        What failures cost under each hand.
    outcomes
        What became of alarms about hangs, by rule.
    agreement
        Whether people did the same.
    """

    counterfactual: Counterfactual
    outcomes: Sequence[RuleOutcome]
    agreement: Agreement


def hindsight_of(lives: Lives, goodput: Goodput, spans: pl.DataFrame) -> Hindsight:
    """Return what the Advice of a backtest would have been worth.

    Parameters
    ----------
    lives
        Its attempts.
    goodput, spans
        Where their time went.
    """
    failed = [one for one in lives.attempts if one.failed]
    spared, wrong = _spared(lives.attempts)
    untried = _untried(lives.attempts) - spared
    begun = [one for one in failed if _has_onset(one)]
    known = [one for one in begun if one.name not in untried]
    failures = [_failure(one, spared=spared, wrong=wrong) for one in known]
    vain = [one.name for one in known if one.repeats]
    return Hindsight(
        replace(
            compare(
                failures,
                _false_alarms(lives.attempts),
                _held(spans, vain),
                restart_seconds=_restart_seconds(goodput),
            ),
            without_onset=len(failed) - len(begun),
            untried=len(begun) - len(known),
        ),
        _outcomes(lives.attempts),
        agreement_of(_handled(lives.attempts)),
    )


def _has_onset(one: Lived) -> bool:
    return one.has_steps or one.onset is not None


def _failure(one: Lived, *, spared: set[str], wrong: set[str]) -> Failure:
    return Failure(
        attempt=one.name,
        gpus=one.gpus,
        start=one.start,
        onset=onset_of(one),
        end=one.end,
        by_hand=act_of(one.result.state, again=False) is Act.CANCELLED,
        repeats=one.repeats,
        advised=_advised(one),
        spared=one.name in spared,
        stopped_wrongly=one.name in wrong,
    )


def _advised(one: Lived) -> Advised | None:
    """Return the first settled Advice that ends the attempt, else the last settled one."""
    settled = [found.advice for found in one.decisions if found.advice.settled]
    if not settled:
        return None
    advice = next((found for found in settled if found.operation in ENDING), settled[-1])
    hold = (advice.expires_at - advice.created_at) / SECOND
    return Advised(
        operation=advice.operation, rule=advice.rule, time=advice.created_at, hold_seconds=hold
    )


def _untried(attempts: Sequence[Lived]) -> set[str]:
    """Return which attempts were not to be started again, and were not in the record either.

    What another hand's next try would have met nobody knows. A failure about which nothing was
    advised isn't among them: that was no decision.
    """
    following = {before.name for before, one in pairwise(attempts) if before.run == one.run}
    left = {one.name for one in attempts if _is_left(_advised(one))}
    return left - following


def _is_left(advised: Advised | None) -> bool:
    return advised is not None and advised.operation not in ENDING


def _is_held(advised: Advised | None) -> bool:
    return advised is not None and advised.operation is Operation.HOLD


def _spared(attempts: Sequence[Lived]) -> tuple[set[str], set[str]]:
    """Return which attempts would not have been made, and which runs would wrongly have ended.

    An attempt in vain is spared when the one before it was to be the last one, or was to be held
    back for longer, or when it met a node again that was to be left out.
    """
    spared, wrong = set[str](), set[str]()
    last: str | None = None  # the attempt after which its run was to be stopped
    avoided = frozenset[str]()
    for before, one in pairwise(attempts):
        if before.run != one.run:
            last, avoided = None, frozenset()
            continue
        advised = _last_ending(before)
        if advised is not None and advised.operation is Operation.STOP:
            last = last or before.name
        avoided |= frozenset() if advised is None else set(advised.exclude_nodes)
        if one.repeats and (last or avoided & _suspects(one) or _is_early(before, one)):
            spared.add(one.name)
            continue
        if one.passed and last is not None and _job(before) == _job(one):
            wrong.add(last)  # a new job is a person's, who may have mended what failed
        last = None
    return spared, wrong


def _job(one: Lived) -> JobKey:
    return AttemptId.parse(one.name).job_key


def _is_early(before: Lived, one: Lived) -> bool:
    """Whether an attempt began while its run was to be held back."""
    advised = _advised(before)
    if advised is None or not _is_held(advised):
        return False
    return one.start < advised.time + advised.hold_seconds * SECOND


def _last_ending(one: Lived) -> Advice | None:
    found = (two.advice for two in reversed(one.decisions) if two.advice.settled)
    return next((advice for advice in found if advice.operation in ENDING), None)


def _suspects(one: Lived) -> set[str]:
    return {node for found in one.decisions for node in found.nodes}


def _false_alarms(attempts: Sequence[Lived]) -> Iterator[FalseAlarm]:
    """Attempts that would have been ended although they were fine."""
    for one in attempts:
        for found in one.decisions:
            if found.advice.settled and found.advice.operation in ENDING and _was_fine(one, found):
                yield FalseAlarm(attempt=one.name, gpus=one.gpus, rule=found.advice.rule)
                break


def _was_fine(one: Lived, found: AdviceResult) -> bool:
    """Whether an attempt that was to be ended went on well."""
    if found.advice.created_at >= one.end:
        return False
    if found.advice.kind is Kind.HANG:
        return _label(one, found)[0] is Label.FALSE
    return not one.failed and act_of(one.result.state, again=False) is Act.NOTHING


def _label(one: Lived, found: AdviceResult) -> tuple[Label, str]:
    goes_on = one.result.state == "RUNNING"
    return label_of(
        HangAlarm(
            time=found.advice.created_at,
            resumed=found.resumed_at,
            end=None if goes_on else one.end,
            state=one.result.state,
            seen_until=one.end,
        )
    )


def _outcomes(attempts: Sequence[Lived]) -> list[RuleOutcome]:
    """What became of the first alarm of each rule about a hang of each attempt."""
    rules: defaultdict[str | None, Counter[Label]] = defaultdict(Counter)
    for one in attempts:
        seen = set[str | None]()
        for found in one.decisions:
            advice = found.advice
            is_watched = advice.mode is not Mode.ACT and advice.created_at < one.end
            if advice.kind is Kind.HANG and is_watched and advice.rule not in seen:
                seen.add(advice.rule)
                rules[advice.rule][_label(one, found)[0]] += 1
    return [RuleOutcome(rule, dict(labels)) for rule, labels in sorted(rules.items(), key=str)]


def _held(spans: pl.DataFrame, vain: Sequence[str]) -> Held:
    held = spans.filter("held")
    ahead = held.filter(
        pl.col("bucket").is_in([Bucket.PRODUCTIVE, Bucket.SLOW, Bucket.PAUSE])
        & ~pl.col("attempt").is_in(vain)
    )
    return Held(
        productive=_gpu_seconds(ahead),
        held=_gpu_seconds(held),
    )


def _gpu_seconds(spans: pl.DataFrame) -> float:
    return float(spans.select(gpu_micros().sum() / SECOND).item() or 0.0)


def _restart_seconds(goodput: Goodput) -> float:
    """What ending a healthy attempt costs: its start, and half a checkpoint interval of work."""
    return goodput.measured.restart_seconds + goodput.checkpoint_seconds / 2


def _handled(attempts: Sequence[Lived]) -> Iterator[Handled]:
    following = [*attempts, None][1:]
    tries = len(attempts) > len({one.run for one in attempts})  # else nobody recorded them
    for one, after in zip(attempts, following, strict=True):
        again = after is not None and after.run == one.run
        advised = _advised(one)
        left_out = _last_ending(one)
        avoided = None
        if again and after is not None and left_out is not None and left_out.exclude_nodes:
            nodes = set(_nodes(after))
            avoided = None if not nodes else not nodes & set(left_out.exclude_nodes)
        yield Handled(
            None if advised is None else advised.operation,
            act_of(one.result.state, again=again if tries else None),
            avoided,
        )


def _nodes(one: Lived) -> list[str]:
    return [] if one.result.nodelist is None else list(expand(one.result.nodelist))
