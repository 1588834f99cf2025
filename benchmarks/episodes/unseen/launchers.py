"""Launchers of the third group: how each says that ranks have ended and that a node is gone.

`first` is the rank that ended first, with `code` (negative: a signal).
"""

from __future__ import annotations

from collections.abc import Callable

from relume.benchmarks.episodes.script import WARNING, Script, clock

Ending = Callable[[Script, int, int, frozenset[str]], None]


def _ray(script: Script, first: int, code: int, tells: frozenset[str]) -> None:
    world = script.world
    what = f"signal {-code}" if code < 0 else f"exit code {code}"
    script.launch(
        f"{clock('%Y-%m-%d %H:%M:%S,%f')} ERROR worker_group.py:604 -- train worker rank={first} "
        f"(node {world.node_of(first)}, pid {world.pid(first)}) left unexpectedly: {what}",
        after=0.4,
        tells=tells,
    )
    script.launch(
        f"{clock('%Y-%m-%d %H:%M:%S,%f')} INFO worker_group.py:655 -- tearing down a group of "
        f"{world.ranks} train workers",
        after=0.8,
        level=WARNING,
    )
    script.wait(3)


def _jsrun(script: Script, first: int, code: int, tells: frozenset[str]) -> None:
    world = script.world
    what = f"terminated with signal {-code}" if code < 0 else f"returned {code}"
    script.launch(
        f"ERROR:  One or more process (first noticed rank {first}) {what}",
        after=0.4,
        tells=tells & {"rank"},
    )
    script.launch(
        "\n------------------------------------------------------------\n"
        f"Sender: LSF System <lsfadmin@{world.nodes[0]}>\n"
        f"Subject: Job {world.job_id}: <pretrain> in cluster <hpc> Exited\n"
        "Exited with exit code 255.",
        after=3.0,
    )
    script.wait(4)


def _pals(script: Script, first: int, code: int, tells: frozenset[str]) -> None:
    world = script.world
    node = world.node_of(first)
    what = f"died from signal {-code}" if code < 0 else f"exited with code {code}"
    if code in {-6, -7, -11}:
        what += " and dumped core"
    script.launch(f"{node}: rank {first} {what}", after=0.4, tells=tells)
    for rank in range(0, world.ranks, world.per_node):
        if world.node_of(rank) != node:
            script.launch(f"{world.node_of(rank)}: rank {rank} died from signal 15", after=1.5)
    script.wait(3)


def _hydra(script: Script, first: int, code: int, tells: frozenset[str]) -> None:
    world = script.world
    bar = "=" * 83
    what = f"KILLED BY SIGNAL: {-code}" if code < 0 else f"EXIT STATUS: {code}"
    script.launch(
        f"{bar}\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
        f"=   RANK {first} PID {world.pid(first)} RUNNING AT {world.node_of(first)}\n"
        f"=   {what}\n{bar}",
        after=0.5,
        tells=tells,
    )
    script.wait(3)


def _kubeflow(script: Script, first: int, code: int, tells: frozenset[str]) -> None:
    world = script.world
    status = 128 - code if code < 0 else code
    script.launch(
        f"pod/llm-{world.job_id}-worker-{first} on {world.node_of(first)}: container trainer "
        f"terminated, rank={first} exitCode={status} reason=Error restartCount=0",
        after=0.5,
        tells=tells,
    )
    script.launch(
        f"pytorchjob/llm-{world.job_id}: JobFailed: 1 Worker replica(s) failed; "
        f"{world.ranks - 1} active replica(s) are deleted by cleanPodPolicy=All",
        after=1.5,
    )
    script.wait(3)


def _wrapper(script: Script, first: int, code: int, tells: frozenset[str]) -> None:
    world = script.world
    node, status = world.node_of(first), 128 - code if code < 0 else code
    script.launch(
        f"[run_rank {clock('%H:%M:%S')}] {node}: python of rank {first} left with status {status}, "
        "asking all hosts to stop",
        after=0.4,
        tells=tells,
    )
    script.launch(
        f"[run_rank {clock('%H:%M:%S')}] stop file seen on {len(world.nodes)} hosts", after=2.0
    )
    script.wait(3)


UNSEEN_ENDINGS: dict[str, Ending] = {
    "ray": _ray,
    "jsrun": _jsrun,
    "pals": _pals,
    "hydra": _hydra,
    "kubeflow": _kubeflow,
    "wrapper": _wrapper,
}
UNSEEN_LAUNCHERS = (*UNSEEN_ENDINGS, "srun", "torchrun")
UNSEEN_NODE_FAILURES = {
    "ray": "(autoscaler) raylet of node NODE has missed too many health checks and was marked dead",
    "jsrun": "NODE: jsmd: connection to the daemon of this host was closed before its tasks ended",
    "pals": "palsd: control connection to NODE went away, application is torn down",
    "hydra": "[proxy:0:0] HYDT_dmxu_poll_wait_for_event: hydra_pmi_proxy of NODE hung up (errno 110)",
    "kubeflow": "node-lifecycle: NodeNotReady: kubelet on NODE stopped posting node status, pods marked for deletion",
    "wrapper": "[run_rank] no beacon from NODE since 120 s, giving the host up",
}
"""How they say that they have lost a node."""
