"""From the results of a backtest to what its attempts did with their time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from relume.dataset import AttemptEntry
from relume.identity import AttemptId
from relume.models.diagnosis.scheduler import COMPLETED, FAILED_STATES
from relume.models.policy.repeats import with_progress
from relume.models.policy.view import PastAttempt
from relume.serve.backtest.lived import (
    BESIDE,
    COUNTED_LINES,
    ENDING_KINDS,
    GPUS_PER_NODE,
    GUESSED_GPUS,
    GUESSED_NODES,
    NO_GPU,
    NO_QUEUE,
    NO_STEPS,
    NO_TIME,
    WRONG_CLOCK,
    Lived,
    Lives,
    found_failure,
    no_steps,
)
from relume.serve.backtest.results import AttemptResult, UnitResult
from relume.serve.backtest.steps import StepRow
from relume.verdict import Domain

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST = 10 * 366 * 86_400 * 1_000_000
"""Microseconds. An attempt that is said to have run longer has a wrong clock."""
_INTERRUPTED = frozenset({"PREEMPTED", "TIMEOUT", "REQUEUED", "DEADLINE"})
"""Ends that are no failures, and lose what wasn't saved."""
_MIN_ROWS = 2
"""Rows of steps that tell a pace."""


def _paced(result: AttemptResult, start: int, end: int) -> NDArray[np.int64]:
    """The rows of steps within a time; only the first and the last where numbers tell no pace."""
    rows = [row for row in result.steps if start <= row.at <= end]
    if len({row.at for row in rows}) < _MIN_ROWS:
        return no_steps()
    if result.counts_lines:
        first, *between, last = rows
        pauses = sum(row.pause for row in (*between, last))
        rows = [first, StepRow(last.at, last.step, pauses)]
    return np.array(rows, dtype=np.int64)


def _slim(result: AttemptResult) -> AttemptResult:
    """Return it without its steps and what lines of logs it quotes: of many attempts much."""
    verdict = result.verdict or {}
    return msgspec.structs.replace(
        result,
        steps=[],
        missing=[],
        verdict={name: verdict.get(name) for name in ("kind", "domain")},
        advice=[
            msgspec.structs.replace(one, advice=replace(one.advice, evidence=()))
            for one in result.advice
        ],
    )


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
        result=_slim(result),
        steps=_paced(result, start, end),
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
    if found_failure(result) is not None:
        return True
    return verdict.get("domain") != Domain.SCHEDULER and verdict.get("kind") in ENDING_KINDS


def _word(result: AttemptResult) -> str | None:
    return None if result.state is None else result.state.partition(" ")[0]


def _onset(label: AttemptEntry | None) -> int | None:
    """When the failure began that ended it, by its label."""
    known = (
        one.onset for one in (label.incidents or () if label else ()) if one.kind in ENDING_KINDS
    )
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
