"""Stacks of all processes of a job: most wait in the same place, who does not is suspect.

Whether a stack waits in a collective says more than how many are alike: a few that wait in one for
the many are victims.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from relume.dumps import Frame, ProcessStack
from relume.models.collectives.state import ranks_text

FEW = 0.34
"""Largest share of the processes that is a small group."""
COMPARED_FRAMES = 24
"""Innermost calls that are compared: what called those differs by how a job was started."""
_COLLECTIVE_FILES = frozenset(
    {"distributed_c10d.py", "_functional_collectives.py", "c10d_logger.py"}
)
_COLLECTIVE_NAMES = re.compile(
    r"ncclGroupEnd|ncclAllReduce|c10d::|ProcessGroupNCCL|cudaStreamSynchronize|cudaEventSynchronize"
    r"|cudaDeviceSynchronize|\bgloo::|monitored_barrier|all_reduce|all_gather|reduce_scatter"
    r"|all_to_all|\bbarrier\b|batch_isend_irecv|\b(?:irecv|isend)\b"
)
_SYNCHRONIZE = re.compile(r"^(?:\w+\.)?synchronize$")
_WHERE = (
    (
        "data_loading",
        re.compile(r"dataloader\.py$|_try_get_data|_next_data|webdataset|\bdatasets?\b"),
    ),
    (
        "storage",
        re.compile(r"\b(?:open|read|write|fsync|stat|listdir|torch_load|_save|save|load)\b"),
    ),
    ("lock", re.compile(r"\b(?:acquire|PyThread_acquire_lock|pthread_mutex_lock|futex)\b")),
)


@dataclass(frozen=True, slots=True)
class StackFinding:
    """Which processes are in another place than most.

    `ranks` are theirs, as far as known; `processes` all of them by name. `waits` says whether the
    others wait in a collective. `place` is the innermost call that tells where they are.
    """

    ranks: tuple[int, ...]
    processes: tuple[str, ...]
    confidence: float
    waits: bool
    place: str
    why: str


def judge_stacks(stacks: Iterable[ProcessStack]) -> StackFinding | None:
    """Compare the stacks; null when all are alike, or when no small group stands out.

    Examples
    --------
    >>> def stack(rank, *names):
    ...     frames = tuple(
    ...         Frame(name, "distributed_c10d.py" if name == "barrier" else "train.py")
    ...         for name in names
    ...     )
    ...     return ProcessStack(process=str(rank), file="x", rank=rank, frames=frames)
    >>> finding = judge_stacks(
    ...     [stack(r, "barrier", "step") for r in range(3)] + [stack(3, "read_batch")]
    ... )
    >>> finding.ranks, finding.place
    ((3,), 'read_batch (train.py)')
    """
    groups: dict[tuple[tuple[str, str], ...], list[ProcessStack]] = {}
    for stack in stacks:
        if stack.frames:
            groups.setdefault(_normalised(stack.frames), []).append(stack)
    total = sum(map(len, groups.values()))
    ordered = sorted(groups.values(), key=len, reverse=True)
    if len(ordered) <= 1:
        return None
    waiting = [group for group in ordered if in_collective(group[0].frames)]
    idle = [group for group in ordered if not in_collective(group[0].frames)]
    waits = sum(map(len, waiting))
    if waiting and idle and waits > total / 2:
        few = [stack for group in idle for stack in group]
        return _finding(few, total, waits=True, confidence=0.85)
    if len(ordered[0]) > total / 2 and not in_collective(ordered[1][0].frames):
        few = [stack for group in ordered[1:] for stack in group]
        return _finding(few, total, waits=bool(waiting), confidence=0.6)
    return None


def in_collective(frames: Sequence[Frame]) -> bool:
    """Whether a stack waits in a collective, or for the GPU, which does while it runs one.

    >>> in_collective([Frame("synchronize", "streams.py"), Frame("step", "train.py")])
    True
    """
    inner = frames[:COMPARED_FRAMES]
    return any(
        frame.file in _COLLECTIVE_FILES
        or _COLLECTIVE_NAMES.search(frame.function)
        or _SYNCHRONIZE.match(frame.function)
        for frame in inner
    )


def _normalised(frames: Sequence[Frame]) -> tuple[tuple[str, str], ...]:
    return tuple((frame.function, frame.file) for frame in frames[:COMPARED_FRAMES])


def _finding(
    few: Sequence[ProcessStack], total: int, *, waits: bool, confidence: float
) -> StackFinding | None:
    if len(few) > max(1, FEW * total):
        return None
    place = _place(few[0].frames)
    ranks = tuple(sorted({stack.rank for stack in few if stack.rank is not None}))
    who = ranks_text(ranks) if len(ranks) == len(few) else ", ".join(s.process for s in few[:4])
    others = "wait in a collective" if waits else "are elsewhere, all in one place"
    return StackFinding(
        ranks=ranks,
        processes=tuple(stack.process for stack in few),
        confidence=confidence,
        waits=waits,
        place=place,
        why=f"stacks: {total - len(few)} of {total} processes {others}, {who} in {place}",
    )


def _place(frames: Sequence[Frame]) -> str:
    """The call that tells where a process is: the first of data loading, storage or locks."""
    for name, pattern in _WHERE:
        for frame in frames[:COMPARED_FRAMES]:
            if pattern.search(frame.function) or pattern.search(frame.file):
                return f"{name.replace('_', ' ')}: {_shown(frame)}"
    return _shown(frames[0])


def _shown(frame: Frame) -> str:
    line = "" if frame.line is None else f":{frame.line}"
    return f"{frame.function} ({frame.file}{line})"
