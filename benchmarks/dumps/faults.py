"""Twelve families of hangs: what is done to the programs of a job, and who did it.

Who is to blame comes from what was injected, never from what the recorders show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from random import Random

from relume.benchmarks.dumps.programs import (
    RANKS_PER_HOST,
    Batch,
    Call,
    Compute,
    Drain,
    Host,
    Instruction,
    Job,
    Peer,
    make_job,
)
from relume.benchmarks.dumps.running import TIMEOUT_SECONDS, Faults

STEPS = 5
FAULTY_STEP = 3
"""The step that hangs: those before show what is usual."""
SMALL_RING = 24


@dataclass(slots=True)
class Hang:
    """A job with its fault. `culprits` are the ranks at fault, empty when nobody can be named.

    `timing` says whether the recorders note that a kernel started, null when either may be.
    `healthy` are the programs of the ranks without the fault.
    """

    family: str
    job: Job
    faults: Faults = field(default_factory=Faults)
    culprits: frozenset[int] = frozenset()
    timing: bool | None = None
    ring: int | None = None
    healthy: tuple[tuple[Instruction, ...], ...] = ()


def make_hang(family: str, world: int, random: Random) -> Hang:
    """Make one hang of a family."""
    layouts, inject = FAMILIES[family]
    job = make_job(random.choice(layouts), world, STEPS, random)
    hang = Hang(family, job, healthy=tuple(map(tuple, job.programs)))
    inject(hang, random)
    return hang


def _step(job: Job, rank: int) -> range:
    return _steps(job, rank, FAULTY_STEP)


def _calls(job: Job, rank: int, least: int = 2) -> list[int]:
    """Where in the step that hangs `rank` calls a collective of at least so many ranks."""
    program = job.programs[rank]
    return [
        at
        for at in _step(job, rank)
        if isinstance(one := program[at], Call) and len(job.groups[one.group].ranks) >= least
    ]


def _insert(hang: Hang, rank: int, at: int, instruction: Instruction) -> None:
    hang.job.programs[rank].insert(at, instruction)


def _never_joined(hang: Hang, random: Random) -> None:
    """A rank's host is stuck before a collective of everybody."""
    rank = random.randrange(hang.job.world)
    calls = _calls(hang.job, rank, hang.job.world)
    _insert(hang, rank, random.choice(calls), Host(inf))
    hang.culprits = frozenset({rank})


def _cascade(hang: Hang, random: Random) -> None:
    """A rank's host is stuck somewhere in its step; who waits for it keeps others waiting."""
    rank = random.randrange(hang.job.world)
    _insert(hang, rank, random.choice(_step(hang.job, rank)), Host(inf))
    hang.culprits = frozenset({rank})


def _change_call(hang: Hang, random: Random, change: Callable[[Call], Call]) -> None:
    rank = random.randrange(hang.job.world)
    at = random.choice(_calls(hang.job, rank, least=3))
    call = hang.job.programs[rank][at]
    if isinstance(call, Call):
        hang.job.programs[rank][at] = change(call)
    hang.culprits = frozenset({rank})


def _wrong_operation(hang: Hang, random: Random) -> None:
    """A rank calls another collective than the others of its group."""

    def change(call: Call) -> Call:
        other = "broadcast" if call.operation != "broadcast" else "all_reduce"
        return replace(call, operation=other, output=call.input)

    _change_call(hang, random, change)


def _wrong_size(hang: Hang, random: Random) -> None:
    """A rank calls the same with another size or type."""

    def change(call: Call) -> Call:
        if random.choice([True, False]) or call.operation == "all_to_all" or not call.input:
            return replace(call, dtype="Half" if call.dtype != "Half" else "Float")
        wrong = (call.input[0] + 16, *call.input[1:])
        return replace(call, input=wrong, output=call.output and (call.output[0] + 16,))

    _change_call(hang, random, change)


def _skipped(hang: Hang, random: Random) -> None:
    """A rank leaves a collective out and goes on."""
    rank = random.randrange(hang.job.world)
    del hang.job.programs[rank][random.choice(_calls(hang.job, rank, least=3))]
    hang.culprits = frozenset({rank})


def _no_receive(hang: Hang, random: Random) -> None:
    """A rank leaves out the last receive from another, which waits for its send to go through.

    In the last step it ends without it; in an earlier one it goes on to what follows.
    """
    job, step = hang.job, random.choice([FAULTY_STEP, STEPS - 1])
    rank, at = random.choice(
        [(rank, places[-1]) for rank in range(job.world) if (places := _receiving(job, rank, step))]
    )
    one = job.programs[rank][at]
    parts = one.parts if isinstance(one, Batch) else (one,)
    sender = next(p.peer for p in parts if isinstance(p, Peer) and not p.is_send)
    left = tuple(p for p in parts if isinstance(p, Peer) and p.is_send)
    job.programs[rank][at : at + 1] = [Batch(left)] if left else []
    if step == FAULTY_STEP:
        sends = [i for i in _steps(job, sender, step) if _sends_to(job.programs[sender][i], rank)]
        _insert(hang, sender, sends[-1] + 1, Drain())
    hang.culprits = frozenset({rank})


