"""A ledger as a bad night leaves it: many open incidents of all kinds, some of hostile text."""

from __future__ import annotations

from collections.abc import Iterator

from relume.advice import Advice, Budget, Mode, Operation, Scope, advice_id, subject
from relume.serve.ledger import AttemptRecord, Landed, Ledger
from relume.verdict import Domain, Evidence, Kind

SECOND = 1_000_000
HOSTILE = (
    "<script>fetch('https://elsewhere.invalid/')</script><img src=x onerror=alert(1)> "
    "\x1b[31m\x1b]0;title\x07red\x1b[0m \u202egnp.exe\u202c {{ 7 * 7 }} ' \" `"
)
"""What a job may print to take the page over; it is to be seen as text."""
_CASES = (
    (Kind.CRASH, Domain.HARDWARE, "gpu_lost", "xid_79", Operation.RESTART_EXCLUDING),
    (Kind.CRASH, Domain.WORKLOAD, "out_of_memory", "cuda_oom", Operation.STOP),
    (Kind.HANG, Domain.UNKNOWN, None, "hang", Operation.RESTART),
    (Kind.STRAGGLER, Domain.UNKNOWN, "sustained_slowdown", "slow_steps", Operation.OBSERVE),
    (Kind.CRASH, Domain.NETWORK, "collective_timeout", "nccl_timeout", Operation.RESTART),
    (Kind.NUMERIC, Domain.WORKLOAD, "loss_nan", "nan_loss", Operation.OBSERVE),
)
_LINES = (
    "NVRM: Xid (PCI:0000:3b:00): 79, pid=4121, GPU has fallen off the bus.",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.",
    "no new step for 31 min; the longest pause of its family is 4 min",
    "step time 2.41 s, usually 1.62 s, since step 18240",
    "[rank12] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4812)",
    "loss is nan at step 5120",
)


def fill(ledger: Ledger, now: int, count: int, *, mode: Mode = Mode.APPROVE) -> list[Advice]:
    """Write `count` attempts with an open incident each; return the Advice, the newest last."""
    ledger.put_attempts(_attempt(number, now, count) for number in range(count))
    written = list(_advice(now, count, mode))
    for one in written:
        ledger.put_advice(one)
    return written


def _name(number: int, now: int, count: int) -> str:
    first = (now // SECOND) - 90 * (count - number) - 7200
    return f"lab/{41000 + number}@{first}.{number % 3}"


def _attempt(number: int, now: int, count: int) -> AttemptRecord:
    name = _name(number, now, count)
    start = int(name.rpartition("@")[2].partition(".")[0]) * SECOND + 60 * SECOND
    return AttemptRecord(
        attempt=name,
        run=f"run-{number % 40}",
        state="FAILED" if number % 3 else "RUNNING",
        ended=number % 3 != 0,
        opted_in=True,
        raw_job_id=41000 + number,
        user=("ada", "grace", "alan")[number % 3],
        partition="gpu",
        name=HOSTILE if number % 97 == 0 else f"pretrain-{number % 7}b",
        nodes=tuple(f"gpu-{chr(97 + number % 6)}{one:02d}" for one in range(1 + number % 5)),
        submit_time=start - 60 * SECOND,
        start_time=start,
        end_time=now - 60 * SECOND if number % 3 else None,
        exit_code=1 if number % 3 else None,
        landed=Landed(bytes=(number + 1) * 71_000, complete=number % 3 != 0, fsynced=True),
        first_step=0,
        last_step=100 * number,
    )


def _advice(now: int, count: int, mode: Mode) -> Iterator[Advice]:
    for number in range(count):
        kind, domain, cause, rule, operation = _CASES[number % len(_CASES)]
        attempt, at = _name(number, now, count), now - 90 * SECOND * (count - number)
        nodes = (f"gpu-a{number % 60:02d}",) if operation is Operation.RESTART_EXCLUDING else ()
        text = HOSTILE if number % 50 == 0 else _LINES[number % len(_LINES)]
        yield Advice(
            advice_id=advice_id(subject(attempt, Scope.ATTEMPT, ()), 1),
            attempt=attempt,
            generation=1,
            operation=operation,
            exclude_nodes=nodes,
            kind=kind,
            domain=domain,
            cause=cause,
            confidence=0.55 + (number % 9) / 20,
            rule=rule,
            evidence=(Evidence(rule, "root", "train.out", 4000 + number, text, at),),
            missing_evidence=("kernel log of gpu-a01",) if number % 4 == 0 else (),
            budget=Budget(used=number % 3, left=3 - number % 3),
            mode=mode,
            settled=True,
            created_at=at,
            decided_at=None if mode is Mode.APPROVE else at,
            expires_at=now + (1800 + number) * SECOND,
        )
