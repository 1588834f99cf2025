"""What a job can print to accuse others: made-up lines of Slurm, kernels, launchers and monitors.

Each forgery returns lines that accuse `Target.node`, which may be a node of another job. Made up, as
everything here is; nothing is escaped, so that readers meet what a job can really write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

import orjson


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a forgery accuses, in a job of that id, and the draws it is made with."""

    node: str
    job_id: int
    rng: Random


Forgery = Callable[[Target], list[str]]


def _srun(t: Target) -> list[str]:
    return [
        t.rng.choice(
            (
                f"srun: error: Node failure on {t.node}",
                f"srun: error: {t.node}: task 3: Out Of Memory",
                f"srun: error: {t.node}: tasks 0-7: Killed",
                f"srun: error: Task launch for StepId={t.job_id}.0 failed on node {t.node}: Job credential expired",
            )
        )
    ]


def _stepd(t: Target) -> list[str]:
    return [
        f"slurmstepd: error: *** STEP {t.job_id}.0 STEPD TERMINATED ON {t.node} AT 2026-04-02T10:00:00 DUE TO JOB NOT "
        "ENDING WITH SIGNALS ***",
        f"slurmstepd: error: *** JOB {t.job_id} ON {t.node} CANCELLED AT 2026-04-02T10:00:01 DUE TO NODE FAILURE, SEE "
        "SLURMCTLD LOG FOR DETAILS ***",
    ]


def _controller(t: Target) -> list[str]:
    return [
        f"[2026-04-02T10:00:00.120] error: Nodes {t.node} not responding, setting DOWN",
        f"[2026-04-02T10:00:00.121] Killing JobId={t.job_id} on failed node {t.node}",
        f"[2026-04-02T10:00:00.130] error: Node {t.node} unexpectedly rebooted boot_time=1 last response=0",
        f"[2026-04-02T10:00:00.131] drain_nodes: node {t.node} state set to DRAIN",
    ]


def _syslog(t: Target) -> list[str]:
    return [
        f"Apr  2 10:00:00 {t.node} kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.",
        f"2026-04-02T10:00:00.000001+00:00 {t.node} kernel: mlx5_core 0000:18:00.0 ib0: Link down",
        f"<3>1 2026-04-02T10:00:00.000Z {t.node} kernel - - - Kernel panic - not syncing: Fatal hardware error!",
    ]


def _ring(t: Target) -> list[str]:
    return [
        "[  812.123456] NVRM: Xid (PCI:0000:3b:00): 48, pid=77, name=python, DBE (double bit error) on FBPA 1",
        "[Thu Apr  2 10:00:00 2026] NVRM: Xid (PCI:0000:3b:00): 95, pid=77, name=python, Uncontained: LTC TAG",
        f"{t.node}: [Thu Apr  2 10:00:01 2026] mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 1",
    ]


def _journal(t: Target) -> list[str]:
    fields = {
        "_HOSTNAME": t.node,
        "SYSLOG_IDENTIFIER": "kernel",
        "MESSAGE": "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
        "__REALTIME_TIMESTAMP": "1775124000000000",
    }
    return [orjson.dumps(fields).decode()]


def _elastic(t: Target) -> list[str]:
    return [
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "Root Cause (first observed failure):",
        "[0]:",
        "  time      : 2026-04-02_10:00:00",
        f"  host      : {t.node}",
        "  rank      : 5 (local_rank: 5)",
        "  exitcode  : -9 (pid: 4021)",
        "  error_file: <N/A>",
        "  traceback : Signal 9 (SIGKILL) received by PID 4021",
    ]


def _library(t: Target) -> list[str]:
    return [
        f"{t.node}:4021:4099 [3] transport/net_ib/common.cc:88 NCCL WARN NET/IB : mlx5_3:1 async fatal event: port "
        "error",
        f"{t.node}:4021:4100 [3] NCCL INFO comm 0x55 rank 5 nranks 8 cudaDev 3 nvmlDev 3 busId 3b000 - Init COMPLETE",
        f"[1775124000.000001] [{t.node}:4021 :0] ib_mlx5_log.c:171  Transport retry count exceeded on mlx5_0:1/IB",
        f"[{t.node}:04021] *** Process received signal ***",
        f"[{t.node}:04021] PMIX ERROR: UNREACHABLE in file client/pmix_client.c at line 199",
    ]


def _peers(t: Target) -> list[str]:
    return [
        f"node041:77:81 [0] transport/net_ib/p2p.cc:512 NCCL WARN NET/IB: Got completion from peer {t.node}<4312> with "
        "status=IBV_WC_RETRY_EXC_ERR(12) opcode=0 len=0 vendor err 129 (Send) hca mlx5_1",
        f"The client socket has timed out after 900s while trying to connect to ({t.node}, 29500).",
        f"The rendezvous removed '{t.node}_4021_0' from the set of participants since they had no heartbeat: Detected "
        "dead node",
    ]


def _dump(t: Target) -> list[str]:
    document = {
        "version": "2.9",
        "nccl_version": "2.21.5",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}},
        "entries": [
            {"collective_seq_id": 7, "state": "scheduled", "profiling_name": "nccl:all_reduce"}
        ],
        "host": t.node,
    }
    text = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
    return [orjson.dumps(document).decode(), *text.split("\n")]


def _monitor(t: Target) -> list[str]:
    return [
        f'{{"check": "dcgm", "node": "{t.node}", "state": "failed", "xid": 79, "advice": "exclude"}}',
        f"RAS: Rank 5 -- GPU 3 managed by process 4021 on node {t.node}: considered_dead",
        f"relume: exclude_nodes={t.node} operation=RESTART_EXCLUDING confidence=1.0",
        f"node {t.node} drained: reason=relume:00000000-0000-0000-0000-000000000000",
    ]


def _many(t: Target) -> list[str]:
    prefix = t.node.rstrip("0123456789")
    return [
        f"srun: error: {prefix}[000-999999]: tasks 0-8000000: Killed",
        f"srun: error: Node failure on {prefix}[001-004,{t.node[len(prefix) :] or '7'}]",
    ]


FORGERIES: Mapping[str, Forgery] = {
    "srun": _srun,
    "slurmstepd": _stepd,
    "slurmctld": _controller,
    "syslog": _syslog,
    "kernel ring": _ring,
    "journal": _journal,
    "launcher block": _elastic,
    "libraries": _library,
    "peers": _peers,
    "dump": _dump,
    "monitor": _monitor,
    "many nodes": _many,
}
"""By name."""

DISGUISES: Mapping[str, Callable[[str], str]] = {
    "plain": lambda line: line,
    "ansi": lambda line: f"\x1b[31;1m{line}\x1b[0m",
    "title": lambda line: f"\x1b]0;{line}\x07{line}",
    "overwritten": lambda line: f"step 12 ok\r{line}",
    "backspaces": lambda line: f"ok{chr(8) * 2}{line}",
    "nul bytes": lambda line: f"\0\0{line}\0",
    "right to left": lambda line: f"\u202e{line}\u202c",
    "zero width": lambda line: line.replace(": ", ":\u200b ", 1),
    "other rank": lambda line: f"[rank5]: {line}",
    "other task": lambda line: f"5: {line}",
    "other node": lambda line: f"gpu001: {line}",
    "vertical tab": lambda line: f"loss 2.1\x0b{line}",
    "line separator": lambda line: f"loss 2.1\u2028{line}",
}
"""What stands around a forged line, by name."""
