"""Bench `policy`: what is decided when a labelled failure comes for the first and the second time.

The second time the same failure wears other clothes (`perturb`): other hosts, ranks, order, clocks.
A workload failure without progress must stop then; another failure in between, or a new step, must
not. No decision about a workload failure may leave a node out. All on recorded excerpts.

Left out of the share, and counted apart, are failures that by design no repetition stops: those of
the model's numbers, which are only reported, and those that pass by themselves, such as a port in
use, which are tried until the tries are used up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from relume import __version__
from relume.advice import Operation
from relume.benchmarks.corpora import failure_cases, mlperf
from relume.benchmarks.corpora.failure_cases import Case
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.measures import share
from relume.benchmarks.perturb import HEALTHY_LINES, perturb
from relume.benchmarks.registry import data_folder
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.identity import AttemptId
from relume.models.policy.decide import decide
from relume.models.policy.fingerprint import fingerprint
from relume.models.policy.policy import Policy
from relume.models.policy.view import Decision, PastAttempt, PolicyView
from relume.serve.offline import Analyzer
from relume.verdict import Domain, Kind, Retry, Verdict

_ATTEMPT = AttemptId.parse("cases/1@0.1")
_STEP = 100
_POLICY = Policy()
_BARS = {
    "stopped_by_the_second": Bar(">=", 0.99),
    "stopped_in_spite_of_progress": Bar("==", 0),
    "stopped_after_another_failure": Bar("==", 0),
    "exclusions_on_workload": Bar("==", 0),
}


@dataclass(slots=True)
class _Tally:
    pairs: int = 0
    stopped: int = 0
    with_progress: int = 0
    after_another: int = 0
    excluded: int = 0
    never_stopped: int = 0
    missed: set[str] = field(default_factory=set)


def run(data: Path | None) -> BenchResult:
    """Decide about each labelled workload failure twice."""
    folder = data_folder(data, "policy", "the folder that holds failure-cases/")
    corpus = failure_cases.load(folder)
    healthy = mlperf.first_lines(mlperf.load(folder), HEALTHY_LINES)
    tally, usage = measured(lambda: _tally(corpus.cases, healthy))
    measures: dict[str, Measure] = {
        "stopped_by_the_second": share(tally.stopped, tally.pairs),
        "stopped_in_spite_of_progress": tally.with_progress,
        "stopped_after_another_failure": tally.after_another,
        "exclusions_on_workload": tally.excluded,
        "never_stopped_by_design": tally.never_stopped,
    }
    return BenchResult(
        id="policy",
        version=__version__,
        machine=describe(),
        corpus={"name": corpus.name, "hash": corpus.hash, "pairs": tally.pairs},
        measures=measures,
        bars=dict(_BARS),
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={"not_stopped": sorted(tally.missed)},
    )


def _tally(cases: Sequence[Case], healthy: Sequence[str]) -> _Tally:
    analyzer, tally = Analyzer(), _Tally()
    workload = [case for case in cases if _is_workload_crash(case)]
    first = {case.id: analyzer.diagnose_lines(case.id, case.text) for case in workload}
    others = list(first.values())
    for place, (case, again) in enumerate(_pairs(workload, healthy)):
        verdict = analyzer.diagnose_lines(again.id, again.text)
        known = first[case.id]
        decision = _decide(verdict, known, last_step=_STEP)
        tally.excluded += bool(decision.exclude_nodes)
        if known.kind is Kind.NUMERIC or known.retry is Retry.YES:
            tally.never_stopped += 1
            continue
        tally.pairs += 1
        tally.stopped += decision.operation is Operation.STOP
        if decision.operation is not Operation.STOP:
            tally.missed.add(case.id)
        onward = _decide(verdict, known, last_step=_STEP + 1)
        tally.with_progress += onward.operation is Operation.STOP
        other = others[place % len(others)]
        if fingerprint(other) != fingerprint(known):
            between = _decide(verdict, other, last_step=_STEP)
            tally.after_another += between.operation is Operation.STOP
    return tally


def _is_workload_crash(case: Case) -> bool:
    is_workload = case.accept_domain == {Domain.WORKLOAD.value}
    return is_workload and case.kind == Kind.CRASH and case.root_line is not None


def _pairs(cases: Sequence[Case], healthy: Sequence[str]) -> Iterator[tuple[Case, Case]]:
    """Each case with itself, and with each copy of it that kept its end."""
    originals = {case.id: case for case in cases}
    yield from ((case, case) for case in cases)
    for change, copies in perturb(cases, healthy).items():
        if change != "truncated":  # what is cut away can't be told again
            yield from ((originals[copy.id], copy) for copy in copies)


def _decide(verdict: Verdict, before: Verdict, *, last_step: int) -> Decision:
    """Decide about an attempt that followed one with the verdict `before`, which got to `_STEP`."""
    view = PolicyView(
        attempt=_ATTEMPT,
        verdict=verdict,
        history=(PastAttempt(0, fingerprint(before), 1, _STEP),),
        last_step=last_step,
        settled=True,
        ended=True,
        scheduler_state="FAILED",
        run_nodes=tuple(sorted(verdict.exclude_nodes)),
    )
    return decide(view, _POLICY)
