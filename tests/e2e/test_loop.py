"""The whole loop on a real Slurm: log, Advice, controller, a job that comes back and ends well.

The jobs are of a few lines of shell; PyTorch jobs, more faults and times are bench `loop`'s.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from relume.advice import Advice, Disposition, Operation, comparable
from relume.benchmarks.loop.asked import changing
from relume.benchmarks.loop.site import Site, SiteSettings
from relume.benchmarks.slurm.processes import wait_until
from relume.config import load_config
from relume.identity import AttemptId
from relume.serve.configured import analyzer_of
from relume.serve.ledger import Ledger, Milestone, sqlite_url
from relume.serve.live.options import RunnerOptions
from relume.serve.live.replay import replay

pytestmark = pytest.mark.needs_server("slurm")
STEPS = 30
FAULT_STEP = 12
JOB = """\
checkpoint={folder}/checkpoint
step=$(cat $checkpoint 2>/dev/null || echo 0)
while [ $step -lt {steps} ]; do
  step=$((step + 1)); sleep 0.2
  echo "iter $step: loss 3.9, time 200.00ms"
  [ $((step % 5)) -eq 0 ] && echo $step >$checkpoint
  if [ "${{SLURM_RESTART_COUNT:-0}}" -eq 0 ] && [ $step -eq {fault_step} ]; then
    {fault}
  fi
done
echo "Training complete."
"""
ERROR = (
    """echo '[rank0]: RuntimeError: CUDA error: an illegal memory access was encountered'; exit 1"""
)


@pytest.fixture(scope="module")
def site(
    require_server: Callable[[str], None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    require_server("slurm")
    folder = tmp_path_factory.mktemp("site")
    settings = SiteSettings(nodes=4, settle_seconds=5.0)
    with Site(folder, Path(sys.executable), settings) as site:
        yield site


def submit(site: Site, name: str, fault: str, comment: str = '{"relume": {}}') -> str:
    folder = site.folder / "jobs" / name
    folder.mkdir()
    script = JOB.format(
        folder=shlex.quote(str(folder)), steps=STEPS, fault_step=FAULT_STEP, fault=fault
    )
    output = f"--output={folder}/job.out"
    return site.lab.submit(script, "--nodes=1", output, f"--comment={comment}", "--requeue")


def wait_for_end(site: Site, job_id: str, state: str) -> None:
    wait_until(
        lambda: site.lab.states().get(job_id) == state, what=f"job {job_id} {state}", seconds=90
    )


def advice_about(site: Site, job_id: str) -> list[Advice]:
    """Return every generation about the first attempt of a job, oldest first."""
    with Ledger.open(sqlite_url(site.ledger)) as ledger:
        record = ledger.get_attempt(f"{job_id}-0")
        found = [] if record is None else [ledger.newest(record.attempt)]
        while found and found[0] is not None and found[0].supersedes is not None:
            found.insert(0, ledger.get(found[0].supersedes))
    return [one for one in found if one is not None]


def finished(site: Site, job_id: str) -> bool:
    with Ledger.open(sqlite_url(site.ledger)) as ledger:
        record = ledger.get_attempt(f"{job_id}-1")
        reached = [] if record is None else ledger.milestones(record.attempt)
    return {Milestone.PROGRESS_RESTORED, Milestone.FINISHED} <= {one.milestone for one in reached}


def test_a_failed_job_comes_back_and_goes_on_from_its_checkpoint(site: Site) -> None:
    job_id = submit(site, "fails", ERROR)
    wait_for_end(site, job_id, "COMPLETED")
    wait_until(lambda: finished(site, job_id), what="the milestones", seconds=30)
    first, *_, last = advice_about(site, job_id)
    assert (first.generation, first.settled, last.settled) == (1, False, True)
    assert last.operation is Operation.RESTART
    assert last.reconciliation.disposition is Disposition.CONVERGED
    shown = site.reader.job(job_id)
    assert shown is not None
    assert (shown.restart_count, shown.exclude_nodes) == (1, ())
    printed = (site.folder / "jobs" / "fails" / "job.out").read_text()
    assert f"iter {FAULT_STEP // 5 * 5 + 1}:" in printed  # after the checkpoint


def test_a_node_whose_kernel_saw_a_gpu_fail_is_left_out(site: Site) -> None:
    kernel = site.folder / "kernel"
    fault = f"""mkdir -p {kernel}/$SLURMD_NODENAME
    echo "$(date +%Y-%m-%dT%H:%M:%S%:z) $SLURMD_NODENAME kernel: NVRM: Xid (PCI:0000:1b:00): 79, \\
pid=4242, name=python, GPU has fallen off the bus." >>{kernel}/$SLURMD_NODENAME/kern.log
    kill -9 $$"""
    job_id = submit(site, "loses", fault)
    wait_for_end(site, job_id, "COMPLETED")
    last = advice_about(site, job_id)[-1]
    assert last.operation is Operation.RESTART_EXCLUDING
    shown = site.reader.job(job_id)
    assert shown is not None
    assert shown.exclude_nodes == last.exclude_nodes
    assert not set(shown.nodes) & set(last.exclude_nodes)


def test_a_job_that_did_not_opt_in_ends_as_without_relume(site: Site) -> None:
    job_id = submit(site, "stranger", ERROR, comment="")
    wait_for_end(site, job_id, "FAILED")
    wait_until(lambda: advice_about(site, job_id) != [], what="its Advice", seconds=30)
    wait_for_end(site, submit(site, "after", ":"), "COMPLETED")  # by then it would have happened
    assert changing(site.commands(), job_id) == []
    assert site.lab.states()[job_id] == "FAILED"


def test_the_lake_judged_anew_gives_the_advice_of_the_live_run(site: Site) -> None:
    """Runs after the others in this file or before; whatever was landed by then is judged."""
    job_id = submit(site, "again", ERROR)
    wait_for_end(site, job_id, "COMPLETED")
    settings = load_config(site.configuration).settings
    site.serve.stop()  # which commits what it has read
    try:
        made = list(replay(site.lake, RunnerOptions.of(settings), analyzer_of(settings)))
        assert {AttemptId.parse(one.attempt).job_key.job_id for one in made} >= {job_id}
        with Ledger.open(sqlite_url(site.ledger)) as ledger:
            for advice in made:
                written = ledger.get(advice.advice_id)
                assert written is not None
                assert comparable(written) == comparable(advice)
                newest = ledger.newest(advice.attempt)
                assert newest is not None
                assert newest.generation == max(
                    one.generation for one in made if one.attempt == advice.attempt
                )
    finally:
        site.serve.start()
        site.wait_until_ready()
