"""What the attempts of a backtest did with their time, and what of it nobody can tell."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from relume.dataset import AttemptEntry
from relume.features.goodput.buckets import ATTEMPTS, INCIDENTS, STEPS
from relume.identity import AttemptId
from relume.models.diagnosis.scheduler import COMPLETED, FAILED_STATES
from relume.models.policy.repeats import with_progress
from relume.models.policy.rules import SUSPECTED_HANG_RULE
from relume.models.policy.view import PastAttempt
from relume.serve.backtest.results import AdviceResult, AttemptResult, UnitResult
from relume.serve.backtest.steps import StepRow
from relume.verdict import Domain, Kind

GPUS_PER_NODE = 8
"""Where accounting counts none: what the published rates assume (metrics section 13.1)."""
LONGEST = 10 * 366 * 86_400 * 1_000_000
"""Microseconds. An attempt that is said to have run longer has a wrong clock."""
_INTERRUPTED = frozenset({"PREEMPTED", "TIMEOUT", "REQUEUED", "DEADLINE"})
"""Ends that are no failures, and lose what wasn't saved."""
_ENDS = frozenset({Kind.CRASH, Kind.HANG})
"""Kinds of failures that end an attempt, or would have."""
_MIN_ROWS = 2
"""Rows of steps that tell a pace."""

NO_TIME = "no clock says when it ran"
NO_GPU = "it had no GPU"
WRONG_CLOCK = "its clocks say that it ran for more than ten years"
GUESSED_NODES = "neither GPUs nor nodes are known: counted as one node"
GUESSED_GPUS = "GPUs are not known: counted by its nodes"
NO_QUEUE = "nobody knows since when it waited: counted from its start"
NO_STEPS = "no step with a time: half a checkpoint interval is taken as lost by a failure"
COUNTED_LINES = (
    "its step numbers start over: nobody can tell which were done before, nor which were slow"
)
BESIDE = "it ran beside another attempt of its run: counted as a run of its own"


@dataclass(slots=True, kw_only=True)
class Lived:
    """One attempt: what it held, when, and how it ended. Times are UTC microseconds.

    Attributes
    ----------
    run
        Whose attempt it is; `nodes` of it, at least one.
    eligible
        Since when it waited; null where nobody knows.
    failed, interrupted
        Whether it failed; whether the scheduler ended it, and what wasn't saved was lost.
    onset, alarm
        When its failure began, by its label; when somebody noticed. Null: not known; not before
        its end.
    repeats
        Whether it failed as the one before it in its run, and got no further.
    passed
        Whether it got further than all before it in its run.
    """

    result: AttemptResult
    run: str
    gpus: int
    nodes: int
    start: int
    end: int
    eligible: int | None = None
    failed: bool = False
    interrupted: bool = False
    onset: int | None = None
    alarm: int | None = None
    repeats: bool = False
    passed: bool = False
    notes: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        """Its identity."""
        return self.result.attempt

    @property
    def has_steps(self) -> bool:
        """Whether steps tell what it did with its time."""
        within = (row for row in self.result.steps if self.start <= row.at <= self.end)
        return len({row.at for row in within}) >= _MIN_ROWS

    @property
    def domain(self) -> Domain:
        """Who is to blame for how it ended."""
        found = _found(self.result)
        if found is not None:
            return found.advice.domain
        return Domain((self.result.verdict or {}).get("domain") or Domain.UNKNOWN)

    @property
    def decisions(self) -> list[AdviceResult]:
        """What was advised, without what only asks for a closer look."""
        return _decisions(self.result)


@dataclass(frozen=True, slots=True)
class Lives:
    """All attempts of which the time is known, by run and start, and what is not known of others.

    `left_out` counts attempts that are not among them, by reason; `notes` what was assumed of those
    that are.
    """

    attempts: Sequence[Lived]
    left_out: Mapping[str, int]
    notes: Mapping[str, int]

    def frames(self) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        """Return attempts, steps and incidents as `relume.features.goodput` reads them."""
        rows = [
            (
                one.run,
                one.name,
                one.gpus,
                one.eligible,
                one.start,
                one.end,
                one.failed or (one.interrupted and not one.has_steps),
            )
            for one in self.attempts
        ]
        steps = [
            (one.name, *row) for one in self.attempts if one.has_steps for row in _paced(one.result)
        ]
        known = (one for one in self.attempts if one.onset is not None or one.alarm is not None)
        incidents = [(one.name, one.onset, one.alarm) for one in known]
        return (
            pl.DataFrame(rows, ATTEMPTS, orient="row"),
            pl.DataFrame(steps, STEPS, orient="row"),
            pl.DataFrame(incidents, INCIDENTS, orient="row"),
        )


def _paced(result: AttemptResult) -> Sequence[StepRow]:
    """The rows of steps; only the first and the last where numbers say nothing of the pace."""
    if not result.counts_lines:
        return result.steps
    first, *_, last = result.steps
    return first, StepRow(last.at, last.step, sum(row.pause for row in result.steps[1:]))


