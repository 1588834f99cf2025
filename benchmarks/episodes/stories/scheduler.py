"""Ends that the scheduler or a person decided: nobody is to blame."""

from __future__ import annotations

from relume.benchmarks.episodes.script import WARNING, Script, clock
from relume.benchmarks.episodes.stories.story import Story, trains, truth


def _killed_step(s: Script, why: str) -> str:
    at = clock("%Y-%m-%dT%H:%M:%S")
    return f"slurmstepd: error: *** JOB {s.world.job_id} ON {s.world.nodes[0]} CANCELLED AT {at}{why} ***"


def _signals(s: Script) -> None:
    """Processes are told to go, and some say so."""
    if s.launcher == "torchrun":
        for node in s.world.nodes:
            s.agent(
                node,
                "W torch/distributed/elastic/agent/server/api.py:704] Received Signals.SIGTERM death signal, "
                "shutting down workers",
                after=s.rng.uniform(0, 1),
                level=WARNING,
            )
            pid = s.world.pid(s.world.ranks_of(node)[0]) - 50
            s.agent(
                node,
                "Traceback (most recent call last):\n"
                '  File "/opt/venv/bin/torchrun", line 8, in <module>\n'
                "torch.distributed.elastic.multiprocessing.api.SignalException: Process "
                f"{pid} got signal: 15",
                after=s.rng.uniform(1, 2),
                raw=True,
            )
    else:
        s.wave(
            range(s.world.ranks),
            lambda r: s.swap(
                f"received SIGTERM, rank {r} leaves after this step", "told_to_go", rank=r
            ),
            spread=2,
        )
    s.wait(3)


def _time_limit(s: Script) -> None:
    trains(s)
    truth(s, "crash benign unknown", "scheduler")
    s.truth.state, s.truth.exit_code = "TIMEOUT", "0:15"
    s.launch(
        s.say(
            [_killed_step(s, " DUE TO TIME LIMIT")],
            [
                f"flux-job: job {s.world.job_id}: exception: type=timeout severity=0 resource allocation expired",
                "TERM_RUNLIMIT: job killed after reaching LSF run time limit.",
                "PBS: job killed: walltime 86412 exceeded limit 86400",
            ],
            slot="time_limit",
        ),
        roots=(0,),
    )
    _signals(s)


def _preempted(s: Script) -> None:
    trains(s)
    truth(s, "crash benign unknown", "scheduler")
    s.truth.state, s.truth.exit_code = "PREEMPTED", "0:15"
    s.launch(
        s.say(
            [_killed_step(s, " DUE TO PREEMPTION")],
            [
                "spot agent: instance will be reclaimed by the provider in 120 s (rebalance notice)",
                f"kueue: workload job-{s.world.job_id} evicted: Preempted to accommodate a higher priority workload",
            ],
            slot="preempted",
        ),
        roots=(0,),
    )
    _signals(s)


def _cancelled(s: Script) -> None:
    trains(s)
    truth(s, "crash benign unknown", "scheduler unknown")
    s.truth.state, s.truth.exit_code = "CANCELLED by 20031", "0:15"
    s.launch(
        s.say(
            [_killed_step(s, "")],
            [
                f"flux-job: job {s.world.job_id}: exception: type=cancel severity=0 mecord canceled by user",
                "TERM_OWNER: job killed by owner.",
            ],
            slot="cancelled",
        ),
        roots=(0,),
    )
    s.launch(
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        after=0.3,
        level=WARNING,
    )
    _signals(s)


STORIES = (
    Story("time_limit", _time_limit),
    Story("preempted", _preempted),
    Story("cancelled", _cancelled),
)
