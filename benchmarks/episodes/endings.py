"""What follows a cause: the ranks that wait for it, and the launcher that ends the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from relume.benchmarks.episodes.script import IF_PREFIXED, WARNING, Script, clock
from relume.benchmarks.episodes.unseen.launchers import (
    UNSEEN_ENDINGS,
    UNSEEN_NODE_FAILURES,
)
from relume.slurm.hostlists import fold

SIGNALS = {6: "Aborted", 7: "Bus error", 9: "Killed", 11: "Segmentation fault", 15: "Terminated"}


C10_TIMEOUT = f"[E{clock('%-m%d %H:%M:%S.%f')}000 ProcessGroupNCCL.cpp:684]"
C10_DOWN = f"[E{clock('%-m%d %H:%M:%S.%f')}000 ProcessGroupNCCL.cpp:730]"
"""Prefixes of c10's logger, which have no year."""


def timeouts(
    script: Script,
    ranks: Iterable[int],
    *,
    seconds: int = 600,
    op: str = "ALLREDUCE",
    seq: int = 4_021,
    behind: Callable[[int], int] | None = None,
    roots: bool = False,
) -> None:
    """Let ranks report that a collective timed out; `behind` is how far each is from the last.

    With `roots` these lines are the best that there is.
    """
    script.wait(seconds)
    old = "unseen" if script.is_unseen else script.say(["new"], ["old", "new", "log"])
    spread = script.rng.uniform(0.5, 9.0)
    ahead = script.rng.randrange(1, 4)

    def text(rank: int) -> str:
        ran = seconds * 1000 + script.rng.randrange(3, 900)
        late = behind(rank) if behind else 0
        if old == "unseen":
            return script.unseen(
                "timeouts",
                rank=rank,
                seq=seq - late,
                done=seq - late - 1,
                queued=seq - late if late else seq + ahead,
                op=op.lower().strip("_"),
                seconds=seconds,
            )
        prefix = C10_TIMEOUT
        if old == "old":
            return (
                f"[E ProcessGroupNCCL.cpp:474] [Rank {rank}] Watchdog caught collective operation "
                f"timeout: WorkNCCL(SeqNum={seq - late}, OpType={op}, Timeout(ms)={seconds * 1000}) "
                f"ran for {ran} milliseconds before timing out."
            )
        if old == "log":
            return (
                f"comm monitor: {op.lower()} #{seq - late} on group world has not completed after "
                f"{seconds} s (enqueued up to #{seq + ahead - late if not late else seq - late}, done up "
                f"to #{seq - late - 1}), giving up"
            )
        work = (
            f"WorkNCCL(SeqNum={seq - late}, OpType={op}, NumelIn=25165824, NumelOut=25165824, "
            f"Timeout(ms)={seconds * 1000}) ran for {ran} milliseconds before timing out."
        )
        last = seq - late if late else seq + ahead
        return "\n".join(
            (
                f"{prefix} [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Watchdog caught collective "
                f"operation timeout: {work}",
                f"{prefix} [PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure detected by watchdog "
                f"at work sequence id: {seq - late} PG status: last enqueued work: {last}, last "
                f"completed work: {seq - late - 1}",
            )
        )

    for rank in ranks:
        lines = text(rank)
        is_root = roots or bool(behind and behind(rank))
        script.rank(
            rank,
            lines,
            after=script.rng.uniform(0, spread),
            raw=True,
            roots=(0, -1) if is_root else (),
            tells=_if_named(lines, rank) if is_root else (),
        )
    script.wait(spread, spread + 2)