def lives_of(
    units: Iterable[UnitResult],
    labels: Mapping[str, AttemptEntry] | None = None,
    *,
    gpus_per_node: int = GPUS_PER_NODE,
    is_live: bool = False,
) -> Lives:
    """Return what is known of the time of all attempts.

    Parameters
    ----------
    units
        The results of a backtest.
    labels
        Labelled attempts by their identity: when a failure began.
    gpus_per_node
        Where the GPUs of an attempt aren't known.
    is_live
        Whether a service watched: then jobs waited since they were submitted, and alarms were
        heard. Those of a replay nobody heard.
    """
    labels, left_out = labels or {}, Counter[str]()
    runs: defaultdict[tuple[str, str], list[Lived]] = defaultdict(list)
    for unit in units:
        for result in unit.attempts:
            made = _lived(result, labels.get(result.attempt), gpus_per_node, is_live=is_live)
            if isinstance(made, str):
                left_out[made] += 1
            else:
                runs[unit.unit, result.run].append(made)
    attempts = [one for run in runs.values() for one in _in_turn(run)]
    notes = Counter(note for one in attempts for note in one.notes)
    return Lives(attempts, dict(left_out), dict(notes.most_common()))


def _lived(
    result: AttemptResult, label: AttemptEntry | None, gpus_per_node: int, *, is_live: bool
) -> Lived | str:
    """Return what an attempt did, or why nobody can tell."""
    start, end = result.start, result.end
    if start is None or end is None or end < start:
        return NO_TIME
    if end - start > LONGEST:
        return WRONG_CLOCK
    if result.gpus == 0:
        return NO_GPU
    nodes = result.nodes or 1
    made = Lived(
        result=result,
        run=result.run,
        gpus=result.gpus or nodes * gpus_per_node,
        nodes=nodes,
        start=start,
        end=end,
        eligible=_eligible(result, is_live=is_live),
    )
    made.failed, made.interrupted = _is_failed(result), _word(result) in _INTERRUPTED
    made.onset = _onset(label)
    if is_live and made.failed:
        made.alarm = next((one.advice.created_at for one in made.decisions), None)
    if result.gpus is None:
        made.notes.add(GUESSED_NODES if result.nodes is None else GUESSED_GPUS)
    if not made.has_steps:
        made.notes.add(NO_STEPS)
    elif result.counts_lines:
        made.notes.add(COUNTED_LINES)
    return made


def _eligible(result: AttemptResult, *, is_live: bool) -> int | None:
    attempt = AttemptId.parse(result.attempt)
    if result.eligible is None and is_live and attempt.restart_count == 0:
        return attempt.job_key.first_submit_time
    return result.eligible


def _is_failed(result: AttemptResult) -> bool:
    """Whether it failed: by Slurm's word, by what was found while it ran, by the whole log.

    Whoever cancels a job that hangs ends a failure; the log then only shows the cancelling.
    """
    word, verdict = _word(result), result.verdict or {}
    if word in FAILED_STATES or word == COMPLETED:
        return word != COMPLETED
    if _found(result) is not None:
        return True
    return verdict.get("domain") != Domain.SCHEDULER and verdict.get("kind") in _ENDS


def _found(result: AttemptResult) -> AdviceResult | None:
    """Return the last Advice about a failure, null when it was taken back or steps came again."""
    last = next(iter(reversed(_decisions(result))), None)
    if last is None or last.advice.kind not in _ENDS or last.resumed_at is not None:
        return None
    return None if last.advice.domain is Domain.SCHEDULER else last


def _decisions(result: AttemptResult) -> list[AdviceResult]:
    return [one for one in result.advice if one.advice.rule != SUSPECTED_HANG_RULE]


def _word(result: AttemptResult) -> str | None:
    return None if result.state is None else result.state.partition(" ")[0]


def _onset(label: AttemptEntry | None) -> int | None:
    """When the failure began that ended it, by its label."""
    known = (one.onset for one in (label.incidents or () if label else ()) if one.kind in _ENDS)
    return max((onset for onset in known if onset is not None), default=None)


def _in_turn(run: list[Lived]) -> Iterator[Lived]:
    """Yield the attempts of a run one after the other; what ran beside another is its own run."""
    run.sort(key=lambda one: (one.start, one.end))
    chain: list[Lived] = []
    for one in run:
        one.run = f"{run[0].result.run} {run[0].name}"
        if chain and one.start < chain[-1].end:
            one.run = f"{one.result.run} {one.name}"
            one.notes.add(BESIDE)
            yield _noted(one, is_first=True)
            continue
        chain.append(one)
    _note_repeats(chain)
    for place, one in enumerate(chain):
        yield _noted(one, is_first=place == 0)


def _noted(one: Lived, *, is_first: bool) -> Lived:
    if is_first and one.eligible is None:
        one.notes.add(NO_QUEUE)
    return one


def _note_repeats(chain: Sequence[Lived]) -> None:
    """Note which attempts failed as the one before them, and which got further."""
    past = [
        PastAttempt(
            place,
            one.result.fingerprint if one.failed else None,
            one.result.first_step,
            one.result.last_step,
        )
        for place, one in enumerate(chain)
    ]
    before: str | None = None
    for one, (told, advanced) in zip(chain, with_progress(past), strict=True):
        one.passed = advanced
        same = told.fingerprint is not None and told.fingerprint == before
        one.repeats = same and not advanced
        before = told.fingerprint


def by_run(attempts: Iterable[Lived]) -> dict[str, list[Lived]]:
    """Return attempts by their run, in order."""
    found: dict[str, Any] = {}
    for one in attempts:
        found.setdefault(one.run, []).append(one)
    return found
