"""The rows that `sacct --duplicates` prints of simulated attempts: a chain for each job."""

from __future__ import annotations

from relume.benchmarks.simulator.recording import Ended, Stay
from relume.benchmarks.simulator.telemetry.site import CLUSTER, Job, node_name, slurm_micros
from relume.clock import MICROSECONDS_PER_SECOND, to_datetime
from relume.slurm.hostlists import fold

HEADER = (
    "JobID|JobName|User|Cluster|Partition|State|ExitCode|Submit|Eligible|Start|End|ElapsedRaw|"
    "NNodes|NodeList|AllocTRES"
)
_CODES = {"COMPLETED": "0:0", "PREEMPTED": "0:15", "RUNNING": "0:0"}


def state_of(stay: Stay, told_state: str) -> str:
    """Return Slurm's word for how an attempt ended; `told_state` is that of its failure."""
    return {
        Ended.DONE: "COMPLETED",
        Ended.FAILED: told_state,
        Ended.PREEMPTED: "PREEMPTED",
        Ended.REQUEUED: "REQUEUED",
        Ended.RUNNING: "RUNNING",
    }[stay.ended]


def row(job: Job, stay: Stay, state: str, *, before: Stay | None, comes_again: bool) -> str:
    """Return the row of an attempt.

    Parameters
    ----------
    job, stay, state
        Whose it is, and how it ended.
    before
        The attempt before: Slurm submits one anew when that one ends.
    comes_again
        Whether another attempt follows: a failure is then a requeue.
    """
    submitted = slurm_micros(stay.submitted if before is None else before.end)
    start, end = slurm_micros(stay.started), slurm_micros(stay.end)
    is_over = stay.ended is not Ended.RUNNING
    word = "REQUEUED" if comes_again and state == "FAILED" else state
    cells = (
        job.job_id,
        job.name,
        job.user,
        CLUSTER,
        "gpu",
        word,
        _CODES.get(state, "1:0"),
        _stamp(submitted),
        _stamp(max(submitted, slurm_micros(stay.eligible))),
        _stamp(start),
        _stamp(end) if is_over else "Unknown",
        (end - start) // MICROSECONDS_PER_SECOND,
        len(stay.nodes),
        fold(node_name(number) for number in stay.nodes.tolist()),
        f"gres/gpu={8 * len(stay.nodes)},node={len(stay.nodes)}",
    )
    return "|".join(map(str, cells))


def _stamp(micros: int) -> str:
    return f"{to_datetime(micros):%Y-%m-%dT%H:%M:%S}"