def told_to_dump(script: Script, rank: int, *, first: int, seq: int = 4_021, behind: int) -> None:
    """Let a rank that never came answer the others' signal with how far it is."""
    done = seq - behind
    text = script.say(
        [
            f"{C10_TIMEOUT} [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Received a dump signal due to a "
            f"collective timeout from  rank {first} and we will try our best to dump the debug info. Last "
            f"enqueued NCCL work: {done}, last completed NCCL work: {done}.This is most likely caused by "
            "incorrect usages of collectives, e.g., wrong sizes used across ranks, the order of "
            "collectives is not same for all ranks or the scheduled collective, for some reason, didn't "
            "run. Additionally, this can be caused by GIL deadlock or other reasons such as network errors "
            "or bugs in the communications library (e.g. NCCL), etc. "
        ],
        [
            f"comm monitor: asked for state by rank {first}: enqueued up to #{done}, done up to #{done}"
        ],
        "told_to_dump",
        rank=rank,
        asker=first,
        done=done,
    )
    script.rank(rank, text, raw=True, roots=(0,), tells=_if_named(text, rank))


def _if_named(text: str, rank: int) -> set[str]:
    """What the report of a rank tells of it: itself where it says so, else what its prefix says."""
    is_named = re.search(rf"[Rr]ank[ =]?{rank}\b", text) is not None
    return {"rank"} if is_named else {IF_PREFIXED}


def taken_down(script: Script, ranks: Iterable[int]) -> None:
    """Let the watchdogs of these ranks end their processes."""
    script.wave(
        ranks,
        lambda r: script.swap(
            f"{C10_DOWN} [Rank {r}] Some NCCL operations have failed or timed out. Due to the "
            "asynchronous nature of CUDA kernels, subsequent GPU operations might run on "
            "corrupted/incomplete data.\n"
            f"{C10_DOWN} [Rank {r}] To avoid data inconsistency, we are taking the entire process down.",
            "taken_down",
            rank=r,
        ),
        raw=True,
    )
    script.wait(3, 6)


def job_aborted(script: Script, why: str = "") -> None:
    """Let srun end its step, where there is an srun."""
    if script.launcher not in {"srun", "torchrun"}:
        return
    script.launch(
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.", after=1.0
    )
    script.launch(
        f"slurmstepd: error: *** STEP {script.world.job_id}.0 ON {script.world.nodes[0]} CANCELLED AT "
        f"{clock('%Y-%m-%dT%H:%M:%S')}{why} ***",
        after=1.2,
    )
    script.wait(4)


def node_failure(script: Script, node: str, *, after: float = 0.0) -> None:
    """Let the launcher say that it has lost a node."""
    known = f"srun: error: Node failure on {node}"
    other = {
        "mpirun": f"prterun: lost connection to daemon on node {node}; treating the node as failed",
        "deepspeed": f"pdsh@{script.world.nodes[0]}: {node}: mcmd: xpoll: protocol failure, no route to host",
        "flux": f"flux-broker: {node} (rank {script.world.nodes.index(node)}) is lost: heartbeat overdue",
        "supervisor": f"supervisor: host {node} does not answer any more, its workers are lost",
    }
    text = other.get(script.launcher) or UNSEEN_NODE_FAILURES.get(script.launcher, known)
    text = text.replace("NODE", node)
    script.launch(text, roots=(0,), tells={"node"}, after=after)


def peers_lost(
    script: Script, ranks: Iterable[int], *, lost: int | None, after: float = 0.0
) -> None:
    """Let ranks notice that another one is gone: victims, whatever they print.

    Without `lost` each of them has lost somebody else.
    """
    world = script.world
    known = [
        "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils."
        "hpp:317, remote process exited or there was a network error, NCCL version 2.21.5\n"
        "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting "
        "prematurely.",
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer "
        "[PEER]:41820",
        "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed. "
        "Did the remote server shutdown or crash?",
    ]
    other = [
        "jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: Connection reset by peer",
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "horovod.common.exceptions.HorovodInternalError: Horovod has been shut down. This was caused by "
        "an exception on one of the ranks or an attempt to allreduce after one of the ranks finished",
        "RuntimeError: collective aborted: peer process is gone",
    ]
    error = script.say(known, other, "peers_lost", peer="PEER")
    chosen = list(ranks)
    spread = script.rng.uniform(0.2, 4.0)
    for rank in chosen:
        peer = script.rng.randrange(world.ranks) if lost is None else lost
        script.exception(
            rank,
            error.replace("PEER", world.address(world.node_of(peer))),
            frames=(
                ("/workspace/train.py", 318, "<module>", "main(parse_args())"),
                ("/workspace/engine.py", 92, "step", "grads = self.reducer.wait()"),
            ),
            after=after + script.rng.uniform(0, spread),
        )
    script.wait(after + spread, after + spread + 1)


