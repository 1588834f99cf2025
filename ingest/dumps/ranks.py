"""Whose dump a file is: by what it holds, and where that leaves it open, by its name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

from relume.ingest.dumps.flight import Flight
from relume.ingest.filenames import writer_of

_SUFFIXES: Final = re.compile(
    r"(?:\.(?:bin|dump|gz|json|log|out|pickle|pkl|pt|trace|txt|zst))+$", re.IGNORECASE
)
_NUMBERS: Final = re.compile(r"\d{1,18}")
_NODE_AND_RANK: Final = re.compile(
    r"(?P<node>[a-z][a-z0-9-]*\d(?:\.[a-z0-9-]+)*)[._-]{1,2}rank[_-]?\d+", re.IGNORECASE
)
_NO_NODE: Final = re.compile(
    r"(?:attempt|comm|data|dump|exp|fr|job|nccl|part|restart|run|slurm|step|trace|try|v)[_-]?\d+",
    re.IGNORECASE,
)


def ranks_of(names: Sequence[str], flights: Sequence[Flight]) -> list[int | None]:
    """Return the rank of each dump, null where nothing tells; two dumps may be of one rank.

    What a dump holds decides: a rank it states, the one rank that is in all of its groups. Else its
    name does, unless it contradicts those groups.

    Examples
    --------
    >>> world = Flight("2.4", (), (), True, None, None, frozenset({0, 1}))
    >>> ranks_of(["job7_dump_0", "job7_dump_1"], [world, world])
    [0, 1]
    """
    named = ranks_by_name(names)
    return [_rank(flight, rank) for flight, rank in zip(flights, named, strict=True)]


def _rank(flight: Flight, named: int | None) -> int | None:
    if flight.rank is not None:
        return flight.rank
    candidates = flight.candidates
    if candidates is None:
        return named
    if len(candidates) == 1:
        return next(iter(candidates))
    return named if named in candidates else None


def ranks_by_name(names: Sequence[str]) -> list[int | None]:
    """Return what the names say: the number after ``rank``, else the one that tells them apart.

    Examples
    --------
    >>> ranks_by_name(["trace_rank_3.pkl", "trace_rank_4.pkl"])
    [3, 4]
    >>> ranks_by_name(["0_1760000000", "1_1760000000"])
    [0, 1]
    >>> ranks_by_name(["3/dump.json", "12/dump.json"])
    [3, 12]
    """
    stems = [_SUFFIXES.sub("", PurePath(name).name) for name in names]
    stated = [writer_of(stem).rank for stem in stems]
    if any(rank is not None for rank in stated):
        return stated
    folders = [PurePath(name).parent.name for name in names]
    by_folder = _telling(folders) if len(names) > 1 else None  # one folder tells nothing apart
    return _telling(stems) or by_folder or [None] * len(names)


def _telling(texts: Sequence[str]) -> list[int | None] | None:
    """The last number that is another in each text; null when none is."""
    numbers = [[int(found) for found in _NUMBERS.findall(text)] for text in texts]
    for place in range(1, 1 + min(map(len, numbers), default=0)):
        found = [row[-place] for row in numbers]
        if len(set(found)) == len(found) and max(found) < _most(len(found)):
            return list(found)
    return None


def _most(files: int) -> int:
    """Above this a number is a date, a process or a job, not a rank: most dumps are there."""
    return max(1024, 16 * files)


def node_by_name(name: str) -> str | None:
    """Return the node that a name tells before the rank; null when it tells none.

    >>> node_by_name("gpu-a01_rank_3.json"), node_by_name("nccl_trace_rank_3")
    ('gpu-a01', None)
    """
    found = _NODE_AND_RANK.match(PurePath(name).name)
    if found is None or _NO_NODE.fullmatch(found["node"]):
        return None
    return found["node"]
