"""Bench `loop`: how well and how fast failed jobs come back, on a real Slurm of one machine.

Jobs are PyTorch on CPU (gloo), four nodes of one rank each; faults are injected by the jobs
themselves. Times come from the jobs, from the ledger's file and from the commands that were given,
never from Relume's own word. The lab lets a requeued job wait 6 s, by which a first step is later
than the release that counts.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain, count, takewhile
from pathlib import Path

from relume import __version__
from relume.advice import Disposition, comparable
from relume.benchmarks.loop import scenarios, summary
from relume.benchmarks.loop.asked import changing
from relume.benchmarks.loop.foreign import ForeignHolds
from relume.benchmarks.loop.killing import Killer, deck
from relume.benchmarks.loop.pool import Pool
from relume.benchmarks.loop.record import Record
from relume.benchmarks.loop.replayed import unlike_replay
from relume.benchmarks.loop.scenarios import Scenario
from relume.benchmarks.loop.site import Site, SiteSettings, cleaned_up_on_sigterm
from relume.benchmarks.loop.summary import Findings
from relume.benchmarks.loop.training import NODES, require_torch
from relume.benchmarks.loop.watch import AdviceWatch, Seen
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.result import BenchResult
from relume.benchmarks.slurm.packages import install_slurm
from relume.benchmarks.slurm.processes import wait_until
from relume.errors import UnreachableError
from relume.serve.ledger import Ledger, sqlite_url

RUNS, MOMENTS = 5, 50
QUICK_RUNS, QUICK_MOMENTS = 1, 3
AT_ONCE = 8
SURVIVORS_AT_ONCE = 3
SURVIVOR_SECONDS = 480.0
SETTLE_SECONDS = 10.0
SEED = 20260301
_SITE = SiteSettings(
    nodes=AT_ONCE * NODES + 5,  # some are excluded, and others' jobs take one
    max_restarts=scenarios.MAX_RESTARTS,
    settle_seconds=SETTLE_SECONDS,
)
_ACTED_ON = (
    scenarios.STOPPED,  # first: they wait for long, and the others run meanwhile
    scenarios.KILLED,
    scenarios.GPU_LOST,
    scenarios.PYTHON_ERROR,
    scenarios.STRANGER,
)


def run(data: Path | None = None, *, quick: bool = False) -> BenchResult:
    """Run every scenario and measure; `data` is not used, `quick` means once and few kills."""
    del data
    runs, moments = (QUICK_RUNS, QUICK_MOMENTS) if quick else (RUNS, MOMENTS)
    python = require_torch()
    install_slurm()
    folder = Path(tempfile.mkdtemp(prefix="relume-loop-"))
    try:
        with cleaned_up_on_sigterm():
            findings, usage = measured(lambda: _find(folder, python, runs, moments))
    except KeyboardInterrupt:
        shutil.rmtree(folder)
        raise
    result = BenchResult(
        id="loop",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "real Slurm on one machine, PyTorch jobs, injected faults",
            "hash": f"seed {SEED}",
            "runs_each": runs,
            "kills_each": moments,
        },
        measures=summary.measures(findings, SETTLE_SECONDS),
        bars=summary.bars(findings, moments),
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes=summary.notes(findings),
    )
    if result.passed:
        shutil.rmtree(folder)
    else:
        sys.stderr.write(f"relume: what the parts said is in {folder}\n")
    return result


def _find(folder: Path, python: Path, runs: int, moments: int) -> Findings:
    with Site(folder, python, _SITE) as site, AdviceWatch(site.ledger) as watch:
        acted_on = _run_scenarios(Pool(site=site, watch=watch, at_once=AT_ONCE), _ACTED_ON, runs)
        before = len(changing(site.commands()))
        site.switch_controller("observe")
        pool = Pool(site=site, watch=watch, at_once=AT_ONCE)
        observed = _run_scenarios(pool, (scenarios.OBSERVED,), runs)
        site.control.require()
        observed_commands = len(changing(site.commands())) - before
        # A controller that found no service tries again soon, and the next kill needn't wait.
        site.switch_controller("act", "--interval", "2")
        findings = _kill_relume(site, watch, moments)
        findings.runs = acted_on | observed
        findings.observed_commands = observed_commands
    # After its end, so that all it judged has landed.
    advised = [one.advice for one in watch.seen()]
    findings.unlike_replay = unlike_replay(site.configuration, site.lake, advised)
    return findings


def _run_scenarios(
    pool: Pool, wanted: Sequence[Scenario], runs: int
) -> dict[Scenario, list[Record]]:
    plans = [(scenario, scenario.plan(number)) for scenario in wanted for number in range(runs)]
    records = {record.plan.name: record for record in pool.run(plan for _, plan in plans)}
    return {
        scenario: [records[plan.name] for of, plan in plans if of is scenario]
        for scenario in wanted
    }


def _kill_relume(site: Site, watch: AdviceWatch, moments: int) -> Findings:
    """Let jobs fail while parts of Relume are killed, until the deck is done and all have ended."""
    foreign = ForeignHolds.place(site)
    pool = Pool(
        site=site,
        watch=watch,
        at_once=SURVIVORS_AT_ONCE,
        seconds=SURVIVOR_SECONDS,
        patience_seconds=SURVIVOR_SECONDS,  # as long as parts are killed, anything may take long
    )
    kills = deck(moments, SEED)
    killer = Killer(site.serve, site.control, kills, pool.recovering, site.is_ready)
    killer.start()
    try:
        plans = map(scenarios.survivor, count())
        survivors = pool.run(takewhile(lambda _: not killer.over, plans))
    finally:
        killer.stop()
    site.wait_until_ready()
    with Ledger.open(sqlite_url(site.ledger)) as ledger:
        lost = list(chain(_missing(ledger, watch.seen()), _unfinished(ledger, survivors)))
    return Findings(survivors=survivors, kills=killer.done, lost=lost, foreign=foreign.touched())


def _missing(ledger: Ledger, seen: Sequence[Seen]) -> Iterator[str]:
    """Advice that was durable once and isn't there, or says something else."""
    for advice in (one.advice for one in seen):
        stored = ledger.get(advice.advice_id)
        if stored is None or comparable(stored) != comparable(advice):
            yield f"{advice.attempt} generation {advice.generation} is gone or changed"


def _unfinished(ledger: Ledger, records: Sequence[Record]) -> Iterator[str]:
    """Failures whose Advice was never decided, or never reported as carried out."""
    for record in records:
        for attempt, _ in record.faults:
            advice = record.settled(attempt)
            if advice is None:
                yield f"{record.plan.name}: nothing settled about attempt {attempt}"
            elif not _converged(ledger, advice.attempt):
                yield f"{advice.attempt} was never reported as carried out"


def _converged(ledger: Ledger, attempt: str) -> bool:
    def is_so() -> bool:
        newest = ledger.newest(attempt)
        disposition = None if newest is None else newest.reconciliation.disposition
        return disposition is Disposition.CONVERGED

    try:
        wait_until(is_so, what="the report of the controller", seconds=30)
    except UnreachableError:
        return False
    return True