def ended(
    script: Script,
    first: int,
    *,
    code: int = 1,
    pointer: bool = True,
) -> None:
    """Let the launcher say that rank `first` ended with `code` (negative: a signal), end the rest.

    `pointer` is whether the first failure is worth following: not when a victim died first.
    """
    tells = {"node", "rank"} if pointer else set()
    _ENDINGS[script.launcher](script, first, code, frozenset(tells))


def _srun(script: Script, first: int, code: int, tells: frozenset[str]) -> None:
    world = script.world
    node = world.node_of(first)
    what = SIGNALS[-code] if code < 0 else f"Exited with exit code {code}"
    if code in {-6, -7, -11}:
        what += " (core dumped)"
    script.launch(f"srun: error: {node}: task {first}: {what}", tells=tells, after=0.3)
    script.launch(
        f"srun: Terminating StepId={world.job_id}.0\n"
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        after=0.5,
    )
    script.launch(
        f"slurmstepd: error: *** STEP {world.job_id}.0 ON {world.nodes[0]} CANCELLED AT "
        f"{clock('%Y-%m-%dT%H:%M:%S')} ***",
        after=1.0,
    )
    rest = ",".join(
        f"{low}-{high - 1}" if high - low > 1 else f"{low}"
        for low, high in ((0, first), (first + 1, world.ranks))
        if high > low
    )
    script.launch(f"srun: error: {fold(world.nodes)}: tasks {rest}: Terminated", after=2.5)
    script.wait(4)


def _torchrun(script: Script, first: int, code: int, tells: frozenset[str]) -> None:
    world = script.world
    node, local, pid = world.node_of(first), world.local(first), world.pid(first)
    at = clock("%Y-%m-%d_%H:%M:%S")
    log = "torch/distributed/elastic/multiprocessing/api.py"
    for other in world.ranks_of(node):
        if other != first:
            script.agent(
                node,
                f"W {log}:900] Sending process {world.pid(other)} closing signal SIGTERM",
                after=0.2,
                level=WARNING,
            )
    script.agent(
        node,
        f"E {log}:874] failed (exitcode: {code}) local_rank: {local} (pid: {pid}) of binary: "
        "/opt/venv/bin/python",
        after=0.4,
    )
    signal = (
        f"Signal {-code} ({_name(-code)}) received by PID {pid}"
        if code < 0
        else ("To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html")
    )
    script.agent(
        node,
        "Traceback (most recent call last):\n"
        '  File "/opt/venv/bin/torchrun", line 8, in <module>\n'
        "    sys.exit(main())\n"
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
        "============================================================\n"
        "train.py FAILED\n"
        "------------------------------------------------------------\n"
        "Failures:\n"
        "  <NO_OTHER_FAILURES>\n"
        "------------------------------------------------------------\n"
        "Root Cause (first observed failure):\n"
        "[0]:\n"
        f"  time      : {at}\n"
        f"  host      : {node}\n"
        f"  rank      : {first} (local_rank: {local})\n"
        f"  exitcode  : {code} (pid: {pid})\n"
        "  error_file: <N/A>\n"
        f"  traceback : {signal}\n"
        "============================================================",
        after=0.6,
        tells=tells,
        raw=True,
    )
    for other_node in world.nodes:
        if other_node != node:
            script.agent(
                other_node,
                "W torch/distributed/elastic/agent/server/api.py:704] Received Signals.SIGTERM death "
                "signal, shutting down workers",
                after=script.rng.uniform(1.0, 3.0),
                level=WARNING,
            )
    script.launch(
        f"srun: error: {node}: task {world.nodes.index(node)}: Exited with exit code 1", after=3.0
    )
    script.wait(5)


