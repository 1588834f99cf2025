"""Hangs that can't be told apart: another one that leaves the very same dumps.

Where some ranks left no dump, the fault may be put on another of these, or taken away and the
network be dead instead. When all that the others recorded is the same to the last time, no method
can know which of the two it was: it can only guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from math import inf
from operator import attrgetter

from relume.benchmarks.dumps.faults import Hang
from relume.benchmarks.dumps.programs import Batch, Call, Host, Instruction, Peer
from relume.benchmarks.dumps.running import Faults, Record, Run

LATER_SECONDS = 1.0
"""In a circle, so much later the first to wait would have been the last."""

_FIELDS = attrgetter(*(field.name for field in fields(Record)))


def has_twin(hang: Hang, run: Run, there: set[int]) -> bool:
    """Whether a hang with somebody else at fault, or nobody, leaves the dumps that are `there`.

    It is looked for where those at fault left none, or nobody is at fault: a rank without a dump
    whose host is stuck where its first open work is, a network that is dead where a rank waits; in
    a circle, that the first to wait came later. False says that none of these is one.
    """
    if hang.culprits & there:
        return False
    seen = _seen(run, there)
    return any(_seen(other.run(), there) == seen for other in _others(hang, run, there))


def _seen(run: Run, ranks: set[int]) -> list[tuple[object, ...]]:
    return [_FIELDS(record) for rank in sorted(ranks) for record in run.records[rank]]


def _others(hang: Hang, run: Run, there: set[int]) -> Iterator[Run]:
    for rank in range(hang.job.world):
        if rank not in there and rank not in hang.culprits:
            at = _waits_at(hang.healthy[rank], run.records[rank])
            if at is not None:
                yield _run(hang, rank, [*hang.healthy[rank][:at], Host(inf)])
    if hang.family == "circle":
        [rank] = hang.culprits
        at = hang.job.programs[rank].index(Host(0.0))
        program = [*hang.job.programs[rank]]
        program[at] = Host(LATER_SECONDS)
        programs = [*hang.job.programs]
        programs[rank] = program
        yield Run(replace(hang.job, programs=programs), Faults())
    elif hang.culprits:
        for dead in sorted(set(_dead(hang, run, there))):
            yield Run(replace(hang.job, programs=[*map(list, hang.healthy)]), Faults(dead={dead}))


def _run(hang: Hang, rank: int, program: list[Instruction]) -> Run:
    """The healthy job with another program of one rank."""
    programs = [*map(list, hang.healthy)]
    programs[rank] = program
    return Run(replace(hang.job, programs=programs), Faults())


def _dead(hang: Hang, run: Run, there: set[int]) -> Iterator[tuple[int, int]]:
    """Group and number of what each rank has open first, where that is a collective."""
    for rank in there:
        program = hang.healthy[rank]
        at = _waits_at(program, run.records[rank])
        call = program[at] if at is not None else None
        if at is not None and isinstance(call, Call):
            before = program[: at + 1]
            yield (
                call.group,
                sum(isinstance(one, Call) and one.group == call.group for one in before),
            )


def _waits_at(program: Sequence[Instruction], records: Sequence[Record]) -> int | None:
    """Where in its program a rank calls the first work that is not complete, or never called."""
    place = 0
    for at, one in enumerate(program):
        count = len(one.parts) if isinstance(one, Batch) else int(isinstance(one, Call | Peer))
        works = records[place : place + count]
        if count and (len(works) < count or any(work.completed is None for work in works)):
            return at
        place += count
    return None
