"""Bench `live-equals-offline`: a lake judged anew gives the very Advice of the live run.

A real Slurm of one machine runs jobs of a few lines of shell that fail in several ways, while
`relume serve` is killed again and again. Then its lake is replayed from the first landing to the
last, in one go and by another process.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from relume import __version__
from relume.benchmarks.loop.replayed import unlike_replay
from relume.benchmarks.loop.shelljob import CUDA_ERROR, OPTED_IN, ShellJob, loses_gpu, says
from relume.benchmarks.loop.site import Site, SiteSettings, cleaned_up_on_sigterm
from relume.benchmarks.loop.watch import AdviceWatch, Seen
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.result import Bar, BenchResult
from relume.benchmarks.slurm.packages import install_slurm
from relume.benchmarks.slurm.processes import wait_until

KILLS_A_ROUND = 5
KILL_SECONDS = (4.0, 9.0)
"""From one kill to the next: long enough for the service to start and get somewhere."""
ROUNDS = 3
FAILURES = 7
"""Attempts of a round that fail: one each of five jobs, and two of the job with a bug."""
SECONDS = 240.0
SEED = 20260302
_SITE = SiteSettings(nodes=9, settle_seconds=5.0, interval_seconds=1.0, busy_interval_seconds=0.5)


def run(data: Path | None = None) -> BenchResult:
    """Run it; `data` is not used."""
    del data
    install_slurm()
    folder = Path(tempfile.mkdtemp(prefix="relume-equal-"))
    with cleaned_up_on_sigterm():
        (seen, kills, differences), usage = measured(lambda: _find(folder))
    attempts = {one.advice.attempt for one in seen}
    result = BenchResult(
        id="live-equals-offline",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "real Slurm on one machine, shell jobs, injected faults",
            "hash": f"seed {SEED}",
            "jobs": ROUNDS * len(_fates(None)),
        },
        measures={
            "kills_of_serve": kills,
            "attempts_with_advice": len(attempts),
            "generations_compared": len(seen),
            "generations_that_differ": len(differences),
        },
        bars={
            "kills_of_serve": Bar(">=", ROUNDS * KILLS_A_ROUND),
            "attempts_with_advice": Bar(">=", ROUNDS * FAILURES),
            "generations_that_differ": Bar("==", 0),
        },
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={"differences": differences},
    )
    if result.passed:
        shutil.rmtree(folder)
    else:
        sys.stderr.write(f"relume: what the parts said is in {folder}\n")
    return result


def _find(folder: Path) -> tuple[tuple[Seen, ...], int, list[str]]:
    """Let jobs fail while the service is killed; return what it said, and what a replay doesn't."""
    with Site(folder, Path(sys.executable), _SITE) as site, AdviceWatch(site.ledger) as watch:
        kills = _kill_during(site)
        site.wait_until_ready()
        time.sleep(_SITE.settle_seconds)  # what was said last may yet be taken back
        site.serve.stop()
        seen = watch.seen()
        live = [one.advice for one in seen]
        return seen, kills, unlike_replay(site.configuration, site.lake, live)


def _kill_during(site: Site) -> int:
    """Run all jobs to their end, `ROUNDS` times; kill the service now and then meanwhile."""
    moments = random.Random(SEED)
    for number in range(ROUNDS):
        jobs = {job: job.submit(site) for job in _fates(site, number)}
        for _ in range(KILLS_A_ROUND):
            time.sleep(moments.uniform(*KILL_SECONDS))
            site.serve.kill()
            site.serve.start()
        site.wait_until_ready()
        for job, job_id in jobs.items():
            wait_until(
                partial(_is_over, site, job, job_id),
                what=f"the end of job {job.name}",
                seconds=SECONDS,
            )
    return ROUNDS * KILLS_A_ROUND


def _is_over(site: Site, job: ShellJob, job_id: str) -> bool:
    state = site.lab.state(job_id)
    if job.every_attempt:  # stopped: held ones are cancelled, others left FAILED
        shown = site.reader.job(job_id)
        return state == "CANCELLED" or (
            state == "FAILED" and shown is not None and shown.restart_count > 0
        )
    return state == ("COMPLETED" if job.comment == OPTED_IN else "FAILED")


def _fates(site: Site | None, number: int = 0) -> list[ShellJob]:
    """What is to happen to the jobs of one round."""
    lost = ":" if site is None else loses_gpu(site)
    return [
        ShellJob(name=f"well-{number}"),
        # It lives on for a while, so that there are two generations.
        ShellJob(name=f"cuda-{number}", fault=says(CUDA_ERROR, then="sleep 3; exit 1")),
        ShellJob(name=f"killed-{number}", fault="kill -9 $$"),
        ShellJob(name=f"silent-{number}", fault="exit 7"),
        ShellJob(name=f"gpu-{number}", fault=lost),
        ShellJob(
            name=f"bug-{number}",
            fault=says("[rank0]: KeyError: 'vocabulary'", then="exit 1"),
            every_attempt=True,
        ),
        ShellJob(name=f"got-over-{number}", fault=says("[rank1]: OSError: [Errno 5] on a shard")),
        ShellJob(
            name=f"stranger-{number}", fault=says(CUDA_ERROR, then="exit 1"), comment="my own"
        ),
    ]