def _mpirun(script: Script, first: int, code: int, tells: frozenset[str]) -> None:
    node = script.world.node_of(first)
    line = "-" * 74
    if code < 0:
        text = (
            f"{line}\nprterun noticed that process rank {first} with PID {script.world.pid(first)} on "
            f"node {node} exited on\nsignal {-code} ({SIGNALS[-code]}).\n{line}"
        )
    else:
        text = (
            f"{line}\nPrimary job  terminated normally, but 1 process returned\na non-zero exit code. "
            f"Per user-direction, the job has been aborted.\n{line}\n{line}\nmpirun detected that one "
            "or more processes exited with non-zero status, thus causing\nthe job to be terminated. The "
            "first process to do so was:\n\n"
            f"  Process name: [[31427,1],{first}]\n  Exit code:    {code}\n{line}"
        )
    script.launch(text, after=0.5, tells=tells if code < 0 else tells & {"rank"})
    script.wait(3)


def _deepspeed(script: Script, first: int, code: int, tells: frozenset[str]) -> None:
    world = script.world
    node = world.node_of(first)
    at = clock("%Y-%m-%d %H:%M:%S,417")
    for rank in world.ranks_of(node):
        script.launch(
            f"{node}: [{at}] [INFO] [launch.py:319:sigkill_handler] Killing subprocess {world.pid(rank)}",
            after=0.4,
            level=WARNING,
        )
    script.launch(
        f"{node}: [{at}] [ERROR] [launch.py:325:sigkill_handler] ['/opt/venv/bin/python', '-u', "
        f"'train.py', '--local_rank={world.local(first)}'] exits with return code = {code}",
        after=0.6,
        tells=tells,
    )
    script.launch(f"pdsh@{world.nodes[0]}: {node}: ssh exited with exit code 1", after=1.5)
    script.wait(3)


def _flux(script: Script, first: int, code: int, tells: frozenset[str]) -> None:
    world = script.world
    what = f"{SIGNALS[-code]}" if code < 0 else f"exit {code}"
    script.launch(
        f"0.000s: flux-shell[{world.nodes.index(world.node_of(first))}]: ERROR: task {first}: {what}\n"
        f"flux-job: task(s) {first} exited with exit code {128 - code if code < 0 else code}",
        after=0.4,
        tells=tells & {"rank"},
    )
    script.wait(3)


def _supervisor(script: Script, first: int, code: int, tells: frozenset[str]) -> None:
    world = script.world
    what = f"signal={-code}" if code < 0 else f"status={code}"
    script.launch(
        f"supervisor: worker {first} on {world.node_of(first)} is gone ({what}); stopping "
        f"{world.ranks - 1} others\nsupervisor: all workers stopped, run ends as failed",
        after=0.4,
        tells=tells,
    )
    script.wait(3)


_ENDINGS: dict[str, Callable[[Script, int, int, frozenset[str]], None]] = {
    "srun": _srun,
    "torchrun": _torchrun,
    "mpirun": _mpirun,
    "deepspeed": _deepspeed,
    "flux": _flux,
    "supervisor": _supervisor,
    **UNSEEN_ENDINGS,
}
KNOWN_LAUNCHERS = ("srun", "srun", "torchrun")
OTHER_LAUNCHERS = ("srun", "torchrun", "mpirun", "deepspeed", "flux", "supervisor")


def _name(signal: int) -> str:
    return {6: "SIGABRT", 7: "SIGBUS", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}[signal]