def _receiving(job: Job, rank: int, step: int) -> list[int]:
    return [at for at in _steps(job, rank, step) if _receives(job.programs[rank][at])]


def _steps(job: Job, rank: int, step: int) -> range:
    begins = [*job.steps[rank], len(job.programs[rank])]
    return range(begins[step], begins[step + 1])


def _sends_to(one: Instruction, rank: int) -> bool:
    parts = one.parts if isinstance(one, Batch) else (one,)
    return any(isinstance(p, Peer) and p.is_send and p.peer == rank for p in parts)


def _receives(one: Instruction) -> bool:
    parts = one.parts if isinstance(one, Batch) else (one,)
    return any(isinstance(part, Peer) and not part.is_send for part in parts)


def _circle(hang: Hang, random: Random) -> None:
    """The ranks of a pipeline all receive before they send; the first to wait is the one."""
    lines = [g for g, one in enumerate(hang.job.groups) if one.description.startswith("PIPELINE")]
    line = random.choice(lines)
    ranks = hang.job.groups[line].ranks
    first = random.choice(ranks)
    for place, rank in enumerate(ranks):
        before, after = ranks[place - 1], ranks[(place + 1) % len(ranks)]
        at = hang.job.steps[rank][FAULTY_STEP]
        wait = 0.0 if rank == first else random.uniform(0.05, 0.4)
        hang.job.programs[rank][at:at] = [
            Host(wait),
            Peer(line, before, is_send=False, shape=(64,)),
            Peer(line, after, is_send=True, shape=(64,)),
        ]
    hang.culprits = frozenset({first})


def _died(hang: Hang, random: Random) -> None:
    """A rank dies, or its whole node does: it leaves no dump."""
    rank = random.randrange(hang.job.world)
    ranks = [rank]
    if hang.job.world > 2 * RANKS_PER_HOST and random.choice([True, False, False]):
        host = hang.job.host_of(rank)
        ranks = [r for r in range(hang.job.world) if hang.job.host_of(r) == host]
    for one in ranks:
        hang.faults.died[one] = random.choice(_step(hang.job, one))
    hang.culprits = frozenset(ranks)


def _not_started(hang: Hang, random: Random) -> None:
    """A kernel of a rank does not end: it has called what follows, and none of it starts."""
    rank = random.randrange(hang.job.world)
    _insert(hang, rank, random.choice(_calls(hang.job, rank)), Compute(inf))
    hang.culprits, hang.timing = frozenset({rank}), True


def _all_started(hang: Hang, random: Random) -> None:
    """The network of a group is dead: all came, nobody gets through."""
    rank = random.randrange(hang.job.world)
    program = hang.job.programs[rank]
    at = random.choice(_calls(hang.job, rank))
    call = program[at]
    if isinstance(call, Call):
        number = sum(isinstance(c, Call) and c.group == call.group for c in program[: at + 1])
        hang.faults.dead.add((call.group, number))


def _late(hang: Hang, random: Random) -> None:
    """A rank comes after the others have given up."""
    rank = random.randrange(hang.job.world)
    at = random.choice(_calls(hang.job, rank, hang.job.world))
    _insert(hang, rank, at, Host(TIMEOUT_SECONDS + random.uniform(5.0, 300.0)))
    hang.culprits = frozenset({rank})


def _wrapped(hang: Hang, random: Random) -> None:
    """A rank waits for its next batch of data; the rings hold the last few works only."""
    rank = random.randrange(hang.job.world)
    _insert(hang, rank, hang.job.steps[rank][FAULTY_STEP], Host(inf))
    hang.culprits, hang.ring = frozenset({rank}), SMALL_RING


_ALL = ("ddp", "fsdp", "tensor", "pipeline", "experts")
_MANY = ("tensor", "pipeline", "experts")
FAMILIES: dict[str, tuple[tuple[str, ...], Callable[[Hang, Random], None]]] = {
    "never_joined": (_ALL, _never_joined),
    "cascade": (_MANY, _cascade),
    "wrong_operation": (_ALL, _wrong_operation),
    "wrong_size": (_ALL, _wrong_size),
    "skipped": (_ALL, _skipped),
    "no_receive": (("pipeline",), _no_receive),
    "circle": (("pipeline",), _circle),
    "died": (_ALL, _died),
    "not_started": (_ALL, _not_started),
    "all_started": (_ALL, _all_started),
    "late": (_ALL, _late),
    "wrapped": (_ALL, _wrapped),
}
"""By name: the layouts it is made in, and what does it."""
